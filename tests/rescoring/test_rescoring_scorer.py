"""Shared encoding and prefixes against scoring one pair after the other."""

import numpy as np
import pytest
import torch
from network_cases import CASES, CPU

from neural_smt.io.ragged import Ragged
from neural_smt.networks.distinct import SortedSequences
from neural_smt.networks.packing import pack_pairs
from neural_smt.rescoring.scorer import PairScorer
from neural_smt.vocabulary import EOS

CHOICES = ("code", "paper", "summary", "reset", "first_step", "tanh", "tanh paper")


def random_phrases(count: int, seed: int) -> Ragged:
    """Few different words, so that prefixes and whole phrases recur."""
    random = np.random.default_rng(seed)
    return Ragged.from_lists(
        [np.append(random.choice([0, 3, 4, 5, 6]), random.integers(3, 9, random.integers(0, 4))) for _ in range(count)]
    )


def test_levels_of_a_trie() -> None:
    sequences = SortedSequences.of(Ragged.from_lists([[5, 6], [5], [4, 6], [5, 6], [5, 6, 7]]))
    assert sequences.row_of.tolist() == [2, 1, 0, 2, 3]
    first, second, third, fourth = sequences.levels(0, 4)
    assert first.symbols.tolist() == [4, 5]
    assert second.symbols.tolist() == [6, EOS, 6]
    assert second.parents.tolist() == [0, 1, 1]
    assert (second.ends.tolist(), second.rows.tolist()) == ([1], [1])
    assert third.symbols.tolist() == [EOS, EOS, 7]
    assert third.parents.tolist() == [0, 2, 2]
    assert (third.ends.tolist(), third.rows.tolist()) == ([0, 1], [0, 2])
    assert fourth.symbols.tolist() == [EOS]
    assert fourth.parents.tolist() == [2]


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_scores_equal_those_of_the_network(name: str, batch: int) -> None:
    network = CASES[name].random().float()
    source, target = random_phrases(60, seed=1), random_phrases(300, seed=2)
    owner = np.random.default_rng(4).integers(0, 60, 300)
    scores, work = PairScorer(network).score(source.take(owner), target, batch)
    with torch.no_grad():
        expected = [network(pack_pairs(source.take([s]), target.take([t]), CPU)).item() for t, s in enumerate(owner)]
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, expected, atol=1e-4)
    assert (work.pairs, work.words) == (300, int(target.lengths.sum()) + 300)
    assert work.sources <= 60
    assert work.prefixes < work.words


def test_every_source_and_prefix_is_computed_once() -> None:
    source = Ragged.from_lists([[3, 4], [5], [3, 4]])
    target = Ragged.from_lists([[3], [3, 4], [3, 5], [3], [6]])
    _, work = PairScorer(CASES["code"].make()).score(source.take([0, 0, 2, 1, 1]), target, 10)
    # Sources 0 and 2 are the same: prefixes (), 3, 3 4, 3 5 of one and (), 3, 6 of the other.
    # The encoder takes 5 steps instead of 13 (both phrases and their ends), the decoder 5 instead of 7.
    expected = {"pairs": 5, "words": 12, "sources": 2, "prefixes": 7, "steps": 20, "states": 10}
    assert work._asdict() == expected
