"""Quantised models against exact ones: the same states, scores as near as codes allow, the same kernels."""

from collections.abc import Sequence

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ngram_tables import CASES, WORDS, ngrams, random_text, real_text, walk
from refusals import check_refused

from neural_smt.errors import UserError
from neural_smt.io.codes import CODES, choose_centres, encode
from neural_smt.language_model import automaton
from neural_smt.language_model.automaton import NgramError
from neural_smt.language_model.estimation import estimate
from neural_smt.language_model.model import NgramModel, context_states, word_mass
from neural_smt.language_model.ngrams import NgramTable
from neural_smt.vocabulary import BOS, EOS, Vocabulary


def rounded_tables(order: int, prune: Sequence[int]) -> list[NgramTable]:
    """Of random text, with few different scores, so that each has a code of its own."""
    return [
        NgramTable(table.words, *(np.round(scores * 16) / 16 for scores in (table.log10_prob, table.backoff)))
        for table in estimate(random_text(), order, prune).tables
    ]


def encoded(scores: np.ndarray, zero: bool = False) -> tuple[np.ndarray, np.ndarray]:
    centres, codes = choose_centres(scores, zero), np.empty(len(scores), dtype=np.uint8)
    encode(scores, centres, codes, zero)
    return centres, codes


def both_models(tables: Sequence[NgramTable], vocabulary: Vocabulary = WORDS) -> list[NgramModel]:
    """The exact and the quantised model."""
    return [NgramModel.from_tables(tables, vocabulary, quantise) for quantise in (False, True)]


def test_more_ngrams_than_there_are_numbers(monkeypatch):
    monkeypatch.setattr(automaton, "_LARGEST", 50)
    with pytest.raises(UserError, match="more than 50 n-grams"):
        both_models(estimate(random_text(), 3).tables)


def test_bins_divide_the_range_and_stand_for_their_means():
    scores = np.random.default_rng(3).permutation(np.linspace(-7, -1, 25600).astype(np.float32))
    scores = np.append(scores, np.full(9000, -4, dtype=np.float32))  # what stands often is in one bin of many
    centres, codes = encoded(scores)
    assert (np.diff(centres) > 0).all()
    population = np.bincount(codes, minlength=CODES)
    assert sorted(population)[0] >= 70 and sorted(population)[-2] <= 130 < 9000 < population.max()
    means = np.bincount(codes, weights=scores) / population
    np.testing.assert_allclose(centres, means, atol=6 / CODES / 4)  # a quarter of a bin
    distance = np.abs(scores[:, None] - centres[None, :])
    np.testing.assert_allclose(distance[np.arange(len(scores)), codes], distance.min(axis=1), atol=1e-6)


@given(scores=st.lists(st.sampled_from([-5.0, -1.5, -0.25, -0.125, 0.0, 0.5]), max_size=40), zero=st.booleans())
def test_few_scores_are_kept_as_they_are(scores, zero):
    values = np.array(scores, dtype=np.float32)
    centres, codes = encoded(values, zero)
    assert len(centres) == CODES and centres[codes].tolist() == values.tolist()
    if zero:
        assert ((codes == 0) == (values == 0)).all()


def test_zero_has_a_code_of_its_own():
    scores = np.random.default_rng(3).normal(0, 1e-3, 5000).astype(np.float32)
    scores[::3] = 0
    centres, codes = encoded(scores, zero=True)
    assert centres[0] == 0 and ((codes == 0) == (scores == 0)).all()
    np.testing.assert_allclose(centres[codes], scores, atol=1e-3)
    assert np.abs(centres[codes] - scores).mean() < 2e-5


@pytest.mark.parametrize(("order", "prune"), [(1, []), (2, []), (4, []), (4, [0, 0, 1]), (5, [0, 2, 3])])
def test_scores_and_states_are_those_of_the_exact_model(order, prune):
    exact, coded = both_models(rounded_tables(order, prune))
    assert coded.quantised and not exact.quantised and coded.ngrams == exact.ngrams
    assert coded.begin_state == exact.begin_state and coded.known_words == exact.known_words
    for sentence in [*random_text(60, seed=8), *random_text(40)]:
        assert walk(coded, sentence) == walk(exact, sentence)


