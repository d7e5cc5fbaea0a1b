"""Arrays read and written in pieces: ``.npy`` files that need not fit into memory."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

import numpy as np

from neural_smt.io.ragged import Ragged

PIECE = 1 << 24
"""Bytes that are read at a time."""


class ArrayReader:
    """The rows of an ``.npy`` file, read from disk when they are asked for and not kept."""

    def __init__(self, path: Path):
        self.path = Path(path)
        with open(self.path, "rb") as file:
            np.lib.format.read_magic(file)
            self.shape, _, self.dtype = np.lib.format.read_array_header_1_0(file)
            self._start = file.tell()
        self._width = int(np.prod(self.shape[1:], dtype=np.int64))

    def __len__(self) -> int:
        return self.shape[0]

    def rows(self, first: int, end: int) -> np.ndarray:
        """The rows from ``first`` up to ``end``."""
        offset = self._start + first * self._width * self.dtype.itemsize
        values = np.fromfile(self.path, self.dtype, (end - first) * self._width, offset=offset)
        return values.reshape(-1, *self.shape[1:])

    def pieces(self) -> Iterator[np.ndarray]:
        """All rows, ``PIECE`` bytes at a time."""
        step = max(1, PIECE // (self._width * self.dtype.itemsize))
        for first in range(0, len(self), step):
            yield self.rows(first, min(first + step, len(self)))


class ArrayWriter:
    """An ``.npy`` file, equal to what ``numpy.save`` writes, filled from its first row to its last.

    shape: of the array; with None as its first length, there are as many rows as were written at the end.
    """

    def __init__(self, path: Path, dtype: np.dtype, shape: tuple[int | None, *tuple[int, ...]]):
        self.path, self.dtype, self.shape = Path(path), np.dtype(dtype), shape
        self._file = open(self.path, "wb")  # noqa: SIM115  (closed by __exit__)
        self._written = 0
        self._write_header(shape[0] or 0)

    def _write_header(self, rows: int) -> None:
        # NumPy leaves room for the first length to grow: all headers of an array are of one size
        shape = (rows, *self.shape[1:])
        header = {"descr": np.lib.format.dtype_to_descr(self.dtype), "fortran_order": False, "shape": shape}
        self._file.seek(0)
        np.lib.format.write_array_header_1_0(self._file, header)

    def __enter__(self) -> "ArrayWriter":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._file:
            if kind is None and self.shape[0] is None:
                self._write_header(self._written)
        if kind is None and self.shape[0] not in (None, self._written):
            raise ValueError(f"{self.path}: {self.shape[0] - self._written} of {self.shape[0]} rows are missing")

    def append(self, rows: np.ndarray) -> None:
        """Write the next rows, of the file's type and shape."""
        if rows.dtype != self.dtype or rows.shape[1:] != self.shape[1:]:
            raise ValueError(f"{self.path}: rows of {rows.dtype} {rows.shape} do not belong here")
        self._written += len(rows)
        self._file.write(np.ascontiguousarray(rows).data)


class OffsetWriter:
    """The offsets of lists, given by their lengths."""

    def __init__(self, stack: ExitStack, path: Path, lists: int | None):
        """stack: closes the file; lists: how many there will be, None for any number."""
        shape = (None if lists is None else lists + 1,)
        self._writer = stack.enter_context(ArrayWriter(path, np.int64, shape))
        self._end = 0
        self._writer.append(np.zeros(1, dtype=np.int64))

    def append(self, lengths: np.ndarray) -> None:
        """Write where the next lists end."""
        ends = self._end + np.cumsum(lengths)
        self._writer.append(ends)
        self._end = int(ends[-1]) if len(ends) else self._end


class ListWriter:
    """The two files of a ``Ragged``.

    lists: how many there will be; shape: of the array of their values; each may be unknown, as in ``ArrayWriter``.
    """

    def __init__(
        self,
        stack: ExitStack,
        folder: Path,
        name: str,
        lists: int | None,
        dtype: np.dtype,
        shape: tuple[int | None, *tuple[int, ...]],
    ):
        """stack: closes the files."""
        self._values = stack.enter_context(ArrayWriter(folder / f"{name}_values.npy", dtype, shape))
        self._offsets = OffsetWriter(stack, folder / f"{name}_offsets.npy", lists)

    def append(self, lists: Ragged) -> None:
        """Write the next lists; each of their values may be a whole row of the array, as one number."""
        self._values.append(lists.values.view(self._values.dtype).reshape(-1, *self._values.shape[1:]))
        self._offsets.append(lists.lengths)
