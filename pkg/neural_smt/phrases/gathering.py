"""The phrase table out of its parts: scored partitions merged by source phrase, a batch of each in memory at a time."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neural_smt.io.array_files import ArrayReader, ArrayWriter, ListWriter, OffsetWriter
from neural_smt.io.files import save_arrays
from neural_smt.io.ragged import Ragged
from neural_smt.jit import kernel
from neural_smt.phrases.interning import gather_phrases
from neural_smt.phrases.merging import merge_phrases
from neural_smt.phrases.primitives import hash_words
from neural_smt.phrases.scoring import check_extracted
from neural_smt.phrases.table import Entries, rows_digest, write_meta

BATCH = 1 << 18
"""Source phrases of all parts in a batch."""

LISTS = ("source", "target", "alignment")
ROWS = ("scores", "counts", "reordering")
"""Arrays with a list of numbers, and with a row, for each source phrase (the first) or entry."""

LINK = np.dtype(np.uint16)
"""A row of two bytes of ``alignment``, as one number."""


def save_part(entries: Entries, folder: Path) -> None:
    """Write a part of a phrase table into an existing folder."""
    for name in LISTS:
        getattr(entries, name).save(folder, name)
    save_arrays(folder, entry_offsets=entries.entry_offsets, **{name: getattr(entries, name) for name in ROWS})


class _Part:
    """A saved part, whose source phrases are taken in order."""

    def __init__(self, folder: Path):
        names = [*(f"{name}_{kind}" for name in LISTS for kind in ("values", "offsets")), "entry_offsets", *ROWS]
        self.arrays = {name: ArrayReader(folder / f"{name}.npy") for name in names}
        self.sources, self.entries = (len(self.arrays[name]) - 1 for name in ("source_offsets", "target_offsets"))
        self.taken = 0

    def lists(self, name: str, first: int, end: int) -> Ragged:
        """Phrases, or links (as ``LINK``), from row ``first`` up to ``end``."""
        offsets = self.arrays[f"{name}_offsets"].rows(first, end + 1)
        values = self.arrays[f"{name}_values"].rows(offsets[0], offsets[-1])
        return Ragged(values if values.ndim == 1 else values.view(LINK).reshape(-1), offsets - offsets[0])

    def take(self, count: int) -> "_Piece":
        """The next so many source phrases."""
        first, self.taken = self.taken, self.taken + count
        return _Piece(self, first, self.arrays["entry_offsets"].rows(first, self.taken + 1))


@dataclass(frozen=True)
class _Piece:
    """Some source phrases of a part, from row ``first`` on; entry_offsets: where the entries of each begin and end."""

    part: _Part
    first: int
    entry_offsets: np.ndarray

    def lists(self, name: str) -> Ragged:
        """``LISTS`` of the source phrases or of the entries."""
        if name == "source":
            return self.part.lists(name, self.first, self.first + len(self.entry_offsets) - 1)
        return self.part.lists(name, self.entry_offsets[0], self.entry_offsets[-1])

    def rows(self, name: str) -> np.ndarray:
        """``ROWS`` of the entries."""
        return self.part.arrays[name].rows(self.entry_offsets[0], self.entry_offsets[-1])


class _Batch:
    """Pieces of all parts, their source phrases merged."""

    def __init__(self, pieces: Sequence[_Piece], merged: np.ndarray):
        """merged: uint16, from which piece each source phrase comes."""
        self._pieces = pieces
        # for each source phrase and entry, its place when the pieces stand one after the other
        self._sources = np.empty(len(merged), dtype=np.int64)
        self._sources[np.argsort(merged, kind="stable")] = np.arange(len(merged))
        counts = np.concatenate([np.diff(piece.entry_offsets) for piece in pieces])
        offsets = np.zeros(len(counts) + 1, dtype=np.int64)
        np.cumsum(counts, out=offsets[1:])
        self.entry_counts = counts[self._sources]
        self._entries = Ragged(np.arange(offsets[-1]), offsets).take(self._sources).values

    def lists(self, name: str) -> Ragged:
        """``LISTS`` in the order of the table."""
        lists = Ragged.concatenate([piece.lists(name) for piece in self._pieces])
        return gather_phrases(lists, self._sources if name == "source" else self._entries)

    def rows(self, name: str) -> np.ndarray:
        """``ROWS`` in the order of the table."""
        return np.concatenate([piece.rows(name) for piece in self._pieces])[self._entries]


def _batches(parts: Sequence[_Part]) -> Iterator[_Batch]:
    """Merge the parts by their source phrases."""
    step = max(1, BATCH // len(parts))
    while any(part.taken < part.sources for part in parts):
        ends = [min(part.taken + step, part.sources) for part in parts]
        phrases = [part.lists("source", part.taken, end) for part, end in zip(parts, ends, strict=True)]
        more = [end < part.sources for part, end in zip(parts, ends, strict=True)]
        merged = merge_phrases(phrases, more)
        taken = np.bincount(merged, minlength=len(parts)).tolist()
        yield _Batch([part.take(count) for part, count in zip(parts, taken, strict=True)], merged)


class _TableWriter:
    """Appends batches to the files of a phrase table."""

    def __init__(self, stack: ExitStack, folder: Path, parts: Sequence[_Part]):
        self.entries, self.sources = sum(part.entries for part in parts), sum(part.sources for part in parts)
        self._folder = folder
        self._written = 0
        self._slots = np.full(_slots(self.sources), -1, dtype=np.int32)
        self._entry_offsets = OffsetWriter(stack, folder / "entry_offsets.npy", self.sources)
        self._lists, self._rows = {}, {}
        for name in LISTS:
            values = [part.arrays[f"{name}_values"] for part in parts]
            shape = (sum(map(len, values)), *values[0].shape[1:])
            lists = self.sources if name == "source" else self.entries
            self._lists[name] = ListWriter(stack, folder, name, lists, values[0].dtype, shape)
        for name in ROWS:
            array = parts[0].arrays[name]
            writer = ArrayWriter(folder / f"{name}.npy", array.dtype, (self.entries, *array.shape[1:]))
            self._rows[name] = stack.enter_context(writer)

    def append(self, batch: _Batch) -> None:
        """Write the next source phrases and their entries."""
        source = batch.lists("source")
        _add_phrases(self._slots, source.values, source.offsets, self._written)
        self._written += len(source)
        self._entry_offsets.append(batch.entry_counts)
        self._lists["source"].append(source)
        for name in LISTS[1:]:
            self._lists[name].append(batch.lists(name))
        for name, writer in self._rows.items():
            writer.append(batch.rows(name))

    def save_index(self) -> None:
        """Write the index of the source phrases, once all are there."""
        save_arrays(self._folder, source_index=self._slots)


def _slots(phrases: int) -> int:
    """The number of slots of ``build_phrase_index``."""
    size = 2
    while size < 2 * phrases:
        size *= 2
    return size


@kernel
def _add_phrases(slots: np.ndarray, values: np.ndarray, offsets: np.ndarray, first: int) -> None:
    """Go on with ``build_phrase_index``: enter phrases whose numbers begin with ``first``."""
    mask = np.uint64(len(slots) - 1)
    for phrase in range(len(offsets) - 1):
        slot = hash_words(values, offsets[phrase], offsets[phrase + 1]) & mask
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = first + phrase


def gather_parts(folders: Sequence[Path], output: Path, digests: tuple[str, str], max_length: int) -> tuple[int, int]:
    """Merge the parts that ``save_part`` wrote: writes what ``PhraseTable.save`` writes of the whole table into an
    existing folder.

    The parts have no source phrase in common. digests: those of the source and the target vocabulary. Returns the
    numbers of entries and of source phrases. Raises ``UserError`` when there are none.
    """
    parts = [_Part(folder) for folder in folders]
    check_extracted(sum(part.entries for part in parts))
    with ExitStack() as stack:
        table = _TableWriter(stack, output, parts)
        for batch in _batches(parts):
            table.append(batch)
    table.save_index()
    hashed = ("source_values", "source_offsets", "target_values", "target_offsets", "entry_offsets")
    pieces = (piece for name in hashed for piece in ArrayReader(output / f"{name}.npy").pieces())
    write_meta(output, table.entries, table.sources, digests, max_length, rows_digest(*digests, pieces))
    return table.entries, table.sources
