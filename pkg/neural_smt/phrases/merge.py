"""The phrase table out of its parts: scored partitions merged by source phrase, a batch of each in memory at a time."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neural_smt.io.array_files import ArrayReader, ArrayWriter, ListWriter, OffsetWriter
from neural_smt.io.files import save_arrays
from neural_smt.io.lookup_primitives import add_lists, empty_slots
from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.jit import kernel
from neural_smt.phrases.interning import gather_phrases
from neural_smt.phrases.scoring import check_extracted
from neural_smt.phrases.table import rows_digest, write_meta

BATCH = 1 << 18
"""Source phrases of all parts in a batch."""

LISTS = ("source", "target", "alignment")
ROWS = ("scores", "counts", "reordering")
"""Arrays with a list of numbers, and with a row, for each source phrase (the first) or entry."""

LINK = np.dtype(np.uint16)
"""A row of two bytes of ``alignment``, as one number."""


@kernel
def _comes_before(values: np.ndarray, offsets: np.ndarray, phrase: int, other: int) -> bool:
    """Whether a phrase comes before another in shortlex order."""
    start, other_start = offsets[phrase], offsets[other]
    length, other_length = offsets[phrase + 1] - start, offsets[other + 1] - other_start
    if length != other_length:
        return length < other_length
    for position in range(length):
        if values[start + position] != values[other_start + position]:
            return values[start + position] < values[other_start + position]
    return False


@kernel
def _sift(heap: np.ndarray, size: int, heads: np.ndarray, values: np.ndarray, offsets: np.ndarray, place: int) -> None:
    """Move the list at ``place`` of the heap down until its next phrase comes before those of the lists below it."""
    while 2 * place + 1 < size:
        below = 2 * place + 1
        if below + 1 < size and _comes_before(values, offsets, heads[heap[below + 1]], heads[heap[below]]):
            below += 1
        if not _comes_before(values, offsets, heads[heap[below]], heads[heap[place]]):
            return
        heap[place], heap[below] = heap[below], heap[place]
        place = below


@kernel
def _merge(values: np.ndarray, offsets: np.ndarray, starts: np.ndarray, more: np.ndarray) -> np.ndarray:
    """``merge_phrases`` of the lists at ``starts[i]:starts[i + 1]`` of all phrases."""
    lists = len(more)
    heads = starts[:lists].copy()
    heap = np.empty(lists, dtype=np.int64)
    size = 0
    for number in range(lists):
        if heads[number] < starts[number + 1]:
            heap[size] = number
            size += 1
    for place in range(size // 2 - 1, -1, -1):
        _sift(heap, size, heads, values, offsets, place)
    merged = np.empty(len(offsets) - 1, dtype=np.uint16)
    count = 0
    while size > 0:
        number = heap[0]
        merged[count] = number
        count += 1
        heads[number] += 1
        if heads[number] == starts[number + 1]:
            if more[number]:
                break
            size -= 1
            heap[0] = heap[size]
        _sift(heap, size, heads, values, offsets, 0)
    return merged[:count].copy()


def merge_phrases(lists: Sequence[Ragged], more: Sequence[bool]) -> np.ndarray:
    """uint16 ``[n]``: from which list each phrase comes when all are merged in shortlex order, as far as that is known.

    lists: int32 ``Ragged``, each in shortlex order; no phrase is in two of them; more: whether a list goes on with
    phrases that are not here. Merging ends after the last known phrase of such a list.
    """
    phrases, starts = Ragged.concatenate(lists), offsets_of([len(phrases) for phrases in lists])
    return _merge(phrases.values, phrases.offsets, starts, np.array(more, dtype=np.bool_))


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
        self.entry_counts = counts[self._sources]
        self._entries = Ragged(np.arange(counts.sum()), offsets_of(counts)).take(self._sources).values

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
        self._slots = empty_slots(self.sources)
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
        add_lists(self._slots, source.values, source.offsets, self._written)
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


def merge_parts(folders: Sequence[Path], output: Path, digests: tuple[str, str], max_length: int) -> tuple[int, int]:
    """Merge the parts: writes what ``PhraseTable.save`` writes of the whole table into an
    existing folder.

    The parts are ``Entries`` that ``save_record`` wrote, and have no source phrase in common. digests: those of the
    source and the target vocabulary. Returns the numbers of entries and of source phrases. Raises ``UserError`` when
    there are none.
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
