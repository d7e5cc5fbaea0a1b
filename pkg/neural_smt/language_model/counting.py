"""Counting n-grams by sorting: every order's n-grams come out sorted, with links to their contexts and suffixes.

A text that does not fit into memory is counted in columns on disk, by a distribution sort: how often each context
stands is known from the order below, so the positions of the text are split into files of consecutive contexts that fit
into memory, and what is sorted in each follows the one before.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.ragged import Ragged
from neural_smt.language_model.columns import Column, blocks, put_rising, take_rising
from neural_smt.vocabulary import BOS, EOS, UNK

_LARGEST = np.iinfo(np.int32).max


@dataclass(frozen=True)
class NgramCounts:
    """The distinct n-grams of one order, sorted by words (context first).

    context, suffix: int32 ``[rows]``, rows of the order below that hold all words but the last, and all but the first
    (0 for unigrams); word: int32 ``[rows]``, the last word; count: int64 ``[rows]``, occurrences;
    begins: bool ``[rows]``, whether the first word is ``<s>``. Counted on disk, each is a ``Column`` of these.
    """

    context: np.ndarray
    suffix: np.ndarray
    word: np.ndarray
    count: np.ndarray
    begins: np.ndarray

    def __len__(self) -> int:
        return len(self.word)

    def part(self, start: int, stop: int) -> "NgramCounts":
        """The rows from ``start`` up to ``stop``, in memory."""
        return NgramCounts(*(getattr(self, field.name)[start:stop] for field in fields(self)))


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


def count_ngrams(tokens: np.ndarray, order: int) -> Iterator[NgramCounts]:
    """Yield the counts of orders 1 to ``order`` of ``with_boundaries``' tokens; no n-gram crosses a sentence's start.

    An n-gram is the pair (row of its context, last word), one int64, and a sort finds the distinct ones. Each
    position of the text is followed through the orders by the row of the n-gram that ends there.
    """
    starts = np.flatnonzero(tokens == BOS)
    depth = np.arange(len(tokens)) - np.repeat(starts, np.diff(starts, append=len(tokens)))
    row = np.zeros(len(tokens), dtype=np.int32)
    begins = np.array([False])
    for n in range(1, order + 1):
        ends = np.flatnonzero(depth >= n - 1)  # where an n-gram ends
        keys = tokens[ends].astype(np.int64)
        if n > 1:
            keys |= row[ends - 1].astype(np.int64) << 32
        by_key, first, count, context, word = group_keys(keys)
        suffix = row[ends[by_key[first]]]
        begins = begins[context] if n > 1 else word == BOS
        yield NgramCounts(context, suffix, word, count, begins)
        row[ends[by_key]] = np.repeat(np.arange(len(first), dtype=np.int32), count)


def group_keys(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Sort keys (int64, row of the context << 32 | last word) and find the distinct ones.

    Returns the order of the keys (int64), where in it each distinct key begins (int64), how often it stands
    (int64), and its two halves (int32).
    """
    by_key = np.argsort(keys)
    keys = keys[by_key]
    first = np.flatnonzero(np.concatenate([np.ones(min(1, len(keys)), np.bool_), keys[1:] != keys[:-1]]))
    count = np.diff(first, append=len(keys))
    distinct = keys[first]
    return by_key, first, count, (distinct >> 32).astype(np.int32), distinct.astype(np.int32)


class CountsOnDisk(NgramCounts):
    """``NgramCounts`` whose fields are columns."""

    @classmethod
    def empty(cls, order: int, folder: Path) -> "CountsOnDisk":
        """No n-grams yet; files are made in ``folder``."""
        kinds = {"context": np.int32, "suffix": np.int32, "word": np.int32, "count": np.int64, "begins": np.bool_}
        return cls(**{name: Column(folder / f"counts{order}.{name}", kind) for name, kind in kinds.items()})

    def append(self, part: NgramCounts) -> None:
        """Add n-grams after the last ones."""
        for field in fields(self):
            getattr(self, field.name).append(getattr(part, field.name))

    def remove(self) -> None:
        """Delete the files."""
        for field in fields(self):
            getattr(self, field.name).remove()


