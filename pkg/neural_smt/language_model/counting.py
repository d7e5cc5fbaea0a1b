"""Counting n-grams by sorting: every order's n-grams come out sorted, with links to their contexts and suffixes."""

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np

from neural_smt.io.ragged import Ragged
from neural_smt.vocabulary import BOS, EOS, UNK


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
