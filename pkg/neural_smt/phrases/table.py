"""The phrase table as the stages share it: flat arrays of integer ids in a folder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self, TypeVar

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.arrays import read_arrays, write_arrays
from neural_smt.io.files import atomic, digest_parts, release
from neural_smt.io.lookup_primitives import add_distinct_lists, empty_slots, hash_words
from neural_smt.io.ragged import PIECE, Ragged, blocks, offsets_of
from neural_smt.io.records import FILE, arrays_of, record_of
from neural_smt.jit import kernel, leaf
from neural_smt.phrases.primitives import find_phrase
from neural_smt.vocabulary import Vocabularies, Vocabulary

Kind = TypeVar("Kind")

SIDES = "source", "target"

DIRECT = 2
"""The column of p(e|f), direct translation probability, among the scores."""

LOG_FLOOR = -100.0
"""Natural log of the smallest probability, and the price of an unknown word (Moses' LOWEST_SCORE)."""


def floored_log(probabilities: np.ndarray) -> np.ndarray:
    """Natural log, not below ``LOG_FLOOR``."""
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(probabilities), np.float32(LOG_FLOOR))


class Found(NamedTuple):
    """What a table has of P distinct source phrases, R entries in all.

    spans: int32 ``[tokens, longest]``, the phrase (0 to P - 1) of the span from a token with (column + 1) words, or -1;
    lengths: int32 ``[P]``, source words; offsets: int64 ``[P + 1]``, the entries of each phrase; rows: int64 ``[R]``,
    what the table knows an entry by; targets: int32 ``Ragged`` of R; scores: float32 ``[R, N]`` and reordering: float32
    ``[R, 6]``, probabilities; columns: float32 ``[R]``, natural logs by name.
    """

    spans: np.ndarray
    lengths: np.ndarray
    offsets: np.ndarray
    rows: np.ndarray
    targets: Ragged
    scores: np.ndarray
    reordering: np.ndarray
    columns: dict[str, np.ndarray]


def check_made_with(meta: Mapping[str, Any], vocabularies: Sequence[Vocabulary]) -> None:
    """``UserError`` where a table says that its ids are of other vocabularies (source, target; or none to compare)."""
    for side, vocabulary in zip(SIDES, vocabularies, strict=False):
        if meta[f"{side}_vocabulary"] != vocabulary.digest:
            raise UserError(
                f"the phrase table was made with another {side} vocabulary than the one given; "
                "run the phrases stage again with the present vocabularies"
            )


