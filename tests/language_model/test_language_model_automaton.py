"""Queries of the automaton against values by hand and a slow evaluator; the part of a model that a text asks for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ngram_tables import FOLDER, real_text, walk

from neural_smt.io.ragged import Ragged
from neural_smt.language_model.arpa import read_arpa
from neural_smt.language_model.estimation import estimate
from neural_smt.language_model.model import NgramModel, context_states, measure_perplexity, word_mass
from neural_smt.language_model.ngrams import NgramTable, restrict_tables
from neural_smt.training.texts import NgramText
from neural_smt.vocabulary import BOS, EOS, UNK, Vocabulary


@pytest.fixture
def tiny():
    tables, vocabulary = read_arpa(FOLDER / "tiny.arpa")
    return NgramModel.from_tables(tables, vocabulary), vocabulary


def slow_sentences(tables: list[NgramTable], sentences: list[list[int]]) -> list[float]:
    """log10 of each sentence, from ``<s>`` to ``</s>``, by looking n-grams up in dictionaries, longest first."""
    prob, backoff = {}, {}
    for table in tables:
        for words, p, b in zip(table.words.tolist(), table.log10_prob.tolist(), table.backoff.tolist(), strict=True):
            prob[tuple(words)], backoff[tuple(words)] = p, b

    def score(history: tuple[int, ...], word: int) -> float:
        if (*history, word) in prob:
            return prob[*history, word]
        if not history:
            return prob.get((UNK,), -100.0)
        return backoff.get(history, 0.0) + score(history[1:], word)

    totals = []
    for sentence in sentences:
        history, total = [BOS], 0.0
        for word in [*sentence, EOS]:
            word = word if (word,) in prob and word != BOS else UNK
            total += score(tuple(history[-(len(tables) - 1) :]), word)
            history.append(word)
        totals.append(total)
    return totals


def test_values_by_hand(tiny):
    model, vocabulary = tiny
    a, b = vocabulary.ids(["a", "b"]).tolist()
    assert model.order == 3 and model.ngrams == (5, 4, 2)
    assert [log10_prob for log10_prob, _ in walk(model, [a, b])] == pytest.approx([-0.375, -0.1, -0.2])
    # from "a b" to "a": p(a | b) after backing off once
    assert walk(model, [a, b, a], state=0)[2][0] == pytest.approx(-0.03125 - 0.7)
    # unknown after <s>: backs off to the unigram
    assert model.score_word(model.begin_state, UNK)[0] == pytest.approx(-0.5 - 1.5)
    # nothing extends "b a" and it has no back-off weight: the state after it is that after "a"
    assert walk(model, [b, a], state=0)[1][1] == walk(model, [a], state=0)[0][1]


def test_absent_words_are_unknown_and_forget_the_history(tiny):
    model, _ = tiny
    for word in (UNK, BOS, 4000, -1):
        log10_prob, state = model.score_word(0, word)
        assert log10_prob == pytest.approx(-1.5) and state == 0


def test_sentences_count_unknown_words_and_their_share(tiny):
    model, vocabulary = tiny
    sentences = vocabulary.encode(["a b", "a x b", ""])
    log10_prob, unknown, unknown_log10 = model.score_sentences(sentences)
    # <s> a x b </s>: x backs off from "<s> a" and from "a", then b starts anew.
    of_x = -0.0625 - 0.25 - 1.5
    np.testing.assert_allclose(log10_prob, [-0.375 - 0.1 - 0.2, -0.375 + of_x - 0.5 - 0.6, -0.5 - 1.0], rtol=1e-6)
    assert unknown.tolist() == [0, 1, 0]
    np.testing.assert_allclose(unknown_log10, [0, of_x, 0], rtol=1e-6)


@pytest.mark.parametrize("order", [1, 2, 5])
def test_kernel_agrees_with_the_slow_evaluator(shared, order):
    tables, vocabulary = read_arpa(shared / "oracle/language_model/train2000.o5.arpa.gz")
    tables = tables[:order]
    model = NgramModel.from_tables(tables, vocabulary)
    generator = np.random.default_rng(3)
    sentences = [sentence.tolist() for sentence in vocabulary.encode(real_text(shared)[0][:40])]
    for sentence in sentences[:20]:  # seen text with some words replaced, so that every depth of backing off occurs
        sentence[generator.integers(len(sentence))] = int(generator.integers(len(vocabulary) + 5))
    sentences += [generator.integers(0, len(vocabulary), 12).tolist() for _ in range(20)]
    log10_prob, _, _ = model.score_sentences(Ragged.from_lists(sentences))
    np.testing.assert_allclose(log10_prob, slow_sentences(tables, sentences), atol=1e-4)


WORDS = Vocabulary.from_sentences(["a b c d e f"])
IDS = [number for number in range(len(WORDS)) if number not in (BOS, EOS)]
SENTENCES = st.lists(st.lists(st.sampled_from(IDS), max_size=7), min_size=1, max_size=8)


@pytest.mark.parametrize("prune", [(), (0, 1)])
@given(text=SENTENCES.filter(lambda sentences: any(map(any, sentences))), asked=SENTENCES, order=st.integers(1, 4))
def test_a_text_has_the_same_probabilities(prune, text, asked, order):
    tables = estimate(Ragged.from_lists(text), order, prune[:order], vocabulary_size=len(WORDS) - 1).tables
    sentences = Ragged.from_lists(asked)
    whole, part = (NgramModel.from_tables(some, WORDS) for some in (tables, restrict_tables(tables, sentences)))
    for measured, expected in zip(part.score_sentences(sentences), whole.score_sentences(sentences), strict=True):
        np.testing.assert_array_equal(measured, expected)
    assert measure_perplexity(part, sentences) == measure_perplexity(whole, sentences)


def test_a_model_of_a_text_keeps_what_is_asked_of_it() -> None:
    text, asked = WORDS.encode(["a b c", "b c d", "c d d"]), WORDS.encode(["b c", "e"])
    whole = NgramModel.from_tables(estimate(text, 3).tables, WORDS)
    part = NgramModel.of_text(text, 3, WORDS, asked)
    assert (part.ngrams, whole.ngrams) == ((7, 3, 2), (7, 9, 9))
    np.testing.assert_array_equal(part.score_sentences(asked)[0], whole.score_sentences(asked)[0])


@given(text=SENTENCES.filter(lambda sentences: any(map(any, sentences))), asked=SENTENCES, order=st.integers(1, 4))
def test_sums_over_followers_stay_the_same(text, asked, order):
    tables = estimate(Ragged.from_lists(text), order, vocabulary_size=len(WORDS) - 1).tables
    sentences, followers = Ragged.from_lists(asked), np.array([UNK, EOS, IDS[-1], IDS[-2]])
    both = tables, restrict_tables(tables, sentences, followers)
    contexts = NgramText.of(sentences, max(order - 1, 1)).ngrams(np.arange(len(sentences.values) + len(sentences)))[0]
    masses = []
    for model in (NgramModel.from_tables(some, WORDS) for some in both):
        masses.append(word_mass(model, followers)[context_states(model, contexts)])
    np.testing.assert_allclose(masses[1], masses[0], rtol=1e-12)


@pytest.mark.parametrize("block", [1, 3, 1 << 20])
def test_what_the_text_does_not_ask_for_is_left_out(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neural_smt.language_model.ngrams.BLOCK", block)
    tables = estimate(WORDS.encode(["a b c", "b c d", "c d d"]), 3).tables
    unigrams, bigrams, trigrams = restrict_tables(tables, WORDS.encode(["b c", "e"]))
    assert len(unigrams) == len(tables[0])
    b, c = WORDS.index["b"], WORDS.index["c"]
    assert {tuple(row) for row in bigrams.words.tolist()} == {(BOS, b), (b, c), (c, EOS)}
    assert {tuple(row) for row in trigrams.words.tolist()} == {(BOS, b, c), (b, c, EOS)}
    place = int(np.flatnonzero((tables[1].words == bigrams.words[0]).all(axis=1))[0])
    assert bigrams.log10_prob[0] == tables[1].log10_prob[place] and bigrams.backoff[0] == tables[1].backoff[place]


def test_words_that_the_model_lacks_are_asked_for_as_the_unknown_one() -> None:
    tables = estimate(Ragged.from_lists([[4, UNK, 5], [4, UNK, 5]]), 3).tables
    part = restrict_tables(tables, Ragged.from_lists([[4, 7, 5]]))
    assert [4, UNK, 5] in part[2].words.tolist()
