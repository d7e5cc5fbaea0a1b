"""Beam search with an attention network against all sequences of a toy network, what it must not depend on, and target
vocabularies that grow where it finds no finished translation.
"""

from dataclasses import replace
from itertools import chain

import attention_world as toys
import numpy as np
import pytest
import torch
from attention_world import CPU, decoding_settings, lively, random_sentences, toy
from candidates import whole_sets
from refusals import check_refused

from neural_smt.decoding.attention.results import Hypothesis, strongest
from neural_smt.decoding.attention.search import FIRST, beam_search, frequent_words, search, with_frequent
from neural_smt.experiment.settings import Settings
from neural_smt.io.ragged import Ragged
from neural_smt.networks.attention.network import AttentionConfig, AttentionNetwork, pack_sentences
from neural_smt.networks.attention.scorer import Groups
from neural_smt.vocabulary import BOS, EOS, UNK
from neural_smt.vocabulary_selection.candidates import CandidateSets

ALL = decoding_settings(beam=4000, max_length_ratio=1, max_length_extra=2, batch=2)


@pytest.mark.parametrize("normalise", [False, True])
@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("readout", ["current", "previous"])
def test_a_huge_beam_finds_what_trying_everything_finds(limited: bool, normalise: bool, readout: str) -> None:
    network, sources = toy(readout=readout), [[3], [4, 8], [5, 3], [7]]
    own = [np.array(ids) for ids in ([UNK, EOS, 3, 6], [UNK, BOS, EOS, 4, 5], [UNK, EOS], range(7))]
    sets = of_lists(*own) if limited else None
    settings = ALL.replace(normalise=normalise)
    found = beam_search(network, Ragged.from_lists(sources), settings, sets)
    for source, words, hypotheses in zip(sources, own, found, strict=True):
        targets = toys.everything(words.tolist() if limited else list(range(7)), len(source) + 2)
        scores = toys.log_probabilities(network, source, targets, words if limited else None)
        ranked = scores / [len(target) + 1 for target in targets] if normalise else scores
        order = np.argsort(-ranked)
        assert [tuple(hypothesis.words.tolist()) for hypothesis in hypotheses] == [targets[n] for n in order]
        np.testing.assert_allclose([hypothesis.score for hypothesis in hypotheses], scores[order], rtol=1e-11)
        assert all(hypothesis.complete for hypothesis in hypotheses)


def of_lists(*ids: list[int]) -> CandidateSets:
    return whole_sets(Ragged.from_lists(ids), 7)


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
    sets = toys.random_sets(30, 400) if limited else None
    settings = decoding_settings(beam=5)
    expected = beam_search(network, source, settings, sets)
    assert len({tuple(hypotheses[0].words.tolist()) for hypotheses in expected}) > 8
    for batch in (1, 7):
        assert_same(beam_search(network, source, settings.replace(batch=batch), sets), expected, atol=1e-5)
    order = np.random.default_rng(2).permutation(30)
    shuffled = sets and replace(sets, own=sets.own.take(order))
    found = beam_search(network, source.take(order), settings.replace(batch=4), shuffled)
    assert_same(found, [expected[row] for row in order], atol=1e-5)


def test_words_look_where_the_attention_recomputed_is_largest() -> None:
    network, source = lively(), random_sentences(15, 20)
    looked = []
    for sentence, hypotheses in zip(source, beam_search(network, source, decoding_settings()), strict=True):
        for hypothesis in hypotheses:
            if len(hypothesis.words):
                alpha = toys.attention(network, sentence, hypothesis.words)
                assert hypothesis.looked_at.tolist() == alpha.argmax(1).tolist()
                assert hypothesis.aligned.tolist() == alpha[:, :-1].argmax(1).tolist()
                looked += (hypothesis.looked_at == len(sentence)).tolist()
    assert 0 < sum(looked) < len(looked)


def test_the_strongest_position_and_the_strongest_word() -> None:
    alphas = np.array([[0.1, 0.2, 0.7, 0.0], [0.3, 0.5, 0.1, 0.1], [1.0, 0.0, 0.0, 0.0]])
    assert strongest(alphas, np.array([2, 3, 0])).tolist() == [[2, 1], [1, 1], [0, -1]]
    none = np.zeros(3, dtype=np.int32)
    hypothesis = Hypothesis(none, -1.0, np.array([1, 2, 0]), np.array([1, 0, 0]), complete=True)
    assert hypothesis.links(2) == [(1, 0), (0, 2)]
    unfinished = replace(hypothesis, complete=False)
    assert [h.ranked_by(True) for h in (hypothesis, unfinished)] == [hypothesis.score / 4, hypothesis.score / 3]


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
) -> tuple[list[tuple[tuple[int, ...], float]], bool]:
    """Beam search for one sentence, hypothesis by hypothesis: words and log p of what is finished, best first, or of
    the best of what is not; and whether it is finished.
    """
    beam, finished, unfinished = [((), 0.0)], [], []
    for _ in range(settings.max_length_ratio * len(source) + settings.max_length_extra + 1):
        unfinished = beam
        options = [
            ((*words, word), total + score)
            for words, total in beam
            for word, score in next_words(network, source, words, own).items()
            if word != BOS and score > -np.inf
        ]
        kept = sorted(options, key=lambda option: -option[1])[: settings.beam - len(finished)]
        finished += [(words[:-1], total) for words, total in kept if words[-1] == EOS]
        beam = [(words, total) for words, total in kept if words[-1] != EOS]
    ranked = sorted(finished, key=lambda item: -item[1] / (len(item[0]) + 1 if settings.normalise else 1))
    return ranked or unfinished[:1], bool(ranked)