def renumber(spans: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct numbers of phrases among spans (at least 0; -1 stays), rising, and the spans with their places."""
    phrases = np.unique(spans[spans >= 0])
    return phrases, np.where(spans >= 0, np.searchsorted(phrases, spans), -1).astype(np.int32)


@dataclass(frozen=True)
class Entries:
    """The entries of a ``PhraseTable``, or of a part of one; f is the source, e the target.

    Source phrases stand in shortlex order of their word ids (shorter first, then word by word), and so do the
    target phrases of each: the order depends on the vocabularies only. S source phrases, E entries (rows):

    entry_offsets: entries ``entry_offsets[s]:entry_offsets[s + 1]`` translate source phrase ``s``;
    scores: probabilities p(f|e), lex(f|e), p(e|f), lex(e|f), the order of Moses, then any others; a table read from
    Moses' text has whatever N >= 1 scores stand there;
    alignment: rows (source position, target position);
    counts: how often e, f, and the pair were extracted;
    reordering: probabilities of monotone, swap, discontinuous with respect to the previous phrase, then to the next
    one.
    """

    source: Annotated[Ragged, "int32 [S] < source_words"]
    entry_offsets: Annotated[np.ndarray, "int64 [S+1] to E"]
    target: Annotated[Ragged, "int32 [E] < target_words"]
    scores: Annotated[np.ndarray, "float32 [E, N]"]
    alignment: Annotated[Ragged, "uint8 [E] of [2]"]
    counts: Annotated[np.ndarray, "int32 [E, 3]"]
    reordering: Annotated[np.ndarray, "float32 [E, 6]"]

    def fault(self) -> str | None:
        """What is wrong with the entries as they were read, besides their layout."""
        lengths = self.source.lengths
        for first, end in blocks(self.alignment.offsets, PIECE):
            links = self.alignment.part(first, end)
            sources = np.searchsorted(self.entry_offsets, np.arange(first, end), side="right") - 1
            within = np.stack([lengths[sources], np.diff(self.target.offsets[first : end + 1])], axis=1)
            if (links.values >= np.repeat(within, links.lengths, axis=0)).any():
                return "an alignment leaves its phrases"
            release(self.alignment.values)
        return None


@dataclass(frozen=True)
class PhraseTable(Entries):
    """Phrase pairs with scores, alignments, counts and reordering probabilities, and what finds and identifies them.

    source_digest, target_digest: ``Vocabulary.digest`` of the ids; max_length: longest phrase extracted;
    source_index: int32 slots of the hash table over the source phrases (built when not given).
    """

    source_digest: str
    target_digest: str
    max_length: int
    source_index: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.source_index is None:
            slots = empty_slots(len(self.source))
            for first, end in blocks(self.source.offsets, PIECE):
                add_distinct_lists(slots, *self.source.arrays, first, end)
                release(self.source.values)
            object.__setattr__(self, "source_index", slots)

    def __len__(self) -> int:
        """The number of entries E."""
        return len(self.target)

    @property
    def lookup(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What ``primitives.find_phrase`` takes: slots, source values, source offsets, as read-only views.

        Read-only whether the table is mapped or not, so that a kernel compiles once for both.
        """
        views = [np.asarray(a)[:] for a in (self.source_index, self.source.values, self.source.offsets)]
        for view in views:
            view.flags.writeable = False
        return views[0], views[1], views[2]

    @property
    def score_count(self) -> int:
        """N."""
        return self.scores.shape[1]

    def look_up(self, words: np.ndarray, first: np.ndarray, longest: int, columns: Mapping[str, np.ndarray]) -> Found:
        """The entries of all source phrases of sentences. words, first, longest: as of ``find_spans``; columns: natural
        logs by name, ``[E]``.
        """
        phrases, spans = renumber(find_spans(self.lookup, words, first, longest))
        starts, stops = self.entry_offsets[phrases], self.entry_offsets[phrases + 1]
        offsets = offsets_of(stops - starts)
        rows = np.repeat(starts - offsets[:-1], stops - starts) + np.arange(offsets[-1])
        found = Found(
            spans=spans,
            lengths=(self.source.offsets[phrases + 1] - self.source.offsets[phrases]).astype(np.int32),
            offsets=offsets,
            rows=rows,
            targets=self.target.take(rows),
            scores=self.scores[rows],
            reordering=self.reordering[rows],
            columns={name: column[rows] for name, column in columns.items()},
        )
        for array in (self.scores, *columns.values()):
            release(array)
        return found

    def links(self, rows: np.ndarray) -> Ragged:
        """(source, target) word positions within entries; rows: int64 ``[n]``, as of ``Found``."""
        return self.alignment.take(rows)

    def source_of(self, row: int) -> np.ndarray:
        """int32: the source phrase of an entry."""
        return self.source[int(np.searchsorted(self.entry_offsets, row, side="right")) - 1]

    def some_targets(self) -> Ragged:
        """Target phrases (int32) of which random ones are like random ones of the table."""
        return self.target

    @property
    def entry_source(self) -> np.ndarray:
        """int32 ``[E]``: the number of the source phrase of each entry."""
        return np.repeat(np.arange(len(self.source), dtype=np.int32), np.diff(self.entry_offsets))

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) of what the rows are: both vocabularies' digests, source phrases, target phrases, entries."""
        vocabularies = f"{self.source_digest} {self.target_digest}"
        return digest_parts([vocabularies, *self.source.arrays, *self.target.arrays, self.entry_offsets])

    @property
    def meta(self) -> dict[str, Any]:
        """What the file of the table says besides its arrays."""
        return {
            "rows": len(self),
            "sources": len(self.source),
            "source_vocabulary": self.source_digest,
            "target_vocabulary": self.target_digest,
            "max_length": self.max_length,
            "digest": self.digest,
        }

    def save(self, folder: Path) -> None:
        """Write arrays as a new folder, atomically, replacing an older one."""
        with atomic(folder, directory=True) as temporary:
            write_arrays(temporary / FILE, arrays_of(self, _Indexed), self.meta)

    @classmethod
    def load(cls, folder: Path, vocabularies: Sequence[Vocabulary] = ()) -> Self:
        """Read what ``save`` wrote, memory-mapped read-only.

        vocabularies: source and target; ``UserError`` where the ids of the table are those of others.
        """
        arrays = read_arrays(Path(folder) / FILE)
        digests = {f"{side}_digest": arrays.meta[f"{side}_vocabulary"] for side in SIDES}
        check_made_with(arrays.meta, vocabularies)
        sizes = {f"{side}_words": len(vocabulary) for side, vocabulary in zip(SIDES, vocabularies, strict=False)}
        table = cls(**vars(record_of(_Indexed, arrays, **sizes)), **digests, max_length=arrays.meta["max_length"])
        # computed when the table was written: to compute it again would read a whole mapped table
        object.__setattr__(table, "digest", arrays.meta["digest"])
        return table

    @classmethod
    def load_checked(cls, folder: Path, source: Path, target: Path) -> tuple[Self, Vocabularies]:
        """A table and the vocabularies of its ids, source first; ``UserError`` where it was made with others."""
        vocabularies = Vocabulary.load(source), Vocabulary.load(target)
        return cls.load(folder, vocabularies), vocabularies


