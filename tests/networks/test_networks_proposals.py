"""Sampling against the model's distribution, beam search against all phrases of a toy network."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
import torch
from network_cases import CASES, CPU, enlarge

from neural_smt.io.ragged import Ragged
from neural_smt.networks.beams import BLOCK, top_values
from neural_smt.networks.device import precision_context
from neural_smt.networks.encoder_decoder import EncoderDecoder, StepDecoder
from neural_smt.networks.packing import pack_pairs
from neural_smt.networks.proposals import _begin, _logits, beam_search, sample
from neural_smt.rescoring.scorer import PairScorer
from neural_smt.vocabulary import BOS, EOS, UNK

GPU = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")]


def toy(words: int = 6, conventions: str = "code", ending: float = 0.0) -> EncoderDecoder:
    """A network with ``words`` words a side (three of them reserved) whose distributions are far from flat."""
    network = CASES[conventions].make(source_words=words, target_words=words)
    enlarge(network, 0.7, seed=5)
    network.output.bias.data[EOS] += ending
    return network


def log_probability(network: EncoderDecoder, source: list[int], targets: list[tuple[int, ...]]) -> np.ndarray:
    """log p of complete target phrases, from the network's own forward pass."""
    batch = pack_pairs(Ragged.from_lists([source] * len(targets)), Ragged.from_lists(targets), CPU)
    with torch.no_grad():
        return network(batch).numpy()


@pytest.mark.parametrize("source", [[5], [3, 4]])
def test_samples_are_as_frequent_as_their_probability(source: list[int]) -> None:
    """All phrases of up to two words, the unknown word and the start symbol among them."""
    network, drawn = toy(ending=8.0), 20000
    samples = sample(network, Ragged.from_lists([source]), drawn, seed=3)
    found = Counter(tuple(phrase.tolist()) for phrase in samples.phrases.take(np.flatnonzero(samples.complete)))
    targets = [words for length in range(3) for words in product((UNK, BOS, 3, 4, 5), repeat=length)]
    expected = np.exp(log_probability(network, source, targets))
    counts = np.array([found[target] for target in targets])
    assert (np.abs(counts / drawn - expected) < 4.5 * np.sqrt(expected / drawn) + 1e-9).all()
    assert expected.sum() > 0.3


@pytest.mark.parametrize("conventions", ["code", "paper"])
def test_scores_of_samples_are_those_of_the_pair_scorer(conventions: str) -> None:
    network = toy(9, conventions, ending=2.0)
    source = Ragged.from_lists([[3, 4, 8], [5], [0, 7], [3, 4]])
    samples = sample(network, source, 40, seed=1, batch=3)
    assert samples.source.tolist() == [n for n in range(4) for _ in range(40)]
    whole = np.flatnonzero(samples.complete)
    assert 30 < len(whole) < 160
    scored, _ = PairScorer(network).score(source.take(samples.source[whole]), samples.phrases.take(whole), 10)
    np.testing.assert_allclose(samples.scores[whole], scored, atol=1e-4)
    lengths = samples.phrases.lengths
    assert (lengths <= 3 * source.lengths[samples.source]).all()
    assert (lengths[~samples.complete] == 3 * source.lengths[samples.source[~samples.complete]]).all()
    assert not any(EOS in phrase for phrase in samples.phrases)


def test_samples_do_not_depend_on_the_batch_but_on_the_seed() -> None:
    network, source = toy(9), Ragged.from_lists([[3, 4, 8], [5], [], [0, 7]])
    first, second = (sample(network, source, 10, seed=1, batch=batch) for batch in (1, 4))
    assert first.phrases.values.tolist() == second.phrases.values.tolist()
    assert first.phrases.offsets.tolist() == second.phrases.offsets.tolist()
    other = sample(network, source, 10, seed=2)
    assert other.phrases.values.tolist() != first.phrases.values.tolist()
    # a source phrase of no words allows none, and no end symbol either
    assert first.phrases.lengths[20:30].tolist() == [0] * 10
    assert not first.complete[20:30].any()
    assert len(sample(network, Ragged.from_lists([]), 10, seed=1)) == 0


@pytest.mark.parametrize("conventions", ["code", "paper"])
def test_beam_search_finds_what_trying_everything_finds(conventions: str) -> None:
    network = toy(5, conventions)
    source = [[3], [4, 3], []]
    found = beam_search(network, Ragged.from_lists(source), 4000, batch=2)
    for number, phrase in enumerate(source):
        shortest, longest = (len(phrase) + 1) // 2, 3 * (len(phrase) + 1) - 1
        targets = [words for n in range(shortest, longest + 1) for words in product((3, 4), repeat=n)]
        scores = log_probability(network, phrase, targets)
        rows = np.flatnonzero(found.source == number)
        assert len(rows) == len(targets)
        np.testing.assert_allclose(found.scores[rows], np.sort(scores)[::-1], atol=1e-4)
        assert {tuple(found.phrases[row].tolist()) for row in rows} == set(targets)
    assert found.complete.all()


def test_a_beam_shrinks_with_what_it_finishes() -> None:
    source = Ragged.from_lists([[3, 4], [5, 6, 7]])
    for size in (1, 3):
        found = beam_search(toy(9), source, size)
        assert np.bincount(found.source, minlength=2).max() <= size
        scored, _ = PairScorer(toy(9)).score(source.take(found.source), found.phrases, 4)
        np.testing.assert_allclose(found.scores, scored, atol=1e-4)


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=GPU)])
def test_rounded_products_change_scores_little_and_logits_are_not_rounded(device: str) -> None:
    network, source = toy(9).to(device), Ragged.from_lists([[3, 4], [5, 6, 7]])
    exact, found = (beam_search(network, source, 3, precision=precision) for precision in ("fp32", "bf16"))
    for one, other in zip(found.phrases.arrays, exact.phrases.arrays, strict=True):
        np.testing.assert_array_equal(one, other)
    assert 1e-6 < np.abs(found.scores - exact.scores).max() < 0.05
    with torch.no_grad(), precision_context(torch.device(device), "bf16"):
        decoder = StepDecoder(network)
        ((_, logits),) = _logits(decoder, *_begin(decoder, source))
    assert logits.dtype == torch.float32


def test_unknown_words_are_not_proposed() -> None:
    network = toy(6)
    with torch.no_grad():
        network.output.bias[UNK] += 5.0
    found = beam_search(network, Ragged.from_lists([[3, 4]]), 5)
    assert len(found) > 0 and not {UNK, BOS, EOS} & set(found.phrases.values.tolist())


def test_a_source_phrase_without_result_gets_a_wider_beam() -> None:
    network = toy(6, ending=-6.0)
    source = Ragged.from_lists([[3]])
    assert len(beam_search(network, source, 1, largest=1)) == 0
    assert len(beam_search(network, source, 1, largest=500)) > 0


def test_top_values_look_through_blocks_and_the_rest() -> None:
    rows = torch.from_numpy(np.random.default_rng(1).permuted(np.arange(3 * (9 * BLOCK + 7)).reshape(3, -1), axis=1))
    rows = rows.float()
    rows[1, -1] = 1e6
    values, columns = top_values(rows, 4)
    expected = rows.topk(4, 1)
    assert values.tolist() == expected.values.tolist()
    assert columns.tolist() == expected.indices.tolist()
