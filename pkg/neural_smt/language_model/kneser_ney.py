"""The formulas of modified Kneser-Ney smoothing (Chen and Goodman 1998, section 3) on slices of sorted n-grams.

Wherever a text is cut into slices, the same numbers come out, to the last bit: sums run within a context, and a slice
holds whole contexts.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neural_smt.errors import UserError
from neural_smt.language_model.counting import NgramCounts
from neural_smt.language_model.ngrams import NgramTable
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


def pruning_thresholds(prune: Sequence[int], order: int) -> list[int]:
    """One pruning threshold per order."""
    given = list(prune) or [0]
    if given[0] != 0 or given != sorted(given) or len(given) > order:
        raise UserError(
            f"language model: prune {given} must start with 0, never fall, and have at most {order} numbers; "
            "correct the setting"
        )
    return given + [given[-1]] * (order - len(given))


def adjusted_counts(ngrams: NgramCounts, before: np.ndarray | None) -> np.ndarray:
    """int64: the number of distinct words before each n-gram; its count at the highest order and after ``<s>``.

    before: int64 ``[rows]``, how many n-grams of the next order end in each, or None at the highest order.
    """
    if before is None:
        adjusted = ngrams.count.copy()
    else:
        adjusted = np.where(ngrams.begins, ngrams.count, before)
    adjusted[ngrams.begins & (ngrams.word == BOS)] = 0  # the unigram <s> is never predicted
    return adjusted


def counts_of_counts(adjusted: np.ndarray) -> np.ndarray:
    """int64 ``[6]``: how many n-grams have an adjusted count of 0, 1, 2, 3, 4, and of more."""
    return np.bincount(np.minimum(adjusted, 5), minlength=6)


def closed_form_discounts(counts: np.ndarray, order: int) -> np.ndarray:
    """float64 ``[3]``: D1, D2, D3+ (Chen and Goodman 1998, equation 26), or the fallback where that is not possible.

    counts: what ``counts_of_counts`` tells of all n-grams of the order.
    """
    n = counts.astype(np.float64)
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


def discount(
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


def ngram_table(words: np.ndarray, prob: np.ndarray, backoff: np.ndarray, kept: np.ndarray) -> NgramTable:
    """The n-grams kept, with log10 of their probabilities and of their back-off weights (float64 ``[rows]`` each)."""
    log10_prob, log10_backoff = (np.log10(np.maximum(x[kept], _SMALLEST)).astype(np.float32) for x in (prob, backoff))
    return NgramTable(words[kept], log10_prob, log10_backoff)


def with_special_words(unigrams: NgramTable, empty: NgramTable) -> NgramTable:
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
