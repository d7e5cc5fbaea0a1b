"""Searches with attention networks for translations of random text, the same in every run."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch

from neural_smt.decoding.attention.results import Hypothesis
from neural_smt.decoding.attention.search import beam_search
from neural_smt.experiment.settings import Settings
from neural_smt.io.ragged import Ragged
from neural_smt.networks.attention.network import AttentionNetwork
from neural_smt.vocabulary import EOS
from neural_smt.vocabulary_selection.candidates import CandidateSets

SIZES = {
    "small": {"hidden": 256, "embedding": 128, "attention": 256, "maxout": 128, "rank": 128},
    "paper": {"hidden": 1000, "embedding": 620, "attention": 1000, "maxout": 500, "rank": 620},
}


class Case(NamedTuple):
    """words: target words; shared, own: words that all sentences have, and that each has besides; 0: all words; united:
    whether a batch has the words of all its sentences in common.
    """

    words: int
    shared: int
    own: int
    united: bool = False


def random_sets(case: Case, count: int) -> CandidateSets | None:
    """Those of ``count`` sentences of a case."""
    if case.own == 0:
        return None
    random = np.random.default_rng(1)
    shares = 1.0 / np.arange(case.shared, case.words)
    shares /= shares.sum()
    own = [random.choice(len(shares), case.own, replace=False, p=shares) for _ in range(count)]
    sets = Ragged.from_lists([case.shared + np.sort(ids) for ids in own])
    found = CandidateSets(sets, np.arange(case.shared, dtype=np.int32), case.words)
    if not case.united:
        return found
    common = found.union(np.arange(count)).astype(np.int32)
    return CandidateSets(Ragged.from_lists([[]] * count), common, case.words)


class Search(NamedTuple):
    """source: sentences, sets: the target words of each, or None for all; run: translate them."""

    source: Ragged
    sets: CandidateSets | None
    run: Callable[[], list[list[Hypothesis]]]


def random_search(network: AttentionNetwork, case: Case, count: int, settings: Settings, longest: int = 30) -> Search:
    """That for translations of sentences of 5 to ``longest`` words, none of which ends before its limit."""
    with torch.no_grad():
        network.output.bias[EOS] = -torch.inf
    random = np.random.default_rng(0)
    lengths = random.integers(min(5, longest), longest + 1, count)
    source = Ragged.from_lists([random.integers(3, network.config.source_words, length) for length in lengths])
    sets = random_sets(case, count)
    return Search(source, sets, lambda: beam_search(network, source, settings, sets))
