"""The toy kind of network as a scorer of lists: a test makes this its module in ``decoding/scorers``."""

import numpy as np
import torch
from neural_smt.training.toy import Toy

from neural_smt.decoding.scorers.interface import TargetNetwork, TextScorer
from neural_smt.networks.folder import Trained
from neural_smt.vocabulary import EOS


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


def load_scorer(system, **reading):
    trained = Trained.load(system.of_network("model"), Toy, torch.device("cpu"))
    return Scorer(torch.log_softmax(trained.network.bias.detach(), 0).numpy(), trained.target)
