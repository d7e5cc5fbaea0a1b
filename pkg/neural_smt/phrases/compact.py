"""A phrase table in little memory: phrases as differences, scores as codes (compare Junczys-Dowmunt 2012).

A source phrase begins at a multiple of ``ALIGNED`` bytes: how many words it has, the words, how many entries, these. An
entry is a target phrase (how many words it begins with that the entry before it has too, how many follow, which), the
codes of its scores, how many links it has, the links (a byte each). Numbers are of seven bits a byte, lowest first;
frequent words have low ids. A hash table finds the source phrases. Codes stand for natural logs: of scores, of
reordering probabilities, of columns. What was extracted how often is not kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.arrays import read_arrays, read_meta
from neural_smt.io.codes import CODES, choose_centres, encode
from neural_smt.io.files import release
from neural_smt.io.ragged import Ragged
from neural_smt.io.records import FILE, record_of, write_record
from neural_smt.phrases import compact_kernels as kernels
from neural_smt.phrases.compact_kernels import ALIGNED, PADDING
from neural_smt.phrases.table import Found, PhraseTable, check_made_with, floored_log, renumber
from neural_smt.vocabulary import Vocabularies

SAMPLE = 1 << 14
"""Source phrases whose entries stand for all."""

ROUNDS = 20
"""Of Lloyd's algorithm: halve the mean error of translation probabilities."""

LARGEST = (1 << 32) * ALIGNED
"""Bytes that slots can tell apart."""


@dataclass(frozen=True)
class _Compact:
    """data: see above; slots: where source phrases begin, in ``ALIGNED`` bytes, or 0; centres: what the codes of each
    of K scores stand for; words: of the source and of the target vocabulary.
    """

    data: Annotated[np.ndarray, "uint8 [bytes]"]
    slots: Annotated[np.ndarray, "uint32 [slots]"]
    centres: Annotated[np.ndarray, "float32 [K, 256]"]
    words: Annotated[np.ndarray, "int64 [2]"]

    def fault(self) -> str | None:
        """Whether all that is in the bytes can be read, and slots are those of its phrases."""
        size, sound = len(self.slots), False
        padded = len(self.data) >= ALIGNED + PADDING and not self.data[-PADDING:].any()
        if padded and size and not size & (size - 1):
            sound, starts = kernels.walk(self.data, len(self.centres), *self.words.tolist())
            release(self.data)
            filled = np.sort(self.slots[self.slots > 0])
            sound = sound and len(filled) < size and np.array_equal(filled, starts)
        return None if sound else "its phrases cannot be read"


