"""What is equal is computed once: the distinct rows of a matrix of ids, and the shared prefixes of sorted sequences."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from neural_smt.io.lookup_primitives import empty_slots
from neural_smt.io.ragged import Ragged
from neural_smt.jit import kernel, mix
from neural_smt.vocabulary import EOS


@kernel
def number_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number the rows of int32 ``[N, width]``, equal rows alike, as they first come.

    Returns int64 ``[N]``, the number of each row, and int64 ``[distinct]``, where the row of each number first stands.
    Rows of one width need no offsets: 30 ns a row of seven, where ``find_words`` takes 52.
    """
    count, width = rows.shape
    slots, kept = empty_slots(count), np.empty((count, width), dtype=np.int32)
    numbers, first = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    mask, found = np.uint64(len(slots) - 1), 0
    for row in range(count):
        key = np.uint64(0)
        for column in range(width):
            kept[found, column] = rows[row, column]
            key = mix(key ^ np.uint64(rows[row, column]))
        slot = key & mask
        while slots[slot] >= 0:
            same = True
            for column in range(width):
                same = same and kept[slots[slot], column] == kept[found, column]
            if same:
                break
            slot = (slot + np.uint64(1)) & mask
        if slots[slot] < 0:
            slots[slot], first[found] = found, row
            found += 1
        numbers[row] = slots[slot]
    return numbers, first[:found].copy()


PADDING = -1


class Level(NamedTuple):
    """The ``n`` distinct prefixes of one length, in the order of the rows.

    symbols: int32 ``[n]``, the last id of each; parents: int64 ``[n]``, its node in the level before; ends: int64
    ``[k]``, the nodes that are whole sequences, and rows: int64 ``[k]``, the row of each.
    """

    symbols: np.ndarray
    parents: np.ndarray
    ends: np.ndarray
    rows: np.ndarray


@dataclass(frozen=True)
class SortedSequences:
    """Distinct sequences, each closed by the end symbol, in lexicographic order of their ids.

    matrix: int32 ``[rows, longest]``, padded with -1; lengths: int64 ``[rows]``; row_of: int64 ``[n]``, the row of
    each sequence it was made from.
    """

    matrix: np.ndarray
    lengths: np.ndarray
    row_of: np.ndarray

    @classmethod
    def of(cls, sequences: Ragged, first: np.ndarray | None = None) -> "SortedSequences":
        """Sort ``n`` sequences of ids; ``first`` (int ``[n]``), when given, becomes the first id of each."""
        lengths = sequences.lengths
        columns = np.arange(lengths.max(initial=0) + 1)
        matrix = np.full((len(lengths), len(columns)), PADDING, dtype=np.int32)
        matrix[columns < lengths[:, None]] = sequences.values
        matrix[np.arange(len(lengths)), lengths] = EOS
        if first is not None:
            matrix = np.concatenate((first[:, None].astype(np.int32), matrix), axis=1)
        order = np.lexsort(matrix.T[::-1])
        matrix = matrix[order]
        new = np.ones(len(matrix), dtype=bool)
        new[1:] = (matrix[1:] != matrix[:-1]).any(axis=1)
        row_of = np.empty(len(matrix), dtype=np.int64)
        row_of[order] = np.cumsum(new) - 1
        matrix = matrix[new]
        return cls(matrix, (matrix != PADDING).sum(axis=1), row_of)

    def __len__(self) -> int:
        return len(self.matrix)

    def levels(self, start: int, end: int) -> list[Level]:
        """The trie over rows ``start:end`` (numbered from 0): level d holds the prefixes of d + 1 ids."""
        lengths = self.lengths[start:end]
        matrix = self.matrix[start:end, : lengths.max()]
        new = np.ones(matrix.shape, dtype=bool)
        new[1:] = np.logical_or.accumulate(matrix[1:] != matrix[:-1], axis=1)
        new &= matrix != PADDING
        nodes = np.cumsum(new, axis=0) - 1
        levels = []
        for depth in range(matrix.shape[1]):
            begins = np.flatnonzero(new[:, depth])
            parents = nodes[begins, depth - 1] if depth else np.zeros(len(begins), dtype=np.int64)
            rows = np.flatnonzero(lengths == depth + 1)
            levels.append(Level(matrix[begins, depth], parents, nodes[rows, depth], rows))
        return levels
