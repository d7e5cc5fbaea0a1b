"""Interpolated modified Kneser-Ney estimation (Chen and Goodman 1998, section 3), with the choices of KenLM's lmplz.

Those choices (Heafield et al. 2013): the count of an n-gram below the highest order is the number of distinct words
before it, but its plain count where it begins with ``<s>``; unigrams are interpolated with a uniform distribution, so
``<unk>`` gets what the discounts set free; pruning looks at plain counts, while discounts, denominators and the
counts of shorter n-grams are those of the unpruned text.

Text is estimated in one block in memory where it fits, from sorted columns in files otherwise, with the same n-grams to
the last bit. Memory is used for its speed: in files 430,000 tokens of order 5 take 1.2 times as long, and 15,000 tokens
2.4 times. The formulas (at the end) look at slices that hold whole contexts, in which all sums run.
"""

import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.ragged import Ragged
from neural_smt.language_model import counting
from neural_smt.language_model.counting import Column, Columns, blocks
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


_UNITS = {"b": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}

_BYTES_A_TOKEN = 34
"""Of each order, at the peak of estimation in memory (measured at order 5: 170 bytes, 107 for text eight times as long,
whose n-grams repeat themselves)."""

_BYTES_A_ROW = 160
"""Of each position or n-gram of a block, at the peak of estimation on disk (measured: 130 bytes)."""

_SMALLEST_BLOCK = 1 << 16

_ONE_BLOCK = 1 << 62
"""More than any text has."""


def parse_memory(size: str) -> int:
    """Bytes of a size as lmplz takes it: a number and b, K, M, G, T, or % of the machine's memory."""
    unit = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 100 if size[-1] == "%" else _UNITS[size[-1]]
    return int(float(size[:-1]) * unit)