def count_ngrams_on_disk(tokens: Column, order: int, folder: Path, block: int) -> Iterator[CountsOnDisk]:
    """Yield what ``count_ngrams`` yields, as columns in ``folder``, with about ``block`` positions in memory at a time.

    Raises ``UserError`` when an order has more distinct n-grams than 2^31 - 1.
    """
    counts, rows = _count_words(tokens, folder, block)
    yield counts
    for n in range(2, order + 1):
        first = _first_contexts(counts.count, block)
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


def _count_words(tokens: Column, folder: Path, block: int) -> tuple[CountsOnDisk, Column]:
    """The unigrams, and for each position of the text the row of the unigram there."""
    total = np.zeros(0, dtype=np.int64)
    for start, stop in blocks(len(tokens), block):
        more = np.bincount(tokens[start:stop], minlength=len(total))
        more[: len(total)] += total
        total = more
    word = np.flatnonzero(total).astype(np.int32)
    zeros = np.zeros(len(word), dtype=np.int32)
    counts, rows = CountsOnDisk.empty(1, folder), Column(folder / "rows1", np.int32)
    counts.append(NgramCounts(zeros, zeros, word, total[word], word == BOS))
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


def _split(tokens: Column, rows: Column, order: int, first: np.ndarray, folder: Path, block: int) -> list[Column]:
    """Positions at which an n-gram ends, rising, in one column for each range of contexts."""
    buckets = [Column(folder / f"bucket{number}", np.int64) for number in range(len(first))]
    begin, ahead = 0, np.zeros(1, dtype=np.int32)  # where the sentence starts, and the row before the block
    for start, stop in blocks(len(tokens), block):
        position = np.arange(start, stop)
        begins = np.maximum.accumulate(np.where(tokens[start:stop] == BOS, position, begin))
        context = np.concatenate([ahead, rows[start:stop]])
        begin, ahead = int(begins[-1]), context[-1:]
        ends = np.flatnonzero(position - begins >= order - 1)
        bucket = np.searchsorted(first, context[ends], side="right") - 1
        by_bucket = np.argsort(bucket, kind="stable")
        bounds = np.flatnonzero(np.diff(bucket[by_bucket], prepend=-1, append=-1))
        for low, high in pairwise(bounds):
            buckets[bucket[by_bucket[low]]].append(position[ends[by_bucket[low:high]]])
    return buckets


class _Growing:
    """The n-grams of one order, bucket by bucket; following: at each position the row of the n-gram ending there."""

    def __init__(self, order: int, tokens: Column, rows: Column, shorter: CountsOnDisk, folder: Path, block: int):
        self.counts = CountsOnDisk.empty(order, folder)
        self.following = Column(folder / f"rows{order}", np.int32)
        self.following.extend(len(tokens))
        self._order, self._tokens, self._rows, self._shorter, self._block = order, tokens, rows, shorter, block

    def add(self, ends: np.ndarray) -> None:
        """Count the n-grams that end at these positions, by sorting."""
        keys = take_rising(self._rows, ends - 1, self._block).astype(np.int64) << 32
        keys |= take_rising(self._tokens, ends, self._block)
        by_key, first, count, context, word = group_keys(keys)
        row = np.empty(len(keys), dtype=np.int32)
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
        word = np.flatnonzero(total).astype(np.int32)
        row_of = np.zeros(len(total), dtype=np.int32)
        row_of[word] = self._next_rows(len(word))
        self._extend(np.full(len(word), context, dtype=np.int32), suffix[word], word, total[word])
        for start, stop in blocks(len(bucket), self._block):
            ends = bucket[start:stop]
            put_rising(self.following, ends, row_of[take_rising(self._tokens, ends, self._block)], self._block)

    def _next_rows(self, number: int) -> np.ndarray:
        """int32: the rows that the next n-grams get."""
        if len(self.counts) + number > _LARGEST:
            raise UserError(
                f"language model: the text has more than {_LARGEST} distinct {self._order}-grams; "
                "give less text or a lower order"
            )
        return np.arange(len(self.counts), len(self.counts) + number, dtype=np.int32)

    def _extend(self, context: np.ndarray, suffix: np.ndarray, word: np.ndarray, count: np.ndarray) -> None:
        low = int(context[0])
        begins = self._shorter.begins[low : int(context[-1]) + 1][context - low]
        self.counts.append(NgramCounts(context, suffix, word, count, begins))
