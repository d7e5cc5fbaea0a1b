"""A toy kind of network: how likely each word is, whatever stands before it. A test makes it a kind of its checkout."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from neural_smt.decoding.scorers.interface import TargetNetwork, TextScorer
from neural_smt.io.files import read_lines
from neural_smt.networks.folder import NetworkConfig, SavedNetwork, Trained
from neural_smt.training.loop import WHOLE, Minibatch, Training
from neural_smt.vocabulary import EOS, Vocabulary


@dataclass(frozen=True)
class UnigramsConfig(NetworkConfig):
    kind, title, sides = "toy", "a toy", ("target",)
    words: int


class Unigrams(SavedNetwork, nn.Module):
    Config = UnigramsConfig

    def __init__(self, config):
        super().__init__()
        self.config, self.bias = config, nn.Parameter(torch.zeros(config.words))

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
    network = Unigrams(UnigramsConfig(len(known))).to(place)
    task = Task(network, words)
    return Training(task, settings, [], [words], lambda folder, updates: Trained(network, known).save(folder))


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
    trained = Trained.load(model, Unigrams, torch.device("cpu"))
    return Scorer(torch.log_softmax(trained.network.bias.detach(), 0).numpy(), trained.target)