@dataclass(frozen=True)
class _Indexed(Entries):
    """The arrays of a whole table. source_index: see ``PhraseTable``."""

    source_index: Annotated[np.ndarray, "int32 [slots]"]

    def fault(self) -> str | None:
        """What is wrong with the arrays as they were read, besides their layout."""
        slots, found, filled = self.source_index, np.zeros(len(self.source), dtype=bool), 0
        whole = len(slots) > len(found) and not len(slots) & (len(slots) - 1)
        for start in range(0, len(slots) if whole else 0, PIECE):
            part = slots[start : start + PIECE]
            numbers = part[part >= 0]
            whole &= part.min() >= -1 and numbers.max(initial=-1) < len(found)
            if whole:
                found[numbers] = True
                filled += len(numbers)
        if not whole or filled != len(found) or not found.all():
            return "its index is not of its source phrases"
        release(slots)
        return super().fault()


@leaf
def _read_ahead(
    index: tuple[np.ndarray, np.ndarray, np.ndarray], words: np.ndarray, first: int, last: int, longest: int
) -> int:
    """Read what the spans of a sentence will most likely be compared with. Of a large table this waits for memory, for
    several spans at a time, as nothing depends on what is found; comparing one after the other does not.
    """
    slots, values, offsets = index
    total = 0
    for start in range(first, last):
        for end in range(start + 1, min(start + longest, last) + 1):
            phrase = slots[hash_words(words, start, end) & np.uint64(len(slots) - 1)]
            if phrase >= 0:
                total += values[offsets[phrase]]
    return total


@kernel
def find_spans(
    index: tuple[np.ndarray, np.ndarray, np.ndarray], words: np.ndarray, first: np.ndarray, longest: int
) -> np.ndarray:
    """int32 ``[tokens, longest]``: the source phrase that starts at a token and has (column + 1) words, or -1.

    index: ``PhraseTable.lookup``; words: int32 ``[tokens]``, ids of the source vocabulary, -1 for words outside it;
    first: int64 ``[sentences + 1]``, where each sentence's tokens start.
    """
    spans, read = np.full((len(words), longest), -1, dtype=np.int32), np.zeros(1, dtype=np.int64)
    for sentence in range(len(first) - 1):
        read[0] += _read_ahead(index, words, first[sentence], first[sentence + 1], longest)
        for start in range(first[sentence], first[sentence + 1]):
            for end in range(start + 1, min(start + longest, first[sentence + 1]) + 1):  # in the sentence
                spans[start, end - start - 1] = find_phrase(index, words, start, end)
    return spans


DIGEST = "phrase_table"
"""The name of the table's digest in the metadata of score columns."""

ADVICE = "run the rescoring stage again"


def save_column(path: Path, scores: np.ndarray, table: PhraseTable, rows: np.ndarray | None = None) -> None:
    """Write the score of every entry of ``table``, or of those in some rows (int64 ``[n]``).

    scores: ``[E]`` or ``[n]``, natural logs, stored as float32.
    """
    arrays = {"scores": np.asarray(scores, dtype=np.float32)}
    if rows is not None:
        arrays["rows"] = np.asarray(rows, dtype=np.int64)
    write_arrays(path, arrays, {DIGEST: table.digest})


class _Column(NamedTuple):
    scores: Annotated[np.ndarray, "float32 [E]"]


class _Part(NamedTuple):
    rows: Annotated[np.ndarray, "int64 [n] < E"]
    scores: Annotated[np.ndarray, "float32 [n]"]


def load_column(path: Path, table: PhraseTable) -> np.ndarray:
    """Read what ``save_column`` wrote of all entries: float32 ``[E]``.

    Raises ``UserError`` when the file is no column, belongs to another table or holds a number that is not finite.
    """
    return _read(path, table, _Column).scores


def load_part(path: Path, table: PhraseTable) -> tuple[np.ndarray, np.ndarray]:
    """The rows and scores that ``save_column`` wrote of some rows; ``UserError`` when they are not of ``table``."""
    return _read(path, table, _Part)


def _read(path: Path, table: PhraseTable, kind: type[Kind]) -> Kind:
    arrays = read_arrays(path, advice=ADVICE)
    if not isinstance(arrays.meta, dict) or arrays.meta.get(DIGEST) != table.digest:
        raise UserError(f"{path}: the scores of another phrase table than the one given; {ADVICE}")
    return record_of(kind, arrays, E=len(table))