def test_rows_may_come_in_any_order():
    generator = np.random.default_rng(2)
    tables = rounded_tables(4, [0, 0, 1])
    mixed = []
    for table in tables:
        rows = generator.permutation(len(table))
        mixed.append(NgramTable(table.words[rows], table.log10_prob[rows], table.backoff[rows]))
    one, other = (NgramModel.from_tables(given, WORDS, quantise=True) for given in (tables, mixed))
    for sentence in random_text(40, seed=8):
        assert walk(one, sentence) == walk(other, sentence)


def test_missing_suffix_falls_to_the_longest_that_is_there():
    """SRILM prunes "4 5" while it keeps "3 4 5": the state after "3 4 5" is then that of "5"."""
    unigrams = ngrams([[n] for n in range(6)], [-3, -99, -1, -0.5, -0.75, -1.5], -0.5)
    bigrams = ngrams([[3, 4], [5, 3]], [-0.25, -0.5], [-0.125, 0])
    exact, coded = both_models([unigrams, bigrams, ngrams([[3, 4, 5]], -0.0625)])
    for sentence in ([3, 4, 5, 3], [3, 4, 5, 5], [3, 4, 4], [4, 5], [5, 3, 4, 3]):
        assert walk(coded, sentence) == walk(exact, sentence)
    assert [log10_prob for log10_prob, _ in walk(exact, [3, 4, 5, 3], 0)] == [-0.5, -0.25, -0.0625, -0.5, -1.5]


def test_real_text_scores_nearly_the_same(shared):
    lines, vocabulary = real_text(shared)
    exact, coded = both_models(estimate(vocabulary.encode(lines[:1800]), 5).tables, vocabulary)
    text = vocabulary.encode(lines[1800:])
    ours, theirs = coded.score_sentences(text)[0], exact.score_sentences(text)[0]
    words = len(text.values) + len(text)
    assert 10 ** (abs(ours.sum() - theirs.sum()) / words) < 1.01, "perplexity differs by more than one percent"
    assert (np.abs(ours - theirs) / (text.lengths + 1)).max() < 0.04
    sizes = [sum(array.nbytes for array in (*m.arrays[:-2], *m.arrays.coded)) for m in (coded, exact)]
    assert sizes[0] < 0.5 * sizes[1]


def test_the_mass_of_words_is_that_of_the_exact_model():
    exact, coded = both_models(rounded_tables(4, [0, 0, 1]))
    words = np.array([EOS, 3, 4, 4, 9])
    contexts = np.array([[BOS, 3, 4], [BOS, BOS, 5], [3, 4, 5]])
    states = context_states(exact, contexts)
    assert states.tolist() == context_states(coded, contexts).tolist()
    np.testing.assert_allclose(word_mass(coded, words)[states], word_mass(exact, words)[states], rtol=1e-6)


def test_saved_mapped_and_queried_by_the_kernels_of_exact_models(tmp_path):
    models = []
    for quantise, model in enumerate(both_models(estimate(random_text(), 3).tables)):
        model.save(tmp_path / str(quantise))
        loaded = NgramModel.load(tmp_path / str(quantise), WORDS)
        assert (loaded.quantised, loaded.ngrams, loaded.finite) == (quantise, model.ngrams, True)
        for sentence in random_text(20, seed=8):
            assert walk(loaded, sentence) == walk(model, sentence)
        models += [model, loaded]
        other = Vocabulary.from_sentences(["other words"])
        check_refused("another vocabulary", NgramModel.load, tmp_path / str(quantise), other)
    assert len({str(numba.typeof(model.arrays)) for model in models}) == 1
    check_refused(["arrays.safetensors", "no such file"], NgramModel.load, tmp_path / "nowhere")


def test_scores_that_are_not_finite_are_seen():
    tables = estimate(random_text(), 3).tables
    model = NgramModel.from_tables(tables, WORDS, quantise=True)
    centres = model.arrays.coded.prob_centres.copy()
    centres[1, 7] = np.nan
    broken = model.arrays._replace(coded=model.arrays.coded._replace(prob_centres=centres))
    assert not NgramModel(broken, model.order, model.ngrams, model.vocabulary_digest).finite


@pytest.mark.parametrize("quantise", [False, True])
@pytest.mark.parametrize(("bigrams", "trigrams", "reason"), CASES["damaged"])
def test_damaged_tables_are_refused(bigrams, trigrams, reason, quantise):
    rows = [[[0], [1], [2], [3], [4]], bigrams, trigrams]
    tables = [ngrams(np.reshape(words, (-1, n)), -1, -1) for n, words in enumerate(rows, start=1)]
    with pytest.raises(NgramError, match=reason):
        NgramModel.from_tables(tables, WORDS, quantise)
