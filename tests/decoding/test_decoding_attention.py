"""Beam search with an attention network against all sequences of a toy network, and what it must not depend on."""

from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
import torch
from attention_world import (
    CPU,
    attention,
    decoding_settings,
    everything,
    lively,
    log_probabilities,
    random_sentences,
    toy,
)

from neural_smt.decoding.attention.results import Hypothesis, strongest
from neural_smt.decoding.attention.search import beam_search
from neural_smt.errors import UserError
from neural_smt.experiment.settings import Settings
from neural_smt.io.ragged import Ragged
from neural_smt.networks.attention.decoder import Groups
from neural_smt.networks.attention.network import AttentionNetwork, pack_sentences
from neural_smt.vocabulary import BOS, EOS, UNK
from neural_smt.vocabulary_selection.candidates import CandidateSets

ALL = decoding_settings(beam=4000, max_length_ratio=1, max_length_extra=2, batch=2)


def random_sets(count: int, words: int, seed: int = 5) -> CandidateSets:
    """The four most frequent ids for all, and of the others different ones and different numbers of them."""
    random = np.random.default_rng(seed)
    own = [np.unique(random.integers(4, words, random.integers(1, 12))) for _ in range(count)]
    return CandidateSets(Ragged.from_lists(own), np.array([UNK, BOS, EOS, 3], dtype=np.int32), words)


@pytest.mark.parametrize("normalise", [False, True])
@pytest.mark.parametrize("limited", [False, True])
def test_a_huge_beam_finds_what_trying_everything_finds(limited: bool, normalise: bool) -> None:
    network, sources = toy(), [[3], [4, 8], [5, 3]]
    own = [np.array([UNK, EOS, 3, 6]), np.array([UNK, BOS, EOS, 4, 5]), np.array([UNK, EOS])]
    sets = of_lists(*own) if limited else None
    settings = ALL.replace(normalise=normalise)
    found = beam_search(network, Ragged.from_lists(sources), settings, sets)
    for source, words, hypotheses in zip(sources, own, found, strict=True):
        targets = everything(words.tolist() if limited else list(range(7)), len(source) + 2)
        scores = log_probabilities(network, source, targets, words if limited else None)
        ranked = scores / [len(target) + 1 for target in targets] if normalise else scores
        order = np.argsort(-ranked)
        assert [tuple(hypothesis.words.tolist()) for hypothesis in hypotheses] == [targets[n] for n in order]
        np.testing.assert_allclose([hypothesis.score for hypothesis in hypotheses], scores[order], rtol=1e-11)
        assert all(hypothesis.complete for hypothesis in hypotheses)


def of_lists(*ids: list[int]) -> CandidateSets:
    return CandidateSets.from_ids(Ragged.from_lists(ids), 7)