@dataclass(frozen=True)
class CompactTable(_Compact):
    """What searches read of a ``PhraseTable``. score_count: N; columns: names of score columns, whose codes follow
    those of the scores and of the six reordering probabilities.
    """

    score_count: int
    columns: tuple[str, ...]
    source_digest: str
    target_digest: str
    max_length: int

    @classmethod
    def of(cls, table: PhraseTable, columns: dict[str, np.ndarray], words: Sequence[int]) -> "CompactTable":
        """columns: of natural logs by name, ``[E]``; words: of the source and of the target vocabulary. ``UserError``
        for scores that are not finite, and for a table that takes more than ``LARGEST`` bytes.
        """
        scores = [*table.scores.T, *table.reordering.T, *columns.values()]
        codes, centres = np.empty((len(table), len(scores)), np.uint8), np.empty((len(scores), CODES), np.float32)
        for number, values in enumerate(scores):
            logs = floored_log(values) if number < len(scores) - len(columns) else np.asarray(values)
            if not np.isfinite(logs).all():
                raise UserError("the phrase table or a column holds a score that is not a finite number; make it again")
            centres[number] = choose_centres(logs, rounds=ROUNDS)
            encode(logs, centres[number], codes[:, number])
        data, starts = kernels.write(
            table.source.arrays, table.entry_offsets, table.target.arrays, codes, table.alignment.arrays
        )
        if len(data) > LARGEST:
            raise UserError(f"a compact table of {len(data)} bytes is too large ({LARGEST} at most); keep it as it is")
        slots = kernels.fill(table.source.arrays, starts)
        about = table.score_count, tuple(columns), table.source_digest, table.target_digest, table.max_length
        return cls(data, slots, centres, np.array(words), *about)

    def save(self, folder: Path) -> None:
        """Write arrays as a new folder, atomically."""
        meta = {
            "compact": self.score_count,
            "columns": list(self.columns),
            "source_vocabulary": self.source_digest,
            "target_vocabulary": self.target_digest,
            "max_length": self.max_length,
        }
        write_record(folder, _Compact(self.data, self.slots, self.centres, self.words), meta)

    @classmethod
    def load(cls, folder: Path, vocabularies: Vocabularies) -> "CompactTable":
        """Read what ``save`` wrote, mapped; ``UserError`` where the ids of the table are of other vocabularies."""
        arrays = read_arrays(Path(folder) / FILE)
        meta = arrays.meta
        compact, sizes = record_of(_Compact, arrays), [len(vocabulary) for vocabulary in vocabularies]
        check_made_with(meta, vocabularies)
        columns = tuple(meta["columns"])
        if compact.words.tolist() != sizes or len(compact.centres) != meta["compact"] + 6 + len(columns):
            raise arrays.damaged("it has not the words or scores that it names")
        data, slots, centres, words = vars(compact).values()
        digests = meta["source_vocabulary"], meta["target_vocabulary"]
        return cls(data, slots, centres, words, meta["compact"], columns, *digests, meta["max_length"])

    @property
    def _codes(self) -> int:
        return len(self.centres)

    def look_up(self, words: np.ndarray, first: np.ndarray, longest: int, columns: Any = None) -> Found:
        """See ``PhraseTable.look_up``; the row of an entry is its place in the bytes."""
        spans = kernels.find(self.slots, self.data, words, first, longest)
        phrases, spans = renumber(spans)
        lengths, offsets, rows, values, value_offsets, codes = kernels.read(self.data, phrases, self._codes)
        release(self.data)
        logs = np.take_along_axis(self.centres, codes.T.astype(np.int64), axis=1)
        reordered = self.score_count + 6
        return Found(
            spans=spans,
            lengths=lengths,
            offsets=offsets,
            rows=rows,
            targets=Ragged(values, value_offsets),
            scores=np.exp(logs[: self.score_count]).T.copy(),
            reordering=np.exp(logs[self.score_count : reordered]).T.copy(),
            columns=dict(zip(self.columns, logs[reordered:], strict=True)),
        )

    def links(self, rows: np.ndarray) -> Ragged:
        """See ``PhraseTable.links``."""
        return Ragged(*kernels.read_links(self.data, rows, self._codes))

    def source_of(self, row: int) -> np.ndarray:
        """See ``PhraseTable.source_of``."""
        starts = np.sort(self.slots).astype(np.int64) * ALIGNED
        place = int(starts[np.searchsorted(starts, row, side="right") - 1])
        return kernels.words_at(self.data, place)

    def some_targets(self) -> Ragged:
        """See ``PhraseTable.some_targets``; all of ``SAMPLE`` random source phrases."""
        starts = np.random.default_rng(0).permutation(self.slots[self.slots > 0])[:SAMPLE]
        _, _, _, values, offsets, _ = kernels.read(self.data, starts.astype(np.int64) * ALIGNED, self._codes)
        return Ragged(values, offsets)


Table = PhraseTable | CompactTable
"""What searches look phrases up in."""


def open_table(folder: Path, vocabularies: Vocabularies) -> Table:
    """The table of a folder, of whichever kind; ``UserError`` where its ids are of other vocabularies."""
    if "compact" in read_meta(Path(folder) / FILE):
        return CompactTable.load(folder, vocabularies)
    return PhraseTable.load(folder, vocabularies)
