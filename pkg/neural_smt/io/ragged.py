"""Lists of unequal length in two flat arrays, the shape every kernel reads."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

Lists = tuple[np.ndarray, np.ndarray]
"""The arrays of a ``Ragged`` in kernels: values and offsets."""

PIECE = 1 << 20
"""Lists that are looked at together where there may be hundreds of millions."""


def offsets_of(lengths: Sequence[int] | np.ndarray) -> np.ndarray:
    """int64 ``[n + 1]``: where lists of these lengths begin and end, one after the other."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def blocks(offsets: np.ndarray, most: int) -> Iterator[tuple[int, int]]:
    """Ranges of lists, one after the other: each of lists with ``most`` numbers in all, or of one longer list.

    offsets: int ``[n + 1]``, rising, where each list begins.
    """
    first = 0
    while first < len(offsets) - 1:
        last = max(first + 1, int(np.searchsorted(offsets, offsets[first] + most, side="right")) - 1)
        yield first, last
        first = last


@dataclass(frozen=True)
class Ragged:
    """``n`` lists in one array: list ``i`` is ``values[offsets[i]:offsets[i + 1]]``.

    values: any dtype, shape ``[total, ...]``; offsets: int64 ``[n + 1]``, starting at 0, non-decreasing.
    """

    values: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> np.ndarray:
        """A view of list ``index`` (no negative index)."""
        return self.values[self.offsets[index] : self.offsets[index + 1]]

    def __iter__(self) -> Iterator[np.ndarray]:
        for index in range(len(self)):
            yield self[index]

    @property
    def arrays(self) -> Lists:
        """Values and offsets, as kernels take them."""
        return self.values, self.offsets

    @property
    def lengths(self) -> np.ndarray:
        """int64 ``[n]``: the length of each list."""
        return np.diff(self.offsets)

    def part(self, first: int, end: int) -> "Ragged":
        """The lists from ``first`` up to ``end``, or to the last one."""
        offsets = self.offsets[first : end + 1]
        return Ragged(self.values[offsets[0] : offsets[-1]], offsets - offsets[0])

    def pieces(self, most: int) -> Iterator["Ragged"]:
        """``most`` lists after the other."""
        return (self.part(first, first + most) for first in range(0, len(self), most))

    def take(self, rows: np.ndarray | Sequence[int]) -> "Ragged":
        """The lists at ``rows`` (int ``[m]``), in that order."""
        rows = np.asarray(rows, dtype=np.int64)
        starts = self.offsets[rows]
        lengths = self.offsets[rows + 1] - starts  # not of all lists: there may be millions
        offsets = offsets_of(lengths)
        if len(rows) <= PIECE:
            return Ragged(self.values[np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])], offsets)
        values = np.empty((offsets[-1], *self.values.shape[1:]), dtype=self.values.dtype)
        for first in range(0, len(rows), PIECE):
            part = self.take(rows[first : first + PIECE])
            values[offsets[first] : offsets[first + len(part)]] = part.values
        return Ragged(values, offsets)

    def mirrored(self) -> "Ragged":
        """Every list from its last value to its first."""
        both = np.repeat(self.offsets[:-1] + self.offsets[1:] - 1, self.lengths)
        return Ragged(self.values[both - np.arange(len(self.values))], self.offsets)

    def joined(self, offsets: np.ndarray) -> "Ragged":
        """Lists put together: list ``i`` of the result is made of those from ``offsets[i]`` (int ``[m + 1]``) on."""
        return Ragged(self.values, self.offsets[offsets])

    @classmethod
    def from_lists(cls, lists: Iterable[Sequence[int] | np.ndarray], dtype: type = np.int32) -> "Ragged":
        """Build from an iterable of sequences of numbers."""
        arrays: list[np.ndarray] = [np.asarray(item, dtype=dtype) for item in lists]
        values = np.concatenate(arrays) if arrays else np.zeros(0, dtype=dtype)
        return cls(values, offsets_of([len(item) for item in arrays]))

    @classmethod
    def concatenate(cls, parts: Sequence["Ragged"]) -> "Ragged":
        """The lists of all parts (at least one), in order."""
        lengths = np.concatenate([part.lengths for part in parts])
        return cls(np.concatenate([part.values for part in parts]), offsets_of(lengths))

    def count(self, marked: np.ndarray) -> np.ndarray:
        """int32 ``[n]``: how many ids of each list are marked; marked: bool for every id there may be."""
        counts = np.empty(len(self), dtype=np.int32)
        for start in range(0, len(self), PIECE):
            offsets = self.offsets[start : start + PIECE + 1]
            before = np.concatenate(([0], np.cumsum(marked[self.values[offsets[0] : offsets[-1]]])))
            counts[start : start + PIECE] = np.diff(before[offsets - offsets[0]])
        return counts
