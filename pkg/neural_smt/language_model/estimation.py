"""Interpolated modified Kneser-Ney estimation (Chen and Goodman 1998, section 3), with the choices of KenLM's lmplz.

Those choices (Heafield et al. 2013): the count of an n-gram below the highest order is the number of distinct words
before it, but its plain count where it begins with ``<s>``; unigrams are interpolated with a uniform distribution, so
``<unk>`` gets what the discounts set free; pruning looks at plain counts, while discounts, denominators and the
counts of shorter n-grams are those of the unpruned text.

Text is estimated in memory where it fits, from sorted columns on disk otherwise, with the same n-grams to the last bit.
The first is there for its speed: 29,000 sentences take 0.42 CPU seconds in memory, and 0.63 on disk in a single block;
1,000 sentences take three times as long on disk.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.ragged import Ragged
from neural_smt.language_model.columns import Column, blocks, count_values, take
from neural_smt.language_model.counting import CountsOnDisk, count_ngrams, count_ngrams_on_disk, with_boundaries
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

_UNITS = {"b": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,15})?)([%bKMGT])")

_BYTES_A_TOKEN = 34
"""Of each order, at the peak of estimation in memory (measured at order 5: 170 bytes, 107 for text eight times as long,
whose n-grams repeat themselves)."""

_BYTES_A_ROW = 160
"""Of each position or n-gram of a block, at the peak of estimation on disk (measured: 130 bytes)."""

_SMALLEST_BLOCK = 1 << 16


def parse_memory(size: str) -> int:
    """Bytes of a size as lmplz takes it: a number and b, K, M, G, T, or % of the machine's memory (``UserError``)."""
    match = _SIZE.fullmatch(size)
    if match is None:
        raise UserError(f"language_model.memory is {size!r}; give a number and one of b, K, M, G, T and %, such as 4G")
    unit = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 100 if match[2] == "%" else _UNITS[match[2]]
    return int(float(match[1]) * unit)


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
            return estimate_on_disk(chain(held, parts), order, prune, vocabulary_size, folder=folder, block=block)
    return estimate(Ragged.concatenate(held), order, prune, vocabulary_size)