def assert_same(found: list[list[Hypothesis]], expected: list[list[Hypothesis]], **tolerance: float) -> None:
    """The same translations with the same links, and log p within the tolerance."""
    assert [len(hypotheses) for hypotheses in found] == [len(hypotheses) for hypotheses in expected]
    for one, other in zip(chain.from_iterable(found), chain.from_iterable(expected), strict=True):
        for name in ("words", "looked_at", "aligned", "complete"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        np.testing.assert_allclose(one.score, other.score, **tolerance)


@pytest.mark.parametrize("limited", [False, True])
def test_what_is_found_depends_neither_on_the_batch_nor_on_the_order(limited: bool) -> None:
    network = lively().float()
    source = random_sentences(30, 20)
    sets = random_sets(30, 400) if limited else None
    settings = decoding_settings(beam=5)
    expected = beam_search(network, source, settings, sets)
    assert len({tuple(hypotheses[0].words.tolist()) for hypotheses in expected}) > 8
    for batch in (1, 7):
        assert_same(beam_search(network, source, settings.replace(batch=batch), sets), expected, atol=1e-5)
    order = np.random.default_rng(2).permutation(30)
    shuffled = sets and replace(sets, own=sets.own.take(order))
    found = beam_search(network, source.take(order), settings.replace(batch=4), shuffled)
    assert_same(found, [expected[row] for row in order], atol=1e-5)


def test_only_words_of_the_sentence_are_written_and_scores_are_those_of_its_set() -> None:
    network, source, sets = lively(), random_sentences(12, 20), random_sets(12, 400)
    found = beam_search(network, source, decoding_settings(beam=4), sets)
    finished = 0
    for number, hypotheses in enumerate(found):
        own = sets.of(number).astype(np.int64)
        for hypothesis in hypotheses:
            assert set(hypothesis.words.tolist()) <= set(own.tolist()) - {BOS, EOS}
            if len(source[number]) and hypothesis.complete:
                expected = log_probabilities(network, source[number].tolist(), [hypothesis.words.tolist()], own)
                assert hypothesis.score == pytest.approx(expected[0], rel=1e-11)
                finished += 1
    assert finished > 10


@pytest.mark.parametrize("normalise", [False, True])
def test_lists_are_distinct_and_best_first(normalise: bool) -> None:
    settings = decoding_settings(beam=6, normalise=normalise)
    found = beam_search(toy(ending=1.0), random_sentences(10, 9), settings)
    for hypotheses in found:
        ranks = [h.score / (len(h.words) + 1) if normalise else h.score for h in hypotheses]
        assert ranks == sorted(ranks, reverse=True)
        assert len({tuple(hypothesis.words.tolist()) for hypothesis in hypotheses}) == len(hypotheses) <= 6
    assert sum(len(hypotheses) for hypotheses in found) > 20


def test_full_sets_find_what_the_full_vocabulary_finds() -> None:
    network, source = lively(), random_sentences(8, 20)
    sets = CandidateSets.from_ids(Ragged.from_lists([np.arange(400)] * 8), 400)
    full, limited = (beam_search(network, source, decoding_settings(beam=5), given) for given in (None, sets))
    assert_same(limited, full, rtol=1e-11)


def test_words_look_where_the_attention_recomputed_is_largest() -> None:
    network, source = lively(), random_sentences(15, 20)
    looked = []
    for sentence, hypotheses in zip(source, beam_search(network, source, decoding_settings()), strict=True):
        for hypothesis in hypotheses:
            if len(hypothesis.words):
                alpha = attention(network, sentence, hypothesis.words)
                assert hypothesis.looked_at.tolist() == alpha.argmax(1).tolist()
                assert hypothesis.aligned.tolist() == alpha[:, :-1].argmax(1).tolist()
                looked += (hypothesis.looked_at == len(sentence)).tolist()
    assert 0 < sum(looked) < len(looked)


def test_the_strongest_position_and_the_strongest_word() -> None:
    alphas = np.array([[0.1, 0.2, 0.7, 0.0], [0.3, 0.5, 0.1, 0.1], [1.0, 0.0, 0.0, 0.0]])
    assert strongest(alphas, np.array([2, 3, 0])).tolist() == [[2, 1], [1, 1], [0, -1]]
    none = np.zeros(3, dtype=np.int32)
    hypothesis = Hypothesis(none, 0.0, np.array([1, 2, 0]), np.array([1, 0, 0]), complete=True)
    assert hypothesis.links(2) == [(1, 0), (0, 2)]


def test_a_sentence_that_does_not_end_gets_the_best_unfinished_translation() -> None:
    network, source = toy(ending=-np.inf), Ragged.from_lists([[3, 4], [5]])
    settings = decoding_settings(beam=500, max_length_ratio=1, max_length_extra=1)
    found = beam_search(network, source, settings)
    for sentence, hypotheses in zip(source, found, strict=True):
        (hypothesis,) = hypotheses
        assert not hypothesis.complete
        targets = [words for words in everything(list(range(7)), len(sentence) + 1) if len(words) == len(sentence) + 1]
        scores = [prefix_score(network, sentence.tolist(), words) for words in targets]
        assert tuple(hypothesis.words.tolist()) == targets[int(np.argmax(scores))]
        assert hypothesis.score == pytest.approx(max(scores), rel=1e-11)
        assert hypothesis.ranked_by(normalise=True) == hypothesis.score / len(targets[0])


def prefix_score(network: AttentionNetwork, source: list[int], words: tuple[int, ...]) -> float:
    """log p of words that no end symbol follows."""
    return sum(next_words(network, source, words[:n], np.arange(7))[word] for n, word in enumerate(words))


def next_words(
    network: AttentionNetwork, source: list[int], words: tuple[int, ...], own: np.ndarray
) -> dict[int, float]:
    """log p of each word of ``own`` after ``words``, one step of the decoder at a time."""
    packed, layout, _ = pack_sentences(Ragged.from_lists([source]), CPU)
    weight, bias = network.output.rows(torch.from_numpy(own))
    with torch.no_grad():
        state, memory = network.encode(packed, layout)
        inner, context, _ = network.look(state, None, memory)
        for word in words:
            previous = torch.tensor([word])
            state = network.advance(state, previous, context)
            inner, context, _ = network.look(state, previous, memory)
        found = torch.log_softmax(inner @ weight.T + bias, 1)[0].tolist()
    return dict(zip(own.tolist(), found, strict=True))


def plain_search(
    network: AttentionNetwork, source: list[int], own: np.ndarray, settings: Settings
) -> list[tuple[tuple[int, ...], float]]:
    """Beam search for one sentence, hypothesis by hypothesis: words and log p of what is finished, best first."""
    beam, finished = [((), 0.0)], []
    for _ in range(settings.max_length_ratio * len(source) + settings.max_length_extra + 1):
        options = [
            ((*words, word), total + score)
            for words, total in beam
            for word, score in next_words(network, source, words, own).items()
            if word != BOS
        ]
        kept = sorted(options, key=lambda option: -option[1])[: settings.beam - len(finished)]
        finished += [(words[:-1], total) for words, total in kept if words[-1] == EOS]
        beam = [(words, total) for words, total in kept if words[-1] != EOS]
    return sorted(finished, key=lambda item: -item[1] / (len(item[0]) + 1 if settings.normalise else 1))


@pytest.mark.parametrize("size", [1, 3, 8])
def test_a_small_beam_is_searched_as_one_sentence_after_the_other_would_be(size: int) -> None:
    network, source = toy(ending=0.5), random_sentences(8, 9)
    sets = CandidateSets(Ragged.from_lists([[4, 5], [6], [], [4], [5, 6], [4, 6], [5], []]), np.array([0, 2, 3]), 7)
    settings = decoding_settings(beam=size, max_length_ratio=1, batch=5)
    full, limited = beam_search(network, source, settings), beam_search(network, source, settings, sets)
    compared = 0
    for number, sentence in enumerate(source):
        for found, own in ((full, np.arange(7)), (limited, sets.of(number).astype(np.int64))):
            expected = plain_search(network, sentence.tolist(), own, settings) if len(sentence) else [((), 0.0)]
            complete = [hypothesis for hypothesis in found[number] if hypothesis.complete]
            assert [tuple(hypothesis.words.tolist()) for hypothesis in complete] == [words for words, _ in expected]
            np.testing.assert_allclose([h.score for h in complete], [score for _, score in expected], rtol=1e-11)
            compared += len(complete)
    assert compared > 4


def test_bfloat16_is_near() -> None:
    network, source = toy(ending=1.0).float(), Ragged.from_lists([[3], [4, 8]])
    for sets in (None, of_lists([UNK, EOS, 3, 6], [UNK, BOS, EOS, 4, 5])):
        exact, rounded = (beam_search(network, source, ALL.replace(precision=name), sets) for name in ("fp32", "bf16"))
        for one, other in zip(exact, rounded, strict=True):
            found = {tuple(hypothesis.words.tolist()): hypothesis.score for hypothesis in other}
            expected = [found[tuple(hypothesis.words.tolist())] for hypothesis in one]
            np.testing.assert_allclose(expected, [hypothesis.score for hypothesis in one], rtol=0.03, atol=0.1)
            assert len(found) == len(one)


def test_texts_and_sentences_without_words_and_networks_without_numbers() -> None:
    network = toy()
    assert beam_search(network, Ragged.from_lists([]), decoding_settings()) == []
    (first,), second = beam_search(network, Ragged.from_lists([[], [4]]), decoding_settings(beam=3))
    assert (first.words.tolist(), first.score, first.complete) == ([], 0.0, True)
    assert len(second) > 0
    with torch.no_grad():
        network.output.bias += torch.nan
    ((hypothesis,),) = beam_search(network, Ragged.from_lists([[3]]), decoding_settings())
    assert (len(hypothesis.words), hypothesis.complete) == (0, False)


def test_unknown_words_are_written_only_when_allowed() -> None:
    network, source = toy(ending=1.0), Ragged.from_lists([[3, 4]])
    with torch.no_grad():
        network.output.bias[UNK] += 4.0
    for sets in (None, of_lists([0, 1, 2, 4, 5])):
        for unknown in (True, False):
            (found,) = beam_search(network, source, decoding_settings(unknown=unknown), sets)
            written = {word for hypothesis in found for word in hypothesis.words.tolist()}
            assert (UNK in written) == unknown
            assert not written & {BOS, EOS}


def test_sets_need_the_unknown_word_and_the_end_symbol() -> None:
    for name, missing in (("<unk>", [EOS, 3]), ("</s>", [UNK, 3])):
        with pytest.raises(UserError, match=f"of a sentence lacks {name}"):
            beam_search(toy(), Ragged.from_lists([[3], [4]]), decoding_settings(), of_lists([UNK, EOS], missing))


def test_rows_times_the_matrix_of_their_sentence() -> None:
    owner = np.array([0, 0, 2, 2, 2, 3])
    random = np.random.default_rng(1)
    rows, matrices = (torch.from_numpy(random.normal(size=shape)) for shape in ((6, 4), (5, 4, 3)))
    groups = Groups.of(owner, 5, CPU)
    assert groups.place.tolist() == [0, 1, 0, 1, 2, 0]
    expected = [row @ matrices[own] for row, own in zip(rows, owner, strict=True)]
    np.testing.assert_allclose(groups.times(rows, matrices), torch.stack(expected), rtol=1e-12)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("limited", [False, True])
def test_cuda_finds_what_the_cpu_finds(limited: bool) -> None:
    network, source = lively(), random_sentences(30, 20)
    sets = random_sets(30, 400) if limited else None
    expected = beam_search(network, source, decoding_settings(), sets)
    assert_same(beam_search(network.to("cuda"), source, decoding_settings(), sets), expected, atol=1e-9)
