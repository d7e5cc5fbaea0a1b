"""Counting n-grams by sorting: every order's n-grams come out sorted, with links to their contexts and suffixes.

The text and its n-grams stand in columns, in memory or, where a text does not fit there, in files. They are worked
through in blocks, by a distribution sort: how often each context stands is known from the order below, so the positions
of the text are split into buckets of consecutive contexts that fit into memory, and what is sorted in each follows the
one before. A text in memory is a single block.
"""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from neural_smt.errors import UserError, required
from neural_smt.io.ragged import Ragged
from neural_smt.vocabulary import BOS, EOS, UNK

_LARGEST = np.iinfo(np.int32).max


class Column:
    """An array that grows at its end, and whose rows can be written anew: in memory, or in a file that is mapped.

    In memory the first rows appended are taken as they are: where one block holds all, nothing is copied. Whoever
    appends rows leaves them as they are.
    folder: where a file of this name is made, or None for an array in memory; kind: of a row, such as ``np.int32`` or
    ``(np.int32, (5,))``; length: rows of zeros to begin with.
    """

    def __init__(self, folder: Path | None, name: str, kind: DTypeLike, length: int = 0):
        self.path = None if folder is None else folder / name
        self.dtype, self._kind, self._length = np.dtype(kind).base, np.dtype(kind), length
        self._memory = np.zeros((length if folder is None else 0, *self._kind.shape), dtype=self.dtype)
        if self.path is not None:
            with open(self.path, "wb") as stream:
                stream.truncate(length * self._kind.itemsize)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, rows: slice) -> np.ndarray:
        """A view of rows. Of a file, those that are looked at are in memory as long as the view is there, and what is
        written to the view stays in memory.
        """
        if self.path is None:
            return self._memory[rows]
        if self._length * self._kind.itemsize == 0:
            return np.zeros((self._length, *self._kind.shape), dtype=self.dtype)[rows]
        return np.asarray(np.memmap(self.path, self._kind, "c", shape=self._length)[rows])

    def write(self, start: int, rows: np.ndarray) -> None:
        """Write rows of a file from ``start`` on, over those that are there."""
        with open(required(self.path), "r+b") as stream:
            stream.seek(start * self._kind.itemsize)
            stream.write(np.ascontiguousarray(rows, dtype=self.dtype).data)

    def append(self, rows: np.ndarray) -> None:
        """Write rows after the last one."""
        if self.path is None:
            grown = np.concatenate([self._memory, rows]) if self._length else rows
            self._memory = np.asarray(grown, dtype=self.dtype)
        else:
            self.write(self._length, rows)
        self._length += len(rows)

    def remove(self) -> None:
        """Delete the file, or what is in memory."""
        self._memory = self._memory[:0].copy()
        if self.path is not None:
            self.path.unlink()


class Columns:
    """Columns of one length by name, in files ``<prefix>.<name>`` of a folder, or without one in memory."""

    def __init__(self, folder: Path | None, prefix: str, **kinds: DTypeLike):
        self._columns = {name: Column(folder, f"{prefix}.{name}", kind) for name, kind in kinds.items()}

    def __len__(self) -> int:
        return min(map(len, self._columns.values()))

    def __getitem__(self, name: str) -> Column:
        return self._columns[name]

    def append(self, *values: np.ndarray) -> None:
        """Write rows of every column after the last ones."""
        for column, rows in zip(self._columns.values(), values, strict=True):
            column.append(rows)

    def part(self, start: int = 0, stop: int | None = None) -> list[np.ndarray]:
        """The rows from ``start`` up to ``stop`` of each column, see ``Column``."""
        return [column[start:stop] for column in self._columns.values()]

    def remove(self) -> None:
        """Delete all columns."""
        for column in self._columns.values():
            column.remove()


def blocks(length: int, block: int) -> Iterator[tuple[int, int]]:
    """Cut 0 to ``length`` into ranges (start, stop) of ``block``."""
    for start in range(0, length, block):
        yield start, min(start + block, length)


def take(values: Column, rows: np.ndarray, block: int) -> np.ndarray:
    """``values[rows]`` of any rows (int ``[n]``), with no more than ``block`` of the values in memory at a time."""
    if len(values) <= block:
        return values[:][rows]
    taken = np.empty(len(rows), dtype=values.dtype)
    for start, stop in blocks(len(values), block):
        inside = np.flatnonzero((rows >= start) & (rows < stop))
        if len(inside):
            taken[inside] = values[start:stop][rows[inside] - start]
    return taken


def take_rising(values: Column, rows: np.ndarray, block: int) -> np.ndarray:
    """``values[rows]`` of rows that never fall (int64 ``[n]``): reads only the blocks they lie in."""
    if len(values) <= block:
        return values[:][rows]
    taken = np.empty(len(rows), dtype=values.dtype)
    for start, stop, first, last in _windows(rows, block):
        taken[first:last] = values[start:stop][rows[first:last] - start]
    return taken


