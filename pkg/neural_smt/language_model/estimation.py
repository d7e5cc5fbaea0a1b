"""Interpolated modified Kneser-Ney estimation (Chen and Goodman 1998, section 3), with the choices of KenLM's lmplz.

Those choices (Heafield et al. 2013): the count of an n-gram below the highest order is the number of distinct words
before it, but its plain count where it begins with ``<s>``; unigrams are interpolated with a uniform distribution, so
``<unk>`` gets what the discounts set free; pruning looks at plain counts, while discounts, denominators and the
counts of shorter n-grams are those of the unpruned text.
"""

from collections.abc import Sequence

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.ragged import Ragged
from neural_smt.language_model.counting import count_ngrams, with_boundaries
from neural_smt.language_model.kneser_ney import (
    Estimate,
    adjusted_counts,
    closed_form_discounts,
    counts_of_counts,
    discount,
    ngram_table,
    pruning_thresholds,
    with_special_words,
)
from neural_smt.language_model.ngrams import NgramTable
from neural_smt.vocabulary import UNK


def estimate(sentences: Ragged, order: int, prune: Sequence[int] = (), vocabulary_size: int | None = None) -> Estimate:
    """Estimate a model of sentences of word ids (without boundaries).

    prune: an n-gram seen no more often than its order's threshold is left out; the last threshold holds for all
    higher orders, as with lmplz. vocabulary_size: how many words (with ``<unk>`` and ``</s>``, without ``<s>``) share
    the uniform distribution; by default those seen and ``<unk>``. Models with the same number give comparable
    perplexities: each unseen word costs what one of that many words gets. At order 5 110 to 170 bytes a token are
    needed at the peak; for more text than memory there is ``estimate_on_disk``. Raises ``UserError`` for text without
    words and for thresholds that are not of the kind 0 <= t2 <= t3 ...
    """
    thresholds = pruning_thresholds(prune, order)
    if len(sentences.values) == 0:
        raise UserError("language model: the text has no words; check the files it is built from")
    counts = list(count_ngrams(with_boundaries(sentences), order))
    seen = len(counts[0]) - 1 + (counts[0].word[0] != UNK)  # <unk> always counts as a word, <s> never
    discounts = np.zeros((order, 3))
    words, prob = np.zeros((1, 0), dtype=np.int32), np.array([1 / max(seen, vocabulary_size or 0)])
    kept = np.array([True])
    tables: list[NgramTable] = []
    for n, ngrams in enumerate(counts, start=1):
        before = np.bincount(counts[n].suffix, minlength=len(ngrams)) if n < order else None
        adjusted = adjusted_counts(ngrams, before)
        discounts[n - 1] = closed_form_discounts(counts_of_counts(adjusted), n)
        taken = ngrams.count > thresholds[n - 1]
        discounted, backoff = discount(ngrams.context, adjusted, discounts[n - 1], taken, len(words))
        tables.append(
            ngram_table(words, prob, backoff, kept)
        )  # of the order below, whose back-off weights are known now
        prob = discounted + backoff[ngrams.context] * prob[ngrams.suffix]
        words = np.column_stack([words[ngrams.context], ngrams.word])
        kept = taken
    tables.append(ngram_table(words, prob, np.ones(len(words)), kept))
    empty, unigrams, *longer = tables
    return Estimate([with_special_words(unigrams, empty), *longer], discounts)
