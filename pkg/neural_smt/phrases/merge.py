"""The phrase table out of its parts: scored partitions merged by source phrase, a batch of each in memory at a time."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from neural_smt.io.array_files import ArrayReader, ArrayWriter, ListWriter, OffsetWriter
from neural_smt.io.files import save_arrays
from neural_smt.io.lookup_primitives import add_lists, empty_slots
from neural_smt.io.ragged import Ragged, offsets_of
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


def merge_phrases(lists: Sequence[Ragged], more: Sequence[bool]) -> np.ndarray:
    """uint16 ``[n]``: from which list each phrase comes when all are merged in shortlex order, as far as that is known.

    lists: int32 ``Ragged``, each in shortlex order; no phrase is in two of them; more: whether a list goes on with
    phrases that are not here. Merging ends after the last known phrase of such a list.
    """
    phrases, counts = Ragged.concatenate(lists), [len(own) for own in lists]
    longest = int(phrases.lengths.max(initial=0))
    # the length and the words as bytes, which compare as the phrases do
    keys = np.zeros((len(phrases), 1 + longest), dtype=">i4")
    keys[:, 0] = phrases.lengths
    keys[:, 1:][np.arange(longest) < phrases.lengths[:, None]] = phrases.values
    order = np.argsort(keys.view(f"S{4 * (1 + longest)}")[:, 0], kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    ends = zip(np.cumsum(counts).tolist(), counts, more, strict=True)
    known = [int(place[end - 1]) + 1 for end, count, goes_on in ends if goes_on and count]
    return np.repeat(np.arange(len(lists), dtype=np.uint16), counts)[order][: min(known, default=len(order))]


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

    def take(self, count: int) -> tuple[tuple[int, int], np.ndarray]:
        """The next so many source phrases: their rows (first, end), and where the entries of each begin and end."""
        first, self.taken = self.taken, self.taken + count
        return (first, self.taken), self.arrays["entry_offsets"].rows(first, self.taken + 1)


class _Batch:
    """The next source phrases of all parts, merged."""

    def __init__(self, parts: Sequence[_Part], merged: np.ndarray):
        """merged: uint16, from which part each source phrase comes."""
        self._parts = parts
        counts = np.bincount(merged, minlength=len(parts)).tolist()
        self._sources, offsets = zip(
            *(part.take(count) for part, count in zip(parts, counts, strict=True)), strict=True
        )
        self._entries = [(own[0], own[-1]) for own in offsets]
        # for each source phrase and entry, its place when those of the parts stand one after the other
        self._source_places = np.empty(len(merged), dtype=np.int64)
        self._source_places[np.argsort(merged, kind="stable")] = np.arange(len(merged))
        lengths = np.concatenate([np.diff(own) for own in offsets])
        self.entry_counts = lengths[self._source_places]
        places = Ragged(np.arange(lengths.sum()), offsets_of(lengths))
        self._entry_places = places.take(self._source_places).values

    def lists(self, name: str) -> Ragged:
        """``LISTS`` in the order of the table."""
        rows, places = (self._sources, self._source_places) if name == "source" else (self._entries, self._entry_places)
        lists = [part.lists(name, *own) for part, own in zip(self._parts, rows, strict=True)]
        return gather_phrases(Ragged.concatenate(lists), places)

    def rows(self, name: str) -> np.ndarray:
        """``ROWS`` in the order of the table."""
        own = zip(self._parts, self._entries, strict=True)
        return np.concatenate([part.arrays[name].rows(*rows) for part, rows in own])[self._entry_places]


def _batches(parts: Sequence[_Part]) -> Iterator[_Batch]:
    """Merge the parts by their source phrases."""
    step = max(1, BATCH // len(parts))
    while any(part.taken < part.sources for part in parts):
        ends = [min(part.taken + step, part.sources) for part in parts]
        phrases = [part.lists("source", part.taken, end) for part, end in zip(parts, ends, strict=True)]
        more = [end < part.sources for part, end in zip(parts, ends, strict=True)]
        yield _Batch(parts, merge_phrases(phrases, more))


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