def put_rising(values: Column, rows: np.ndarray, new: np.ndarray, block: int) -> None:
    """``values[rows] = new`` for rows that rise (int64 ``[n]``)."""
    if values.path is None:
        values[:][rows] = new
        return
    for start, stop, first, last in _windows(rows, block):
        part = values[start:stop]
        part[rows[first:last] - start] = new[first:last]
        values.write(start, part)


def _windows(rows: np.ndarray, block: int) -> Iterator[tuple[int, int, int, int]]:
    """Ranges (start, stop) of at most ``block`` values in which the rows from ``first`` up to ``last`` lie."""
    first = 0
    while first < len(rows):
        start = int(rows[first])
        last = int(np.searchsorted(rows, start + block))
        yield start, int(rows[last - 1]) + 1, first, last
        first = last


def count_values(values: Column, start: int, stop: int, block: int) -> np.ndarray:
    """int64 ``[stop - start]``: how often each number from ``start`` up to ``stop`` stands in an integer column."""
    if len(values) <= block:
        return np.bincount(values[:], minlength=stop)[start:stop]
    counts = np.zeros(stop - start, dtype=np.int64)
    for first, last in blocks(len(values), block):
        part = values[first:last]
        counts += np.bincount(part[(part >= start) & (part < stop)] - start, minlength=stop - start)
    return counts


def _no_counts(order: int, folder: Path | None) -> Columns:
    """Columns of distinct n-grams of one order, sorted by words (context first).

    context, suffix: int32 ``[rows]``, rows of the order below that hold all words but the last, and all but the first
    (0 for unigrams); word: int32 ``[rows]``, the last word; count: int64 ``[rows]``, occurrences;
    begins: bool ``[rows]``, whether the first word is ``<s>``.
    """
    kinds = {"context": np.int32, "suffix": np.int32, "word": np.int32, "count": np.int64, "begins": np.bool_}
    return Columns(folder, f"counts{order}", **kinds)


def with_boundaries(sentences: Ragged) -> np.ndarray:
    """int32: the sentences end to end, each as ``<s> w1 ... wn </s>``. ``<s>`` and ``</s>`` inside become ``UNK``."""
    lengths = sentences.lengths
    starts = sentences.offsets[:-1] + 2 * np.arange(len(sentences))
    tokens = np.empty(len(sentences.values) + 2 * len(sentences), dtype=np.int32)
    inside = np.ones(len(tokens), dtype=np.bool_)
    inside[starts] = inside[starts + lengths + 1] = False
    values = sentences.values
    tokens[inside] = np.where((values == BOS) | (values == EOS), UNK, values)
    tokens[starts] = BOS
    tokens[starts + lengths + 1] = EOS
    return tokens


def count_ngrams(tokens: Column, order: int, folder: Path | None, block: int) -> Iterator[Columns]:
    """Yield the counts (see ``_no_counts``) of orders 1 to ``order`` of ``with_boundaries``' tokens.

    No n-gram crosses a sentence's start. An n-gram is the pair (row of its context, last word), one int64, and a sort
    finds the distinct ones. Each position of the text is followed through the orders by the row of the n-gram that ends
    there. folder: for the columns, None for memory; block: so many positions are worked on at a time, about. Raises
    ``UserError`` when an order has more distinct n-grams than 2^31 - 1.
    """
    counts, rows = _count_words(tokens, folder, block)
    yield counts
    for n in range(2, order + 1):
        first = _first_contexts(counts["count"], block) if len(tokens) > block else np.zeros(1, dtype=np.int64)
        buckets = _split(tokens, rows, n, first, folder, block)
        longer = _Growing(n, tokens, rows, counts, folder, block)
        for bucket in buckets:
            if len(bucket) > 2 * block:
                longer.add_context(bucket)
            elif len(bucket):
                longer.add(bucket[:])
            bucket.remove()
        rows.remove()
        counts, rows = longer.counts, longer.following
        yield counts
    rows.remove()


def _count_words(tokens: Column, folder: Path | None, block: int) -> tuple[Columns, Column]:
    """The unigrams, and for each position of the text the row of the unigram there."""
    total = np.zeros(0, dtype=np.int64)
    for start, stop in blocks(len(tokens), block):
        more = np.bincount(tokens[start:stop], minlength=len(total))
        more[: len(total)] += total
        total = more
    word = np.flatnonzero(total).astype(np.int32)
    zeros = np.zeros(len(word), dtype=np.int32)
    counts, rows = _no_counts(1, folder), Column(folder, "rows1", np.int32)
    counts.append(zeros, zeros, word, total[word], word == BOS)
    row_of = np.cumsum(total > 0) - 1
    for start, stop in blocks(len(tokens), block):
        rows.append(row_of[tokens[start:stop]])
    return counts, rows


