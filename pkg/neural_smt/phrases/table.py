"""The phrase table as the stages share it: flat arrays of integer ids in a folder."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self, TypeVar

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.arrays import read_arrays, write_arrays
from neural_smt.io.files import atomic, digest_parts
from neural_smt.io.lookup_primitives import add_lists, empty_slots
from neural_smt.io.ragged import PIECE, Ragged, blocks
from neural_smt.io.records import FILE, arrays_of, record_of
from neural_smt.jit import kernel
from neural_smt.phrases.primitives import find_phrase
from neural_smt.vocabulary import Vocabularies, Vocabulary

Kind = TypeVar("Kind")

SIDES = "source", "target"

DIRECT = 2
"""The column of p(e|f), direct translation probability, among the scores."""


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
            add_lists(slots, *self.source.arrays)
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
    def load(cls, folder: Path, mapped: bool = True, vocabularies: Sequence[Vocabulary] = ()) -> Self:
        """Read what ``save`` wrote, memory-mapped read-only unless ``mapped`` is false.

        vocabularies: source and target; ``UserError`` where the ids of the table are those of others.
        """
        arrays = read_arrays(Path(folder) / FILE, mapped=mapped)
        digests = {f"{side}_digest": arrays.meta[f"{side}_vocabulary"] for side in SIDES}
        sizes = {}
        for side, vocabulary in zip(SIDES, vocabularies, strict=False):
            sizes[f"{side}_words"] = len(vocabulary)
            if digests[f"{side}_digest"] != vocabulary.digest:
                raise UserError(
                    f"the phrase table was made with another {side} vocabulary than the one given; "
                    "run the phrases stage again with the present vocabularies"
                )
        table = cls(**vars(record_of(_Indexed, arrays, **sizes)), **digests, max_length=arrays.meta["max_length"])
        # computed when the table was written: to compute it again would read a whole mapped table
        object.__setattr__(table, "digest", arrays.meta["digest"])
        return table

    @classmethod
    def load_checked(cls, folder: Path, source: Path, target: Path) -> tuple[Self, Vocabularies]:
        """A table and the vocabularies of its ids, source first; ``UserError`` where it was made with others."""
        vocabularies = Vocabulary.load(source), Vocabulary.load(target)
        return cls.load(folder, vocabularies=vocabularies), vocabularies


@dataclass(frozen=True)
class _Indexed(Entries):
    """The arrays of a whole table. source_index: see ``PhraseTable``."""

    source_index: Annotated[np.ndarray, "int32 [slots]"]

    def fault(self) -> str | None:
        """What is wrong with the arrays as they were read, besides their layout."""
        slots = self.source_index
        whole = np.array_equal(np.sort(slots[slots >= 0]), np.arange(len(self.source)))
        if not whole or len(slots) & (len(slots) - 1) or len(slots) == len(self.source) or slots.min() < -1:
            return "its index is not of its source phrases"
        return super().fault()


@kernel
def find_spans(
    index: tuple[np.ndarray, np.ndarray, np.ndarray], words: np.ndarray, first: np.ndarray, longest: int
) -> np.ndarray:
    """int32 ``[tokens, longest]``: the source phrase that starts at a token and has (column + 1) words, or -1.

    index: ``PhraseTable.lookup``; words: int32 ``[tokens]``, ids of the source vocabulary, -1 for words outside it;
    first: int64 ``[sentences + 1]``, where each sentence's tokens start.
    """
    spans = np.full((len(words), longest), -1, dtype=np.int32)
    for sentence in range(len(first) - 1):
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
    arrays = read_arrays(path, mapped=False, advice=ADVICE)
    if not isinstance(arrays.meta, dict) or arrays.meta.get(DIGEST) != table.digest:
        raise UserError(f"{path}: the scores of another phrase table than the one given; {ADVICE}")
    return record_of(kind, arrays, E=len(table))
