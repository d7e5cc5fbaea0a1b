"""The phrase table out of its parts: scored partitions merged by source phrase, a batch of each in memory at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from neural_smt.io.arrays import ArrayWriter
from neural_smt.io.files import release
from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.io.records import FILE, load_record
from neural_smt.io.sorting import inverse
from neural_smt.phrases.interning import gather_phrases
from neural_smt.phrases.scoring import check_extracted
from neural_smt.phrases.table import Entries, PhraseTable

BATCH = 1 << 18
"""Source phrases of all parts in a batch."""


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
    place = inverse(order)
    ends = zip(np.cumsum(counts).tolist(), counts, more, strict=True)
    known = [int(place[end - 1]) + 1 for end, count, goes_on in ends if goes_on and count]
    return np.repeat(np.arange(len(lists), dtype=np.uint16), counts)[order][: min(known, default=len(order))]


def _entries_of(part: Entries, first: int, end: int) -> Entries:
    """The source phrases from ``first`` up to ``end`` and their entries."""
    offsets = part.entry_offsets[first : end + 1]
    rows = int(offsets[0]), int(offsets[-1])
    target, alignment = (lists.part(*rows) for lists in (part.target, part.alignment))
    scores, counts, reordering = (array[slice(*rows)] for array in (part.scores, part.counts, part.reordering))
    return Entries(part.source.part(first, end), offsets - rows[0], target, scores, alignment, counts, reordering)


def _merge(parts: Sequence[Entries], merged: np.ndarray) -> Entries:
    """Entries in the order of the table; merged: uint16, from which part each source phrase comes."""
    # for each source phrase and entry, its place when those of the parts stand one after the other
    places = inverse(np.argsort(merged, kind="stable"))
    lengths = np.concatenate([np.diff(part.entry_offsets) for part in parts])
    entries = Ragged(np.arange(lengths.sum()), offsets_of(lengths)).take(places).values

    def joined(name: str) -> Any:
        values = [getattr(part, name) for part in parts]
        if isinstance(values[0], Ragged):
            return gather_phrases(Ragged.concatenate(values), places if name == "source" else entries)
        return offsets_of(lengths[places]) if name == "entry_offsets" else np.concatenate(values)[entries]

    return Entries(**{field.name: joined(field.name) for field in fields(Entries)})


def _batches(parts: Sequence[Entries]) -> Iterator[Entries]:
    """The entries of all parts in the order of the table, some of every part at a time."""
    step = max(1, BATCH // len(parts))
    sizes = np.array([len(part.source) for part in parts])
    taken = np.zeros_like(sizes)
    while (taken < sizes).any():
        ends = np.minimum(taken + step, sizes)
        phrases = [part.source.part(*rows) for part, *rows in zip(parts, taken, ends, strict=True)]
        merged = merge_phrases(phrases, ends < sizes)
        ends = taken + np.bincount(merged, minlength=len(parts))
        yield _merge([_entries_of(part, *rows) for part, *rows in zip(parts, taken, ends, strict=True)], merged)
        taken = ends


def merge_parts(folders: Sequence[Path], output: Path, digests: tuple[str, str], max_length: int) -> PhraseTable:
    """Merge the parts: writes what ``PhraseTable.save`` writes of the whole table into an existing folder.

    The parts are ``Entries`` that ``write_record`` wrote, and have no source phrase in common. digests: those of the
    source and the target vocabulary. Raises ``UserError`` when there are no entries.
    """
    parts = [load_record(Entries, folder) for folder in folders]
    check_extracted(sum(len(part.target) for part in parts))
    names, entries = [field.name for field in fields(Entries)], 0
    with ArrayWriter(output / FILE) as writer:
        for batch in _batches(parts):
            for name in names:
                offsets = name == "entry_offsets"
                writer.append(name, entries + batch.entry_offsets[entries > 0 :] if offsets else getattr(batch, name))
            entries += int(batch.entry_offsets[-1])
            for part in parts:
                release(part.counts)
        written: dict[str, Any] = {name: writer.read(name) for name in names}
        table = PhraseTable(**written, source_digest=digests[0], target_digest=digests[1], max_length=max_length)
        writer.append("source_index", table.lookup[0])
        writer.meta = table.meta
    return table
