"""A toy kind of network: how likely each word is, whatever stands before it. A test makes it a kind of its checkout."""

from types import SimpleNamespace

import numpy as np
import torch
from torch import nn

from neural_smt.decoding.scorers.interface import TargetNetwork, TextScorer
from neural_smt.io.files import read_lines
from neural_smt.networks.folder import read_folder, read_weights, save_folder
from neural_smt.training.loop import WHOLE, Minibatch, Training
from neural_smt.vocabulary import EOS, Vocabulary


class Unigrams(nn.Module):
    def __init__(self, words):
        super().__init__()
        self.config, self.bias = SimpleNamespace(to_json=dict), nn.Parameter(torch.zeros(words))

    def forward(self, words):
        return torch.log_softmax(self.bias, 0)[words]


class Task:
    validation, updates_per_epoch = [], 4

    def __init__(self, network, words):
        self.network, self.words = network, torch.from_numpy(words).long()

    def minibatch(self, update, share=WHOLE):
        words = self.words[update % 4 :: 4][share]
        return Minibatch(words, len(words), len(words))


def prepare(*, texts, vocabulary, shortlist, settings, place, seed):
    known = Vocabulary.load(shortlist)
    words = known.encode(read_lines(texts[0])).values
    network = Unigrams(len(known)).to(place)
    task = Task(network, words)
    return Training(
        task, settings, [], [words], lambda folder, updates: save_folder(folder, "toy", network, {"target": known})
    )


class Scorer(TargetNetwork, TextScorer):
    feature = "Toy0"

    def __init__(self, scores, known):
        self.scores, self.known = scores, known

    def ids(self, words):
        return np.array(self.known.ids(words), dtype=np.int32)

    def on(self, text):
        return self

    def score(self, targets, sentences, links=None, shared=True):
        return np.array([self.scores[target].sum() + self.scores[EOS] for target in targets]), 0

    def walk(self, tries, used, sentences, most):
        raise NotImplementedError


def load_scorer(model):
    _, vocabularies = read_folder(model, "toy", dict, ("target",))
    return Scorer(torch.log_softmax(read_weights(model)["bias"], 0).numpy(), vocabularies["target"])