def _first_contexts(count: Column, block: int) -> np.ndarray:
    """int64: the contexts that buckets begin with, so that none has more than two blocks but of a single context."""
    first, before, number, large = [np.zeros(1, dtype=np.int64)], 0, 0, False
    for start, stop in blocks(len(count), block):
        part = count[start:stop]
        ahead = before + np.cumsum(part) - part
        alone = np.concatenate([[large], part > block])
        new = (np.diff(ahead // block, prepend=number) > 0) | alone[1:] | alone[:-1]
        first.append(start + np.flatnonzero(new))
        before, number, large = before + int(part.sum()), int(ahead[-1]) // block, bool(alone[-1])
    return np.unique(np.concatenate(first))


def _split(tokens: Column, rows: Column, n: int, first: np.ndarray, folder: Path | None, block: int) -> list[Column]:
    """Positions at which an n-gram ends, rising, in one column for each range of contexts."""
    buckets = [Column(folder, f"bucket{number}", np.int64) for number in range(len(first))]
    begin, ahead = 0, np.zeros(1, dtype=np.int32)  # where the sentence starts, and the row before the block
    for start, stop in blocks(len(tokens), block):
        position = np.arange(start, stop)
        begins = np.maximum.accumulate(np.where(tokens[start:stop] == BOS, position, begin))
        begin = int(begins[-1])
        ends = np.flatnonzero(position - begins >= n - 1)
        if len(buckets) == 1:
            buckets[0].append(start + ends)
            continue
        context = np.concatenate([ahead, rows[start:stop]])
        ahead = context[-1:]
        bucket = np.searchsorted(first, context[ends], side="right") - 1
        by_bucket = np.argsort(bucket, kind="stable")
        bounds = np.flatnonzero(np.diff(bucket[by_bucket], prepend=-1, append=-1))
        for low, high in pairwise(bounds):
            buckets[bucket[by_bucket[low]]].append(position[ends[by_bucket[low:high]]])
    return buckets


class _Growing:
    """The n-grams of one order, bucket by bucket; following: at each position the row of the n-gram ending there."""

    def __init__(self, order: int, tokens: Column, rows: Column, shorter: Columns, folder: Path | None, block: int):
        self.counts = _no_counts(order, folder)
        self.following = Column(folder, f"rows{order}", np.int32, length=len(tokens))
        self._order, self._tokens, self._rows, self._shorter, self._block = order, tokens, rows, shorter, block

    def add(self, ends: np.ndarray) -> None:
        """Count the n-grams that end at these positions, by sorting."""
        keys = take_rising(self._rows, ends - 1, self._block).astype(np.int64) << 32
        keys |= take_rising(self._tokens, ends, self._block)
        by_key = np.argsort(keys)
        keys = keys[by_key]
        first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
        count = np.diff(first, append=len(keys))
        keys = keys[first]  # each once
        context, word = (keys >> 32).astype(np.int32), keys.astype(np.int32)
        row = np.empty(len(ends), dtype=np.int32)
        row[by_key] = np.repeat(self._next_rows(len(first)), count)
        of_first = by_key[first]
        suffix = take_rising(self._rows, ends, self._block)[of_first]
        self._extend(context, suffix, word, count)
        put_rising(self.following, ends, row, self._block)

    def add_context(self, bucket: Column) -> None:
        """Count the n-grams of one context that stands more often than a block has room for, by its words."""
        context = int(take_rising(self._rows, bucket[:1] - 1, 1)[0])
        total, suffix = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32)
        for start, stop in blocks(len(bucket), self._block):
            ends = bucket[start:stop]
            words = take_rising(self._tokens, ends, self._block)
            longest = max(len(total), int(words.max()) + 1)
            total, suffix = np.pad(total, (0, longest - len(total))), np.pad(suffix, (0, longest - len(suffix)))
            total += np.bincount(words, minlength=longest)
            suffix[words] = take_rising(self._rows, ends, self._block)
        word, row_of = np.flatnonzero(total).astype(np.int32), np.zeros(len(total), dtype=np.int32)
        row_of[word] = self._next_rows(len(word))
        self._extend(np.full(len(word), context, dtype=np.int32), suffix[word], word, total[word])
        for start, stop in blocks(len(bucket), self._block):
            ends = bucket[start:stop]
            put_rising(self.following, ends, row_of[take_rising(self._tokens, ends, self._block)], self._block)

    def _next_rows(self, number: int) -> np.ndarray:
        """int32: the rows that the next n-grams get."""
        if len(self.counts) + number > _LARGEST:
            found = f"more than {_LARGEST} distinct {self._order}-grams"
            raise UserError(f"language model: the text has {found}; give less text or a lower order")
        return np.arange(len(self.counts), len(self.counts) + number, dtype=np.int32)

    def _extend(self, context: np.ndarray, suffix: np.ndarray, word: np.ndarray, count: np.ndarray) -> None:
        low = int(context[0])
        begins = self._shorter["begins"][low : int(context[-1]) + 1][context - low]
        self.counts.append(context, suffix, word, count, begins)
