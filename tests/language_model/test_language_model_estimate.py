"""Kneser-Ney estimation: values by hand, a literal reference of the definitions, and lmplz's own output."""

import re
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ngram_tables import WORDS, assert_same_ngrams, random_text, real_text, walk
from refusals import check_refused

from neural_smt.io.files import read_lines
from neural_smt.io.ragged import Ragged
from neural_smt.language_model.arpa import read_arpa
from neural_smt.language_model.estimation import FALLBACK_DISCOUNTS, Estimate, estimate
from neural_smt.language_model.model import NgramModel
from neural_smt.vocabulary import BOS, EOS, UNK, Vocabulary


def as_dictionary(estimated: Estimate, values: str = "log10_prob") -> dict[tuple[int, ...], float]:
    """Probabilities (or back-off weights) by n-gram."""
    return {
        tuple(words): 10**value
        for table in estimated.tables
        for words, value in zip(table.words.tolist(), getattr(table, values).tolist(), strict=True)
    }


def reference(sentences: list[list[int]], order: int, thresholds: list[int]) -> dict[tuple[int, ...], float]:
    """Probabilities of the n-grams kept, from the definitions, with dictionaries and recursion."""
    count: dict[tuple[int, ...], int] = defaultdict(int)
    before: dict[tuple[int, ...], set[int]] = defaultdict(set)
    for sentence in sentences:
        text = [BOS, *sentence, EOS]
        for n in range(1, order + 1):
            for i in range(len(text) - n + 1):
                count[tuple(text[i : i + n])] += 1
                if i > 0:
                    before[tuple(text[i : i + n])].add(text[i - 1])
    adjusted = {g: c if len(g) == order or g[0] == BOS else len(before[g]) for g, c in count.items() if g != (BOS,)}
    discounts = {n: reference_discounts([c for g, c in adjusted.items() if len(g) == n]) for n in range(1, order + 1)}
    kept = {g for g, c in count.items() if c > thresholds[len(g) - 1]}
    followers: dict[tuple[int, ...], list[tuple[int, ...]]] = defaultdict(list)
    for g in adjusted:
        followers[g[:-1]].append(g)
    words = {g[0] for g in count if len(g) == 1 and g != (BOS,)} | {UNK}

    def discount(g: tuple[int, ...]) -> float:
        return discounts[len(g)][min(adjusted[g], 3) - 1]

    def prob(g: tuple[int, ...]) -> float:
        if not g:
            return 1 / len(words)
        total = sum(adjusted[f] for f in followers[g[:-1]])
        free = sum(discount(f) if f in kept else adjusted[f] for f in followers[g[:-1]])
        own = (adjusted[g] - discount(g)) / total if g in adjusted else 0
        return own + free / total * prob(g[1:])

    return {g: prob(g) for g in kept | {(UNK,)} if g != (BOS,)} | {(BOS,): 1.0}


def reference_discounts(counts: list[int]) -> list[float]:
    n = [counts.count(j) for j in range(5)]
    if min(n[1:4]) == 0:
        return list(FALLBACK_DISCOUNTS)
    discounts = [j - (j + 1) * n[1] / (n[1] + 2 * n[2]) * n[j + 1] / n[j] for j in (1, 2, 3)]
    good = all(0 <= d <= j for j, d in zip((1, 2, 3), discounts, strict=True))
    return discounts if good else list(FALLBACK_DISCOUNTS)


def test_values_by_hand():
    a, b, c = 3, 4, 5
    estimated = estimate(Ragged.from_lists([[a, b], [a, b], [a, c]]), 2)
    # One distinct word stands before a, b and c each, two before </s>: no count of 3, so the fallback.
    # Bigrams: n1 = n2 = 2, n3 = 1, n4 = 0.
    np.testing.assert_allclose(estimated.discounts, [[0.5, 1, 1.5], [1 / 3, 1.5, 3]])
    expected = {(UNK,): 0.1, (BOS,): 1.0, (EOS,): 0.3, (a,): 0.2, (b,): 0.2, (c,): 0.2}
    expected |= {(BOS, a): 0.2, (a, b): 0.5 / 3 + 11 / 18 * 0.2, (a, c): (2 / 3) / 3 + 11 / 18 * 0.2}
    expected |= {(b, EOS): 0.25 + 0.75 * 0.3, (c, EOS): 2 / 3 + 1 / 3 * 0.3}
    assert as_dictionary(estimated) == pytest.approx(expected, rel=1e-6)
    backoff = as_dictionary(estimated, "backoff")
    assert [backoff[w,] for w in (UNK, BOS, EOS, a, b, c)] == pytest.approx([1, 1, 1, 11 / 18, 0.75, 1 / 3], rel=1e-6)


