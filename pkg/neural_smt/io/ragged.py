"""Lists of unequal length in two flat arrays, the shape every kernel reads, and files of lists and arrays."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar, get_type_hints

import numpy as np
from numpy.typing import DTypeLike

from neural_smt.errors import UserError
from neural_smt.io.files import MAKE_AGAIN, atomic, load_array, save_arrays

Lists = tuple[np.ndarray, np.ndarray]
"""The arrays of a ``Ragged`` in kernels: values and offsets."""

Kind = TypeVar("Kind")

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
        """The lists from ``first`` up to ``end``."""
        offsets = self.offsets[first : end + 1]
        return Ragged(self.values[offsets[0] : offsets[-1]], offsets - offsets[0])

    def take(self, rows: np.ndarray) -> "Ragged":
        """The lists at ``rows`` (int ``[m]``), in that order."""
        rows = np.asarray(rows, dtype=np.int64)
        lengths = self.offsets[rows + 1] - self.offsets[rows]  # not of all lists: there may be millions
        offsets = offsets_of(lengths)
        positions = np.repeat(self.offsets[rows] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Ragged(self.values[positions], offsets)

    def joined(self, offsets: np.ndarray) -> "Ragged":
        """Lists put together: list ``i`` of the result is made of those from ``offsets[i]`` (int ``[m + 1]``) on."""
        return Ragged(self.values, self.offsets[offsets])

    @classmethod
    def from_lists(cls, lists: Iterable[Sequence[int]], dtype: type = np.int32) -> "Ragged":
        """Build from an iterable of sequences of numbers."""
        lists = [np.asarray(item, dtype=dtype) for item in lists]
        values = np.concatenate(lists) if lists else np.zeros(0, dtype=dtype)
        return cls(values, offsets_of([len(item) for item in lists]))

    @classmethod
    def concatenate(cls, parts: Sequence["Ragged"]) -> "Ragged":
        """The lists of all parts (at least one), in order."""
        lengths = np.concatenate([part.lengths for part in parts])
        return cls(np.concatenate([part.values for part in parts]), offsets_of(lengths))

    def count(self, marked: np.ndarray) -> np.ndarray:
        """int64 ``[n]``: how many ids of each list are marked; marked: bool for every id there may be."""
        counts = np.empty(len(self), dtype=np.int64)
        for start in range(0, len(self), PIECE):
            offsets = self.offsets[start : start + PIECE + 1]
            before = np.concatenate(([0], np.cumsum(marked[self.values[offsets[0] : offsets[-1]]])))
            counts[start : start + PIECE] = np.diff(before[offsets - offsets[0]])
        return counts

    def save(self, folder: Path, name: str) -> None:
        """Write ``<name>_values.npy`` and ``<name>_offsets.npy`` into an existing folder."""
        save_arrays(folder, **{f"{name}_values": self.values, f"{name}_offsets": self.offsets})

    @classmethod
    def load(cls, folder: Path, name: str, mapped: bool = True) -> "Ragged":
        """Read what ``save`` wrote, memory-mapped unless ``mapped`` is false."""
        values, offsets = (load_array(Path(folder) / f"{name}_{part}.npy", mapped) for part in ("values", "offsets"))
        if offsets.ndim != 1 or not len(offsets) or offsets[-1] != len(values):
            raise UserError(f"{folder}: {name}_values.npy and {name}_offsets.npy do not belong together; {MAKE_AGAIN}")
        return cls(values, offsets)


class Record:
    """A dataclass that goes through a folder of its own, inside that of the record it is a part of."""

    def save(self, folder: Path) -> None:
        """Write the arrays as ``.npy`` into ``folder``, replacing an older one atomically."""
        write_record(folder, self)

    @classmethod
    def load(cls, folder: Path, mapped: bool = True) -> Self:
        """Read what ``save`` wrote, memory-mapped unless ``mapped`` is false."""
        return load_record(cls, folder, mapped)


def save_record(record: Any, folder: Path, kind: type | None = None) -> None:
    """Write the arrays and lists of a dataclass or named tuple, and of records in it, into an existing folder.

    Each is named after its field. kind: the base whose fields are wanted, if not all.
    """
    for name, hint in get_type_hints(kind or type(record)).items():
        value = getattr(record, name)
        if hint is Ragged:
            value.save(folder, name)
        elif hint is np.ndarray:
            save_arrays(folder, **{name: value})
        elif isinstance(value, Record):
            value.save(folder / name)
        else:
            save_record(value, folder)


def write_record(folder: Path, record: Any) -> None:
    """Write what ``save_record`` does as a new folder, atomically, replacing an older one."""
    with atomic(folder, directory=True) as temporary:
        save_record(record, temporary)


def load_record(kind: type[Kind], folder: Path, mapped: bool = True) -> Kind:
    """Read what ``save_record`` wrote of such a record, memory-mapped unless ``mapped`` is false."""
    values = {}
    for name, hint in get_type_hints(kind).items():
        if hint is Ragged:
            values[name] = Ragged.load(folder, name, mapped)
        elif hint is np.ndarray:
            values[name] = load_array(Path(folder) / f"{name}.npy", mapped)
        elif issubclass(hint, Record):
            values[name] = hint.load(Path(folder) / name, mapped)
        else:
            values[name] = load_record(hint, folder, mapped)
    return kind(**values)


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