@pytest.mark.parametrize(
    ("size", "normalise", "ending"), [(1, True, 0.5), (3, False, 0.5), (8, True, 0.5), (8, True, -np.inf)]
)
def test_a_small_beam_is_searched_as_sentences_one_by_one(size: int, normalise: bool, ending: float) -> None:
    network, source = toy(ending), random_sentences(8, 9)
    sets = CandidateSets(Ragged.from_lists([[4, 5], [6], [], [4], [5, 6], [4, 6], [5], []]), np.array([0, 2, 3]), 7)
    settings = decoding_settings(beam=size, normalise=normalise, max_length_ratio=1, batch=5)
    full, limited = beam_search(network, source, settings), beam_search(network, source, settings, sets)
    compared = 0
    for number, sentence in enumerate(source):
        for found, own in ((full[number], np.arange(7)), (limited[number], sets.of(number).astype(np.int64))):
            if len(sentence) == 0:
                expected, complete = [((), 0.0)], True
            else:
                expected, complete = plain_search(network, sentence.tolist(), own, settings)
            assert [tuple(hypothesis.words.tolist()) for hypothesis in found] == [words for words, _ in expected]
            np.testing.assert_allclose([h.score for h in found], [score for _, score in expected], rtol=1e-11)
            assert {hypothesis.complete for hypothesis in found} == {complete}
            compared += len(found)
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
        given = toy(), Ragged.from_lists([[3], [4]]), decoding_settings(), of_lists([UNK, EOS], missing)
        check_refused(["sentence", name], beam_search, *given)


def test_rows_times_the_matrix_of_their_sentence() -> None:
    owner = np.array([0, 0, 2, 2, 2, 3])
    random = np.random.default_rng(1)
    rows, matrices = (torch.from_numpy(random.normal(size=shape)) for shape in ((6, 4), (5, 4, 3)))
    groups = Groups.of(owner, 5)
    assert groups.place.tolist() == [0, 1, 0, 1, 2, 0]
    expected = [row @ matrices[own] for row, own in zip(rows, owner, strict=True)]
    np.testing.assert_allclose(groups.times(rows, matrices), torch.stack(expected), rtol=1e-12)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize(("precision", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 1e-4)])
def test_cuda_finds_what_the_cpu_finds(limited: bool, precision: torch.dtype, tolerance: float) -> None:
    network, source = lively().to(precision), random_sentences(30, 20)
    sets = toys.random_sets(30, 400) if limited else None
    expected = beam_search(network, source, decoding_settings(), sets)
    assert_same(beam_search(network.to("cuda"), source, decoding_settings(), sets), expected, atol=tolerance)


LAST = 12
"""The word after which a sentence may end: the tenth of the most frequent."""

WORDS = 300


def ending_after(word: int = LAST, words: int = WORDS) -> AttentionNetwork:
    """A network in which all words are as likely as each other, but ``word`` e times as likely, and the end e^-40 times
    except after ``word``, where it is e^10 times as likely.
    """
    network = AttentionNetwork(AttentionConfig(9, words, hidden=1, embedding=1, attention=1, maxout=1, rank=1)).double()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
        network.target_embedding.weight[word] = 1.0
        network.word_readout.weight.fill_(1.0)
        network.inner.weight.fill_(1.0)
        network.output.weight[EOS] = 50.0
        network.output.bias[EOS] = -40.0
        network.output.bias[word] = 1.0
    return network


SETTINGS = decoding_settings(beam=2, max_length_ratio=1, max_length_extra=3)


def expected_score(others: int) -> float:
    """log p of ``LAST`` and the end among ``others`` words besides these two."""
    first = 1.0 - np.log(others + np.e + np.exp(-40))
    return first + 10.0 - np.log(others + np.e + np.exp(10))


def sets_of(*own: list[int], common: list[int] = (UNK, EOS, 3, 4), **origins: str) -> CandidateSets:
    return CandidateSets(Ragged.from_lists(own), np.array(common, dtype=np.int32), WORDS, origins)


PAIR = Ragged.from_lists([[3, 4]])


