"""Interpolated modified Kneser-Ney estimation (Chen and Goodman 1998, section 3), with the choices of KenLM's lmplz.

Those choices (Heafield et al. 2013): the count of an n-gram below the highest order is the number of distinct words
before it, but its plain count where it begins with ``<s>``; unigrams are interpolated with a uniform distribution, so
``<unk>`` gets what the discounts set free; pruning looks at plain counts, while discounts, denominators and the
counts of shorter n-grams are those of the unpruned text.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neural_smt.errors import UserError
from neural_smt.language_model.counting import NgramCounts, count_ngrams, with_boundaries
from neural_smt.language_model.ngrams import NgramTable
from neural_smt.ragged import Ragged
from neural_smt.vocabulary import BOS, UNK

logger = logging.getLogger(__name__)

FALLBACK_DISCOUNTS = (0.5, 1.0, 1.5)
"""Discounts of an order whose counts do not allow the closed form (lmplz's ``--discount_fallback``)."""

_SMALLEST = 1e-99


@dataclass(frozen=True)
class Estimate:
    """tables: n-grams of orders 1, 2, ..., sorted by words; discounts: float64 ``[order, 3]``, D1, D2 and D3+."""

    tables: list[NgramTable]
    discounts: np.ndarray


def estimate(sentences: Ragged, order: int, prune: Sequence[int] = (), vocabulary_size: int | None = None) -> Estimate:
    """Estimate a model of sentences of word ids (without boundaries).

    prune: an n-gram seen no more often than its order's threshold is left out; the last threshold holds for all
    higher orders, as with lmplz. vocabulary_size: how many words (with ``<unk>`` and ``</s>``, without ``<s>``) share
    the uniform distribution; by default those seen and ``<unk>``. Models with the same number give comparable
    perplexities: each unseen word costs what one of that many words gets. At order 5 about 120 bytes a token are
    needed at the peak; for more text than memory there is lmplz. Raises ``UserError`` for text without words
    and for thresholds that are not of the kind 0 <= t2 <= t3 ...
    """
    thresholds = _thresholds(prune, order)
    if len(sentences.values) == 0:
        raise UserError("language model: the text has no words; check the files it is built from")
    counts = list(count_ngrams(with_boundaries(sentences), order))
    seen = len(counts[0]) - 1 + (counts[0].word[0] != UNK)  # <unk> always counts as a word, <s> never
    discounts = np.zeros((order, 3))
    words, prob = np.zeros((1, 0), dtype=np.int32), np.array([1 / max(seen, vocabulary_size or 0)])
    kept = np.array([True])
    tables: list[NgramTable] = []
    for n, ngrams in enumerate(counts, start=1):
        adjusted = _adjusted_counts(ngrams, counts[n] if n < order else None)
        discounts[n - 1] = _closed_form_discounts(adjusted, n)
        taken = ngrams.count > thresholds[n - 1]
        discounted, backoff = _discount(ngrams.context, adjusted, discounts[n - 1], taken, len(words))
        tables.append(_table(words, prob, backoff, kept))  # of the order below, whose back-off weights are known now
        prob = discounted + backoff[ngrams.context] * prob[ngrams.suffix]
        words = np.column_stack([words[ngrams.context], ngrams.word])
        kept = taken
    tables.append(_table(words, prob, np.ones(len(words)), kept))
    empty, unigrams, *longer = tables
    return Estimate([_with_special_words(unigrams, empty), *longer], discounts)


def _thresholds(prune: Sequence[int], order: int) -> list[int]:
    """One pruning threshold per order."""
    given = list(prune) or [0]
    if given[0] != 0 or given != sorted(given) or len(given) > order:
        raise UserError(
            f"language model: prune {given} must start with 0, never fall, and have at most {order} numbers; "
            "correct the setting"
        )
    return given + [given[-1]] * (order - len(given))


def _adjusted_counts(ngrams: NgramCounts, longer: NgramCounts | None) -> np.ndarray:
    """int64: the number of distinct words before each n-gram; its count at the highest order and after ``<s>``."""
    if longer is None:
        adjusted = ngrams.count.copy()
    else:
        adjusted = np.bincount(longer.suffix, minlength=len(ngrams))
        adjusted[ngrams.begins] = ngrams.count[ngrams.begins]
    if len(ngrams) and ngrams.begins[ngrams.word == BOS].any():
        adjusted[ngrams.word == BOS] = 0  # the unigram <s> is never predicted
    return adjusted


def _closed_form_discounts(adjusted: np.ndarray, order: int) -> np.ndarray:
    """float64 ``[3]``: D1, D2, D3+ (Chen and Goodman 1998, equation 26), or the fallback where that is not possible."""
    n = np.bincount(np.minimum(adjusted, 5), minlength=6).astype(np.float64)
    if (n[1:4] > 0).all():
        j = np.arange(1, 4)
        discounts = j - (j + 1) * n[1] / (n[1] + 2 * n[2]) * n[2:5] / n[1:4]
        if ((discounts >= 0) & (discounts <= j)).all():
            return discounts
    logger.warning(
        "order %d: too few n-grams seen once, twice or three times for Kneser-Ney discounts; using %s",
        order,
        FALLBACK_DISCOUNTS,
    )
    return np.array(FALLBACK_DISCOUNTS)


def _discount(
    context: np.ndarray, adjusted: np.ndarray, discounts: np.ndarray, kept: np.ndarray, contexts: int
) -> tuple[np.ndarray, np.ndarray]:
    """The discounted relative frequency of each n-gram, and of each context the mass set free for shorter ones.

    Both float64, probabilities. A context sets free the discounts of the n-grams kept and all of those pruned; one
    that nothing follows keeps a back-off weight of 1.
    """
    total = np.bincount(context, weights=adjusted, minlength=contexts)
    taken = np.concatenate([[0.0], discounts])[np.minimum(adjusted, 3)]
    free = np.bincount(context, weights=np.where(kept, taken, adjusted), minlength=contexts)
    safe_total = np.where(total > 0, total, 1)
    return (adjusted - taken) / safe_total[context], np.where(total > 0, free / safe_total, 1)


def _table(words: np.ndarray, prob: np.ndarray, backoff: np.ndarray, kept: np.ndarray) -> NgramTable:
    log10_prob, log10_backoff = (np.log10(np.maximum(x[kept], _SMALLEST)).astype(np.float32) for x in (prob, backoff))
    return NgramTable(words[kept], log10_prob, log10_backoff)


def _with_special_words(unigrams: NgramTable, empty: NgramTable) -> NgramTable:
    """Unigrams with ``<unk>``, which costs backing off to the uniform distribution when unseen, and p(<s>) = 1."""
    unigrams.log10_prob[unigrams.words[:, 0] == BOS] = 0
    if unigrams.words[0, 0] == UNK:
        return unigrams
    unseen = empty.log10_prob + empty.backoff
    return NgramTable(
        np.concatenate([np.full((1, 1), UNK, dtype=np.int32), unigrams.words]),
        np.concatenate([unseen, unigrams.log10_prob]),
        np.concatenate([np.zeros(1, dtype=np.float32), unigrams.backoff]),
    )
