"""A toy kind of network, how likely each word is whatever stands before it: a test makes this its training module."""

from dataclasses import dataclass
from types import SimpleNamespace

import torch
from torch import nn

from neural_smt.io.files import read_lines
from neural_smt.networks.folder import NetworkConfig, SavedNetwork, Trained
from neural_smt.training.loop import Training
from neural_smt.training.optimisers import AdaDelta
from neural_smt.training.tasks import WHOLE, Minibatch
from neural_smt.vocabulary import Vocabulary


@dataclass(frozen=True)
class ToyConfig(NetworkConfig):
    kind, title, sides = "toy", "a toy", ("target",)
    words: int


class Toy(SavedNetwork, nn.Module):
    Config = ToyConfig

    def __init__(self, config):
        super().__init__()
        self.config, self.bias = config, nn.Parameter(torch.zeros(config.words))

    def forward(self, words):
        return torch.log_softmax(self.bias, 0)[words]


def prepare(*, texts, vocabulary, shortlist, settings, place, seed):
    known = Vocabulary.load(shortlist)
    words = torch.from_numpy(known.encode(read_lines(texts[0])).values).long()
    network, count = Toy(ToyConfig(len(known))).to(place), len(words)
    loop = settings.replace(validate_every=10, checkpoint_every=10, patience=0, keep="last", precision="fp32")
    minibatches = {"minibatch": lambda _, share=WHOLE: Minibatch(words, count, count), "begin": lambda _: None}
    task = SimpleNamespace(network=network, updates_per_epoch=4, validation=[], in_tiles=False, **minibatches)
    optimiser = AdaDelta(dict(network.named_parameters()), 1e-6)
    return Training(task, optimiser, loop, [], [words.numpy()], lambda folder, _: Trained(network, known).save(folder))