def test_a_sentence_that_cannot_end_within_its_words_gets_twice_as_many_until_it_can() -> None:
    source = Ragged.from_lists([[3, 4], [5], [6, 7, 8]])
    found = search(ending_after(), source, SETTINGS, sets_of([30, 40], [LAST, 30], [200]))
    best = [hypotheses[0] for hypotheses in found.hypotheses]
    assert [(h.words.tolist(), h.complete) for h in best] == [([LAST], True)] * 3
    # 2, 4, 8 and then 16 frequent words; the second sentence keeps its own
    assert found.words.tolist() == [2 + 16 + 2, 6, 2 + 16 + 1]
    assert found.expanded.tolist() == [True, False, True]
    assert [h.score for h in best] == pytest.approx([expected_score(words - 2) for words in found.words], rel=1e-12)


def test_it_can_be_switched_off() -> None:
    found = search(ending_after(), PAIR, SETTINGS.replace(expand_on_failure=False), sets_of([30, 40]))
    assert [hypothesis.complete for hypothesis in found.hypotheses[0]] == [False]
    assert (found.words.tolist(), found.expanded.tolist()) == ([6], [False])


def test_in_the_end_it_is_all_words() -> None:
    for word in (WORDS - 1, UNK):  # after the last word, and where nothing that is written lets a sentence end
        settings = SETTINGS.replace(unknown=False)
        found = search(ending_after(word), PAIR, settings, sets_of([30, 40]))
        best, expected = found.hypotheses[0][0], beam_search(ending_after(word), PAIR, settings)[0][0]
        assert (found.words.tolist(), found.expanded.tolist(), best.complete) == ([WORDS], [True], word != UNK)
        assert (best.words.tolist(), best.score) == (expected.words.tolist(), expected.score)


def test_sets_without_frequent_words_get_some() -> None:
    sets = whole_sets(Ragged.from_lists([[UNK, EOS, 50]]), WORDS)
    found = search(ending_after(), PAIR, SETTINGS, sets)
    assert frequent_words(sets) == 0
    assert (found.words.tolist(), found.expanded.tolist()) == ([2 + FIRST], [True])


def test_without_sets_all_words_are_searched_once() -> None:
    found = search(ending_after(), Ragged.from_lists([[3], []]), SETTINGS)
    assert (found.words.tolist(), found.expanded.tolist()) == ([WORDS] * 2, [False] * 2)
    assert search(ending_after(), Ragged.from_lists([]), SETTINGS).hypotheses == []


def test_sets_with_more_frequent_words() -> None:
    sets = sets_of([5, 9, 200], [7], [], [10, 11], source="abc")
    larger = with_frequent(sets, np.array([0, 3, 2]), 7)
    assert larger.common.tolist() == [UNK, EOS, *range(3, 10)]
    assert [ids.tolist() for ids in larger.own] == [[200], [10, 11], []]
    assert (frequent_words(sets), frequent_words(larger), larger.size) == (2, 7, WORDS)
    # BOS counts in p where it was in a set
    kept = with_frequent(whole_sets(Ragged.from_lists([[UNK, BOS, EOS, 5]]), WORDS), np.array([0]), 4)
    assert kept.own[0].tolist() == [BOS]
    assert frequent_words(sets_of([], common=[UNK, EOS, 3, 5])) == 1


def test_what_grows_is_searched_as_if_it_had_been_larger_from_the_start() -> None:
    """With random weights: what ends is as without growth, and what does not is as with its larger set."""
    network, source = lively(), random_sentences(40, 20)
    random = np.random.default_rng(4)
    own = Ragged.from_lists([np.unique(random.integers(60, 400, 5)) for _ in range(40)])
    sets = CandidateSets(own, np.array([UNK, EOS, *range(3, 8)], dtype=np.int32), 400)
    settings = decoding_settings(beam=2, max_length_ratio=1, max_length_extra=3)
    found, plain = search(network, source, settings, sets), beam_search(network, source, settings, sets)
    sizes = {int(words) for words, expanded in zip(found.words, found.expanded, strict=True) if expanded}
    assert 0 < found.expanded.sum() < 30 and len(sizes) > 1
    for row in range(40):
        if not found.expanded[row]:
            expected = plain[row]
            assert expected[0].complete
        elif found.words[row] == 400:
            (expected,) = beam_search(network, source.take([row]), settings)
        else:
            larger = (with_frequent(sets, [row], 5 * 2**times) for times in range(1, 7))
            (larger,) = (one for one in larger if one.sizes[0] == found.words[row])
            (expected,) = beam_search(network, source.take([row]), settings, larger)
            assert expected[0].complete and not plain[row][0].complete
        assert [h.words.tolist() for h in found.hypotheses[row]] == [h.words.tolist() for h in expected]
        scores = [[h.score for h in hypotheses] for hypotheses in (found.hypotheses[row], expected)]
        np.testing.assert_allclose(*scores, rtol=1e-11)