@given(
    sentences=st.lists(st.lists(st.integers(3, 7), max_size=7), min_size=1, max_size=12).filter(any),
    order=st.integers(1, 4),
    singletons=st.booleans(),
)
def test_agrees_with_the_definitions(sentences, order, singletons):
    prune = [0, 0, 1][:order] if singletons else []
    thresholds = [0, 0, 1, 1][:order] if singletons else [0] * order
    prob = as_dictionary(estimate(Ragged.from_lists(sentences), order, prune))
    assert prob == pytest.approx(reference(sentences, order, thresholds), rel=1e-4, abs=1e-12)


@pytest.mark.parametrize(("name", "order", "prune"), [("o3", 3, []), ("o5", 5, []), ("o4.prune001", 4, [0, 0, 1])])
def test_agrees_with_lmplz(shared, name, order, prune):
    theirs, vocabulary = read_arpa(shared / f"oracle/language_model/train2000.{name}.arpa.gz")
    ours = estimate(vocabulary.encode(real_text(shared)[0]), order, prune)
    assert_same_ngrams(ours.tables, theirs, 1e-6)
    if order == 5:
        log = read_lines(shared / "oracle/language_model/lmplz.log")
        logged = [re.findall(r"D[123+]+=(\S+)", line) for line in log if "D3+=" in line]
        np.testing.assert_allclose(ours.discounts, np.array(logged, dtype=float), rtol=5e-6)


@pytest.mark.parametrize("prune", [[], [0, 0, 1], [0, 2, 3]])
def test_probabilities_sum_to_one(prune):
    model = NgramModel.from_tables(estimate(random_text(), 4, prune).tables, WORDS)
    words = [w for w in range(len(WORDS)) if w == UNK or model.arrays.lexicon[w] != UNK]
    for sentence in random_text(15):
        for state in [model.begin_state, *(state for _, state in walk(model, sentence))]:
            assert sum(10 ** model.score_word(state, w)[0] for w in words) == pytest.approx(1, abs=1e-5)


def test_a_fixed_vocabulary_shares_the_mass_of_unseen_words():
    estimated = estimate(Ragged.from_lists([[3, 4], [3, 3, 5]]), 3, vocabulary_size=100)
    model = NgramModel.from_tables(estimated.tables, Vocabulary.from_sentences(["a b c"]))
    seen = sum(10 ** model.score_word(0, word)[0] for word in (EOS, 3, 4, 5))
    assert seen + 96 * 10 ** model.score_word(0, UNK)[0] == pytest.approx(1, abs=1e-6)


def test_reserved_words_inside_a_sentence_are_unknown():
    one = as_dictionary(estimate(Ragged.from_lists([[3, BOS, 4, EOS], [4]]), 3))
    other = as_dictionary(estimate(Ragged.from_lists([[3, UNK, 4, UNK], [4]]), 3))
    assert one == other and (UNK, 4) in one


def test_orders_longer_than_every_sentence_are_empty():
    estimated = estimate(Ragged.from_lists([[3], [4]]), 5)
    assert [len(table) for table in estimated.tables] == [5, 4, 2, 0, 0]
    model = NgramModel.from_tables(estimated.tables, Vocabulary.from_sentences(["a b"]))
    assert np.isfinite(model.score_sentences(Ragged.from_lists([[3, 4]]))[0]).all()


@pytest.mark.parametrize("prune", [[1], [0, 2, 1], [0, 0, 0, 0]])
def test_thresholds_must_start_at_zero_and_never_fall(prune):
    check_refused("prune", estimate, Ragged.from_lists([[3]]), 3, prune)