def estimate(sentences: Ragged, order: int, prune: Sequence[int] = (), vocabulary_size: int | None = None) -> Estimate:
    """Estimate a model of sentences of word ids (without boundaries).

    prune: an n-gram seen no more often than its order's threshold is left out; the last threshold holds for all
    higher orders, as with lmplz. vocabulary_size: how many words (with ``<unk>`` and ``</s>``, without ``<s>``) share
    the uniform distribution; by default those seen and ``<unk>``. Models with the same number give comparable
    perplexities: each unseen word costs what one of that many words gets. At order 5 110 to 170 bytes a token are
    needed at the peak; for more text than memory there is
    ``estimate_on_disk``. Raises ``UserError`` for text without
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


def estimate_on_disk(
    sentences: Iterable[Ragged],
    order: int,
    prune: Sequence[int] = (),
    vocabulary_size: int | None = None,
    *,
    folder: Path,
    block: int,
) -> Estimate:
    """What ``estimate`` says of the same sentences, with about ``block`` positions or n-grams in memory at a time.

    sentences: the text in parts (see ``estimate`` for them and for the settings); folder: an existing folder with
    room for about ``12 * order + 60`` bytes a token and for the tables, which stay there and are mapped into memory: it
    must be kept as long as they are used. Beside the blocks, memory holds some numbers for every word. Raises
    ``UserError`` as ``estimate`` does, and for more than 2^31 - 1 distinct n-grams of an order.
    """
    thresholds = pruning_thresholds(prune, order)
    tokens = _write_tokens(sentences, folder)
    counts = list(count_ngrams_on_disk(tokens, order, folder, block))
    tokens.remove()
    discounts = np.zeros((order, 3))
    tables: list[NgramTable] = []
    shorter: _Estimated | None = None
    for n, ngrams in enumerate(counts, start=1):
        followers = counts[n] if n < order else None
        adjusted, number = _adjust(ngrams, followers, Column(folder / f"adjusted{n}", np.int64), block)
        discounts[n - 1] = closed_form_discounts(number, n)
        step = _Step(discounts[n - 1], thresholds[n - 1], block)
        if shorter is None:
            empty, shorter = step.first(ngrams, adjusted, vocabulary_size)
        else:
            table, shorter = step.longer(shorter, ngrams, adjusted, _Table(n - 1, folder), _Estimated.empty(n, folder))
            tables.append(table)
        adjusted.remove()
        ngrams.remove()
    tables.append(_highest(shorter, _Table(order, folder), block))
    unigrams, *longer = tables
    return Estimate([with_special_words(unigrams, empty), *longer], discounts)


@dataclass
class _Estimated:
    """All n-grams of one order: words int32 ``[rows, order]``, prob float64 ``[rows]``, kept bool ``[rows]``."""

    words: Column | np.ndarray
    prob: Column | np.ndarray
    kept: Column | np.ndarray

    @classmethod
    def empty(cls, order: int, folder: Path) -> "_Estimated":
        words, prob, kept = (folder / f"{name}{order}" for name in ("words", "prob", "kept"))
        return cls(Column(words, np.int32, order), Column(prob, np.float64), Column(kept, np.bool_))

    def __len__(self) -> int:
        return len(self.prob)

    def append(self, words: np.ndarray, prob: np.ndarray, kept: np.ndarray) -> None:
        self.words.append(words)
        self.prob.append(prob)
        self.kept.append(kept)

    def part(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.words[start:stop], self.prob[start:stop], self.kept[start:stop]

    def remove(self) -> None:
        """Delete the files of an order that is in files."""
        for column in (self.words, self.prob, self.kept):
            if isinstance(column, Column):
                column.remove()


class _Table:
    """An ``NgramTable`` written slice by slice."""

    def __init__(self, order: int, folder: Path):
        self._words = Column(folder / f"table{order}.words", np.int32, order)
        self._values = [Column(folder / f"table{order}.{name}", np.float32) for name in ("log10_prob", "backoff")]

    def append(self, part: NgramTable) -> None:
        self._words.append(part.words)
        for column, values in zip(self._values, (part.log10_prob, part.backoff), strict=True):
            column.append(values)

    def mapped(self) -> NgramTable:
        return NgramTable(self._words.mapped(), *(column.mapped() for column in self._values))


@dataclass(frozen=True)
class _Step:
    """From the probabilities of one order to those of the next, and to the back-off weights of the former.

    discounts: float64 ``[3]``; threshold: the largest count that is pruned; both of the next order.
    """

    discounts: np.ndarray
    threshold: int
    block: int

    def first(
        self, ngrams: CountsOnDisk, adjusted: Column, vocabulary_size: int | None
    ) -> tuple[NgramTable, _Estimated]:
        """The table of the empty n-gram and the unigrams, which are taken to fit into memory."""
        part = ngrams.part(0, len(ngrams))
        seen = len(part) - 1 + (part.word[0] != UNK)  # <unk> always counts as a word, <s> never
        uniform = np.array([1 / max(seen, vocabulary_size or 0)])
        taken = part.count > self.threshold
        discounted, backoff = discount(part.context, adjusted[:], self.discounts, taken, 1)
        empty = ngram_table(np.zeros((1, 0), dtype=np.int32), uniform, backoff, np.array([True]))
        prob = discounted + backoff[part.context] * uniform[part.suffix]
        return empty, _Estimated(part.word[:, None], prob, taken)

    def longer(
        self, shorter: _Estimated, ngrams: CountsOnDisk, adjusted: Column, table: _Table, estimated: _Estimated
    ) -> tuple[NgramTable, _Estimated]:
        """Fill the table of the order below and the estimates of this one, some whole contexts at a time."""
        done = 0  # contexts whose back-off weights are known
        for start, stop in _whole_contexts(ngrams.context, self.block):
            part = ngrams.part(start, stop)
            last = len(shorter) if stop == len(ngrams) else int(part.context[-1]) + 1
            words, prob, kept = shorter.part(done, last)
            context = part.context - done
            taken = part.count > self.threshold
            discounted, backoff = discount(context, adjusted[start:stop], self.discounts, taken, last - done)
            table.append(ngram_table(words, prob, backoff, kept))
            prob = discounted + backoff[context] * take(shorter.prob, part.suffix, self.block)
            estimated.append(np.column_stack([words[context], part.word]), prob, taken)
            done = last
        shorter.remove()
        return table.mapped(), estimated


def _write_tokens(sentences: Iterable[Ragged], folder: Path) -> Column:
    """The text with its boundaries, see ``with_boundaries``."""
    tokens, words = Column(folder / "tokens", np.int32), 0
    for part in sentences:
        words += len(part.values)
        tokens.append(with_boundaries(part))
    if words == 0:
        raise UserError("language model: the text has no words; check the files it is built from")
    return tokens


def _adjust(
    ngrams: CountsOnDisk, longer: CountsOnDisk | None, adjusted: Column, block: int
) -> tuple[Column, np.ndarray]:
    """The adjusted counts of an order, and how many there are of each (see ``counts_of_counts``)."""
    number = np.zeros(6, dtype=np.int64)
    for start, stop in blocks(len(ngrams), block):
        before = None if longer is None else count_values(longer.suffix, start, stop, block)
        part = adjusted_counts(ngrams.part(start, stop), before)
        number += counts_of_counts(part)
        adjusted.append(part)
    return adjusted, number


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


def _highest(estimated: _Estimated, table: _Table, block: int) -> NgramTable:
    """The table of the highest order, whose n-grams are no contexts."""
    for start, stop in blocks(len(estimated), block):
        words, prob, kept = estimated.part(start, stop)
        table.append(ngram_table(words, prob, np.ones(len(words)), kept))
    estimated.remove()
    return table.mapped()
