"""Flat arrays in files, for work on more than fits into memory: what is in memory is the slice asked for."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np


class Column:
    """An array that grows at its end; its slices are read from the file as copies, and rows can be written anew.

    path: a file of its own, made empty here; dtype and width: of a row (no width: a plain number).
    """

    def __init__(self, path: Path, dtype: type, width: int | None = None):
        self.path = path
        self.dtype = np.dtype(dtype)
        self._row = () if width is None else (width,)
        self._items = 1 if width is None else width
        self._length = 0
        path.write_bytes(b"")

    def __len__(self) -> int:
        return self._length

    def append(self, rows: np.ndarray) -> None:
        """Write rows after the last one."""
        with open(self.path, "ab") as stream:
            np.ascontiguousarray(rows, dtype=self.dtype).tofile(stream)
        self._length += len(rows)

    def extend(self, length: int) -> None:
        """Grow to so many rows, of zeros."""
        with open(self.path, "r+b") as stream:
            stream.truncate(length * self._items * self.dtype.itemsize)
        self._length = length

    def __getitem__(self, rows: slice) -> np.ndarray:
        start, stop, _ = rows.indices(self._length)
        count = max(0, stop - start) * self._items
        offset = start * self._items * self.dtype.itemsize
        return np.fromfile(self.path, self.dtype, count, offset=offset).reshape(-1, *self._row)

    def write(self, start: int, rows: np.ndarray) -> None:
        """Write rows over those from ``start`` on."""
        with open(self.path, "r+b") as stream:
            stream.seek(start * self._items * self.dtype.itemsize)
            np.ascontiguousarray(rows, dtype=self.dtype).tofile(stream)

    def mapped(self) -> np.ndarray:
        """The whole array, mapped into memory; what is written to it stays in memory."""
        if self._length == 0:
            return np.zeros((0, *self._row), dtype=self.dtype)
        return np.asarray(np.memmap(self.path, self.dtype, mode="c", shape=(self._length, *self._row)))

    def remove(self) -> None:
        """Delete the file."""
        self.path.unlink()


def blocks(length: int, block: int) -> Iterator[tuple[int, int]]:
    """Cut 0 to ``length`` into ranges (start, stop) of ``block``."""
    for start in range(0, length, block):
        yield start, min(start + block, length)


def take(values: Column | np.ndarray, rows: np.ndarray, block: int) -> np.ndarray:
    """``values[rows]`` of any rows (int ``[n]``), with no more than ``block`` of the values in memory at a time."""
    taken = np.empty(len(rows), dtype=values.dtype)
    for start, stop in blocks(len(values), block):
        inside = np.flatnonzero((rows >= start) & (rows < stop))
        if len(inside):
            taken[inside] = values[start:stop][rows[inside] - start]
    return taken


def take_rising(values: Column, rows: np.ndarray, block: int) -> np.ndarray:
    """``values[rows]`` of rows that never fall (int64 ``[n]``): reads only the blocks they lie in."""
    taken = np.empty(len(rows), dtype=values.dtype)
    for start, stop, first, last in _windows(rows, block):
        taken[first:last] = values[start:stop][rows[first:last] - start]
    return taken


def put_rising(values: Column, rows: np.ndarray, new: np.ndarray, block: int) -> None:
    """``values[rows] = new`` for rows that rise (int64 ``[n]``)."""
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
    counts = np.zeros(stop - start, dtype=np.int64)
    for first, last in blocks(len(values), block):
        part = values[first:last]
        counts += np.bincount(part[(part >= start) & (part < stop)] - start, minlength=stop - start)
    return counts
