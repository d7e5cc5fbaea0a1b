"""Arrays written in pieces: ``.npy`` files that need not fit into memory."""

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import DTypeLike

from neural_smt.io.ragged import Ragged


class ArrayWriter:
    """An ``.npy`` file, equal to what ``numpy.save`` writes, filled from its first row to its last.

    row: the shape of a row, ``()`` for a number; written: how many there are.
    """

    def __init__(self, path: Path, dtype: DTypeLike, row: tuple[int, ...] = ()):
        self.path, self.dtype, self.row, self.written = Path(path), np.dtype(dtype), row, 0
        self._file = open(self.path, "wb")  # noqa: SIM115  (closed by __exit__)
        self._write_header()

    def _write_header(self) -> None:
        # NumPy leaves room for the first length to grow: all headers of an array are of one size
        shape = (self.written, *self.row)
        header = {"descr": np.lib.format.dtype_to_descr(self.dtype), "fortran_order": False, "shape": shape}
        self._file.seek(0)
        np.lib.format.write_array_header_1_0(self._file, header)

    def __enter__(self) -> "ArrayWriter":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._file:
            if kind is None:
                self._write_header()

    def append(self, rows: np.ndarray) -> None:
        """Write the next rows, of the file's type and shape."""
        if rows.dtype != self.dtype or rows.shape[1:] != self.row:
            raise ValueError(f"{self.path}: rows of {rows.dtype} {rows.shape} do not belong here")
        self.written += len(rows)
        self._file.write(np.ascontiguousarray(rows).data)


class ListWriter:
    """The two files of a ``Ragged``, filled from its first list to its last; dtype, row: of its values."""

    def __init__(self, stack: ExitStack, folder: Path, name: str, dtype: DTypeLike, row: tuple[int, ...] = ()):
        """stack: closes the files."""
        self._values = stack.enter_context(ArrayWriter(folder / f"{name}_values.npy", dtype, row))
        self._offsets = stack.enter_context(ArrayWriter(folder / f"{name}_offsets.npy", np.int64))
        self._offsets.append(np.zeros(1, dtype=np.int64))

    def append(self, lists: Ragged) -> None:
        """Write the next lists."""
        self._offsets.append(self._values.written + lists.offsets[1:])
        self._values.append(lists.values)
