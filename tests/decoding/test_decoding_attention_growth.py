"""Target vocabularies of sentences that grow where beam search finds no finished translation."""

import numpy as np
import pytest
import torch
from attention_world import decoding_settings, lively, random_sentences

from neural_smt.decoding.attention.search import FIRST, beam_search, frequent_words, search, with_frequent
from neural_smt.io.ragged import Ragged
from neural_smt.networks.attention.network import AttentionConfig, AttentionNetwork
from neural_smt.vocabulary import BOS, EOS, UNK
from neural_smt.vocabulary_selection.candidates import CandidateSets

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
    assert found.grown.tolist() == [True, False, True]
    assert [h.score for h in best] == pytest.approx([expected_score(words - 2) for words in found.words], rel=1e-12)


def test_it_can_be_switched_off() -> None:
    found = search(ending_after(), PAIR, SETTINGS.replace(expand_on_failure=False), sets_of([30, 40]))
    assert [hypothesis.complete for hypothesis in found.hypotheses[0]] == [False]
    assert (found.words.tolist(), found.grown.tolist()) == ([6], [False])


def test_in_the_end_it_is_all_words() -> None:
    for word in (WORDS - 1, UNK):  # after the last word, and where nothing that is written lets a sentence end
        settings = SETTINGS.replace(unknown=False)
        found = search(ending_after(word), PAIR, settings, sets_of([30, 40]))
        best, expected = found.hypotheses[0][0], beam_search(ending_after(word), PAIR, settings)[0][0]
        assert (found.words.tolist(), found.grown.tolist(), best.complete) == ([WORDS], [True], word != UNK)
        assert (best.words.tolist(), best.score) == (expected.words.tolist(), expected.score)


def test_sets_without_frequent_words_get_some() -> None:
    sets = CandidateSets.from_ids(Ragged.from_lists([[UNK, EOS, 50]]), WORDS)
    found = search(ending_after(), PAIR, SETTINGS, sets)
    assert frequent_words(sets) == 0
    assert (found.words.tolist(), found.grown.tolist()) == ([2 + FIRST], [True])


def test_without_sets_all_words_are_searched_once() -> None:
    found = search(ending_after(), Ragged.from_lists([[3], []]), SETTINGS)
    assert (found.words.tolist(), found.grown.tolist()) == ([WORDS] * 2, [False] * 2)
    assert search(ending_after(), Ragged.from_lists([]), SETTINGS).hypotheses == []


def test_sets_with_more_frequent_words() -> None:
    sets = sets_of([5, 9, 200], [7], [], [10, 11], source="abc")
    larger = with_frequent(sets, np.array([0, 3, 2]), 7)
    assert larger.common.tolist() == [UNK, EOS, *range(3, 10)]
    assert [ids.tolist() for ids in larger.own] == [[200], [10, 11], []]
    assert (frequent_words(sets), frequent_words(larger), larger.size) == (2, 7, WORDS)
    # BOS counts in p where it was in a set
    kept = with_frequent(CandidateSets.from_ids(Ragged.from_lists([[UNK, BOS, EOS, 5]]), WORDS), np.array([0]), 4)
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
    sizes = {int(words) for words, grown in zip(found.words, found.grown, strict=True) if grown}
    assert 0 < found.grown.sum() < 30 and len(sizes) > 1
    for row in range(40):
        frequent = found.words[row] - 2 - len(own[row])
        if not found.grown[row]:
            expected = plain[row]
            assert expected[0].complete
        elif found.words[row] == 400:
            (expected,) = beam_search(network, source.take([row]), settings)
        else:
            (expected,) = beam_search(network, source.take([row]), settings, with_frequent(sets, [row], frequent))
            assert expected[0].complete and not plain[row][0].complete
        assert [h.words.tolist() for h in found.hypotheses[row]] == [h.words.tolist() for h in expected]
        scores = [[h.score for h in hypotheses] for hypotheses in (found.hypotheses[row], expected)]
        np.testing.assert_allclose(*scores, rtol=1e-11)
