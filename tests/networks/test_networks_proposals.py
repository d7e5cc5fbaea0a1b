"""Sampling against the model's distribution, beam search against all phrases of a toy network."""

from itertools import product

import numpy as np
import pytest
import torch

from neural_smt.io.ragged import Ragged
from neural_smt.networks.beams import BLOCK, top_values
from neural_smt.networks.encoder_decoder import Conventions, EncoderDecoder, EncoderDecoderConfig
from neural_smt.networks.packing import pack_pairs
from neural_smt.networks.proposals import beam_search, sample
from neural_smt.rescoring.scorer import PairScorer
from neural_smt.vocabulary import BOS, EOS, UNK

CONVENTIONS = [pytest.param(Conventions.following(follow), id=follow) for follow in ("code", "paper")]


def toy(words: int = 6, follow: Conventions | None = None, scale: float = 0.7, ending: float = 0.0) -> EncoderDecoder:
    """A network with ``words`` words a side (three of them reserved) whose distributions are far from flat."""
    network = EncoderDecoder(EncoderDecoderConfig(words, words, 6, 5, 4, 3, follow or Conventions()))
    random = np.random.default_rng(5)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += torch.from_numpy(random.normal(0.0, scale, parameter.shape)).float()
        network.output.bias[EOS] += ending
    return network


def log_probability(network: EncoderDecoder, source: list[int], targets: list[tuple[int, ...]]) -> np.ndarray:
    """log p of complete target phrases, from the network's own forward pass."""
    batch = pack_pairs(Ragged.from_lists([source] * len(targets)), Ragged.from_lists(targets), torch.device("cpu"))
    with torch.no_grad():
        return network(batch).numpy()


def test_samples_follow_the_distribution_of_the_model() -> None:
    network, drawn = toy(ending=1.0), 20000
    samples = sample(network, Ragged.from_lists([[3, 4]]), drawn, seed=2)
    empty = int((samples.phrases.lengths == 0).sum())
    first = np.array([phrase[0] for phrase in samples.phrases if len(phrase)])
    # p(first word) from whole phrases: log p of (w) is log p(w) + log p(end | w), so compare with conditionals
    with torch.no_grad():
        batch = pack_pairs(Ragged.from_lists([[3, 4]]), Ragged.from_lists([[]]), torch.device("cpu"))
        context = network.decoder_context(network.encode(batch.source))
        inner = network.before_softmax(context.initial, torch.zeros(1, 8), context.readout)
        logits = inner @ network.output.weight.T + network.output.bias
    expected = logits[0].softmax(0).numpy()
    counts = np.bincount(first, minlength=6)
    counts[EOS] = empty
    deviation = np.sqrt(expected * (1 - expected) / drawn)
    assert (np.abs(counts / drawn - expected) < 4.5 * deviation + 1e-9).all()


def test_whole_samples_are_as_frequent_as_their_probability() -> None:
    network, drawn = toy(ending=1.0), 20000
    samples = sample(network, Ragged.from_lists([[5]]), drawn, seed=3)
    phrases = [tuple(phrase.tolist()) for phrase in samples.phrases]
    for target in {(), (3,), (4,), (5, 3)}:
        expected = float(np.exp(log_probability(network, [5], [target])[0]))
        found = sum(phrase == target for phrase in phrases) / drawn
        assert abs(found - expected) < 4.5 * np.sqrt(expected / drawn) + 1e-9, target


@pytest.mark.parametrize("follow", CONVENTIONS)
def test_scores_of_samples_are_those_of_the_pair_scorer(follow: Conventions) -> None:
    network = toy(9, follow, ending=2.0)
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


@pytest.mark.parametrize("follow", CONVENTIONS)
def test_beam_search_finds_what_trying_everything_finds(follow: Conventions) -> None:
    network = toy(5, follow)
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