def estimate_within(
    sentences: Iterable[Ragged],
    order: int,
    prune: Sequence[int],
    memory: int,
    folder: Path,
    vocabulary_size: int | None = None,
) -> Estimate:
    """Estimate a model of sentences that come in parts, with about ``memory`` bytes of working memory.

    prune, vocabulary_size: as for ``estimate``. The n-grams are those of ``estimate`` either way. Text that would need
    more is worked through on disk, in ``folder``, which must be kept as long as the tables are used. What each word of
    the vocabulary and the reading of one part take is not counted, and no less than about 10 MB are used.
    """
    parts, held, tokens = iter(sentences), [Ragged.from_lists([])], 0
    for part in parts:
        held.append(part)
        tokens += len(part.values) + 2 * len(part)
        if tokens * _BYTES_A_TOKEN * order > memory:
            block = max(_SMALLEST_BLOCK, memory // _BYTES_A_ROW)
            return estimate_in_blocks(chain(held, parts), order, prune, vocabulary_size, folder=folder, block=block)
    return estimate(Ragged.concatenate(held), order, prune, vocabulary_size)


def estimate(sentences: Ragged, order: int, prune: Sequence[int] = (), vocabulary_size: int | None = None) -> Estimate:
    """Estimate a model of sentences of word ids (without boundaries), in memory.

    prune: an n-gram seen no more often than its order's threshold is left out; the last threshold holds for all
    higher orders, as with lmplz. vocabulary_size: how many words (with ``<unk>`` and ``</s>``, without ``<s>``) share
    the uniform distribution; by default those seen and ``<unk>``. Models with the same number give comparable
    perplexities: each unseen word costs what one of that many words gets. At order 5 110 to 170 bytes a token are
    needed at the peak; ``estimate_in_blocks`` is for more text than memory. Raises ``UserError`` for text without
    words and for thresholds that are not of the kind 0 <= t2 <= t3 ...
    """
    return estimate_in_blocks([sentences], order, prune, vocabulary_size, folder=None, block=_ONE_BLOCK)


def estimate_in_blocks(
    sentences: Iterable[Ragged],
    order: int,
    prune: Sequence[int] = (),
    vocabulary_size: int | None = None,
    *,
    folder: Path | None,
    block: int,
) -> Estimate:
    """What ``estimate`` says of the same sentences, with about ``block`` positions or n-grams in memory at a time.

    sentences: the text in parts (see ``estimate`` for them and for the settings); folder: an existing folder with
    room for about ``12 * order + 60`` bytes a token and for the tables, which stay there and are mapped into memory: it
    must be kept as long as they are used. Without one all is in memory. Beside the blocks, memory holds some numbers
    for every word. Raises ``UserError`` as ``estimate`` does, and for more than 2^31 - 1 distinct n-grams of an order.
    """
    thresholds = pruning_thresholds(prune, order)
    tokens = _write_tokens(sentences, folder)
    counts = list(counting.count_ngrams(tokens, order, folder, block))
    tokens.remove()
    seen = len(counts[0]) - 1 + (counts[0]["word"][:1] != UNK)  # <unk> always counts as a word, <s> never
    shorter = _no_estimates(0, folder)
    shorter.append(np.zeros((1, 0)), 1 / np.maximum(seen, vocabulary_size or 0), np.ones(1))
    discounts = np.zeros((order, 3))
    tables: list[NgramTable] = []
    for n, threshold in enumerate(thresholds, start=1):
        discounts[n - 1], table, shorter = _estimate_order(n, counts[n - 1 : n + 1], shorter, threshold, folder, block)
        tables.append(table)
    highest = _no_table(order, folder)
    for start, stop in blocks(len(shorter), block):  # n-grams of the highest order are no contexts
        words, prob, kept = shorter.part(start, stop)
        highest.append(*ngram_values(words, prob, np.ones(len(words)), kept))
    shorter.remove()
    empty, unigrams, *longer = [*tables, NgramTable(*highest.part())]
    unigrams.log10_prob[unigrams.words[:, 0] == BOS] = 0  # p(<s>) = 1
    unseen = (empty.log10_prob + empty.backoff).item()  # an unseen <unk> costs backing off to the uniform distribution
    return Estimate([unigrams.with_unknown(unseen), *longer], discounts)


def _estimate_order(
    n: int, counts: Sequence[Columns], shorter: Columns, threshold: int, folder: Path | None, block: int
) -> tuple[np.ndarray, NgramTable, Columns]:
    """The discounts of order ``n``, the table of the order below, whose back-off weights follow, and the estimates.

    counts: of this order and of the next, if there is one; shorter: the estimates of the order below. The columns of
    this order and ``shorter`` are removed; a view of them would keep their room.
    """
    ngrams, adjusted = counts[0], Column(folder, "adjusted", np.int64)
    discounts = closed_form_discounts(_adjust(ngrams, counts[1:], adjusted, block), n)
    table, estimates = _no_table(n - 1, folder), _no_estimates(n, folder)
    done = 0  # contexts whose back-off weights are known
    for start, stop in _whole_contexts(ngrams["context"], block):
        context, suffix, word, count, _ = ngrams.part(start, stop)
        last = len(shorter) if stop == len(ngrams) else int(context[-1]) + 1
        words, prob, kept = shorter.part(done, last)
        context, taken = context - done, count > threshold
        discounted, backoff = discount(context, adjusted[start:stop], discounts, taken, last - done)
        table.append(*ngram_values(words, prob, backoff, kept))
        prob = discounted + backoff[context] * counting.take(shorter["prob"], suffix, block)
        estimates.append(np.column_stack([words[context], word]), prob, taken)
        done = last
    for finished in (shorter, adjusted, ngrams):
        finished.remove()
    return discounts, NgramTable(*table.part()), estimates


def _no_estimates(order: int, folder: Path | None) -> Columns:
    """All n-grams of one order: words int32 ``[rows, order]``, prob float64 ``[rows]``, kept bool ``[rows]``."""
    return Columns(folder, f"estimates{order}", words=(np.int32, (order,)), prob=np.float64, kept=np.bool_)


def _no_table(order: int, folder: Path | None) -> Columns:
    """The columns of an ``NgramTable``."""
    return Columns(folder, f"table{order}", words=(np.int32, (order,)), log10_prob=np.float32, backoff=np.float32)


def _write_tokens(sentences: Iterable[Ragged], folder: Path | None) -> Column:
    """The text with its boundaries, see ``with_boundaries``."""
    tokens, words = Column(folder, "tokens", np.int32), 0
    for part in sentences:
        words += len(part.values)
        tokens.append(counting.with_boundaries(part))
    if words == 0:
        raise UserError("language model: the text has no words; check the files it is built from")
    return tokens


def _adjust(ngrams: Columns, longer: Sequence[Columns], adjusted: Column, block: int) -> np.ndarray:
    """Write the adjusted counts of an order: the number of distinct words before each n-gram, or its count at the
    highest order and after ``<s>``.

    longer: the n-grams of the next order, none at the highest. Returns int64 ``[6]``: how many n-grams have an adjusted
    count of 0, 1, 2, 3, 4, and of more.
    """
    number = np.zeros(6, dtype=np.int64)
    for start, stop in blocks(len(ngrams), block):
        _, _, word, count, begins = ngrams.part(start, stop)
        before = counting.count_values(longer[0]["suffix"], start, stop, block) if longer else count
        part = np.where(begins, count, before)
        part[begins & (word == BOS)] = 0  # the unigram <s> is never predicted
        number += np.bincount(np.minimum(part, 5), minlength=6)
        adjusted.append(part)
    return number


def _whole_contexts(context: Column, block: int) -> Iterator[tuple[int, int]]:
    """Ranges of about ``block`` rows that end where a context ends; one empty range where there are no rows."""
    start = 0
    while True:
        stop = min(start + block, len(context))
        while 0 < stop < len(context):
            more = context[stop - 1 : stop + block]
            stop += int(np.searchsorted(more, more[0], side="right")) - 1
            if more[-1] != more[0]:
                break
        yield start, stop
        start = stop
        if start == len(context):
            return


def pruning_thresholds(prune: Sequence[int], order: int) -> list[int]:
    """One pruning threshold per order."""
    given = list(prune) or [0]
    if given[0] != 0 or given != sorted(given) or len(given) > order:
        wanted = f"start with 0, never fall, and have at most {order} numbers"
        raise UserError(f"language model: prune {given} must {wanted}; correct the setting")
    return given + [given[-1]] * (order - len(given))


def closed_form_discounts(counts: np.ndarray, order: int) -> np.ndarray:
    """float64 ``[3]``: D1, D2, D3+ (Chen and Goodman 1998, equation 26), or the fallback where that is not possible.

    counts: int64 ``[6]``, how many n-grams of the order have an adjusted count of 0, 1, 2, ...
    """
    n = counts.astype(np.float64)
    if (n[1:4] > 0).all():
        j = np.arange(1, 4)
        discounts = j - (j + 1) * n[1] / (n[1] + 2 * n[2]) * n[2:5] / n[1:4]
        if ((discounts >= 0) & (discounts <= j)).all():
            return discounts
    fault = "too few n-grams seen once, twice or three times for Kneser-Ney discounts"
    logger.warning("order %d: %s; using %s", order, fault, FALLBACK_DISCOUNTS)
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


def ngram_values(words: np.ndarray, prob: np.ndarray, backoff: np.ndarray, kept: np.ndarray) -> list[np.ndarray]:
    """The n-grams kept, with log10 of their probabilities and of their back-off weights (float64 ``[rows]`` each)."""
    return [words[kept], *(np.log10(np.maximum(values[kept], _SMALLEST)) for values in (prob, backoff))]
