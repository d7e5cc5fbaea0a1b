"""The phrase table as the stages share it: flat arrays of integer ids in a folder."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from neural_smt.errors import UserError
from neural_smt.io.files import atomic, digest_parts, load_array, read_object, save_arrays, write_json
from neural_smt.io.lookup_primitives import add_lists, empty_slots
from neural_smt.io.ragged import Ragged, load_record, save_record
from neural_smt.jit import kernel
from neural_smt.phrases.primitives import find_phrase
from neural_smt.vocabulary import Vocabulary


@dataclass(frozen=True)
class Entries:
    """The entries of a ``PhraseTable``, or of a part of one; f is the source, e the target.

    Source phrases stand in shortlex order of their word ids (shorter first, then word by word), and so do the
    target phrases of each: the order depends on the vocabularies only. S source phrases, E entries (rows):

    source: int32 ``Ragged`` of S phrases;
    entry_offsets: int64 ``[S + 1]``, entries ``entry_offsets[s]:entry_offsets[s + 1]`` translate source phrase ``s``;
    target: int32 ``Ragged`` of E phrases;
    scores: float32 ``[E, N]``, probabilities p(f|e), lex(f|e), p(e|f), lex(e|f), the order of Moses, then any others;
    a table read from Moses' text has whatever N >= 1 scores stand there;
    alignment: uint8 ``Ragged`` of E lists of rows (source position, target position), shape ``[links, 2]``;
    counts: int32 ``[E, 3]``, how often e, f, and the pair were extracted;
    reordering: float32 ``[E, 6]``, probabilities of monotone, swap, discontinuous with respect to the previous
    phrase, then to the next one.
    """

    source: Ragged
    entry_offsets: np.ndarray
    target: Ragged
    scores: np.ndarray
    alignment: Ragged
    counts: np.ndarray
    reordering: np.ndarray


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
            add_lists(slots, self.source.values, self.source.offsets, 0)
            object.__setattr__(self, "source_index", slots)

    def __len__(self) -> int:
        """The number of entries E."""
        return len(self.target)

    @property
    def lookup(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What ``primitives.find_phrase`` takes: slots, source values, source offsets, as read-only views.

        Read-only whether the table is mapped or not, so that a kernel compiles once for both.
        """
        views = tuple(np.asarray(a)[:] for a in (self.source_index, self.source.values, self.source.offsets))
        for view in views:
            view.flags.writeable = False
        return views

    @property
    def entry_source(self) -> np.ndarray:
        """int32 ``[E]``: the number of the source phrase of each entry."""
        return np.repeat(np.arange(len(self.source), dtype=np.int32), np.diff(self.entry_offsets))

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) of what the rows are: both vocabularies' digests, source phrases, target phrases, entries."""
        vocabularies = f"{self.source_digest} {self.target_digest}"
        return digest_parts([vocabularies, *self.source.arrays, *self.target.arrays, self.entry_offsets])

    def check_vocabularies(self, source: Vocabulary, target: Vocabulary) -> None:
        """Raise ``UserError`` unless the ids of this table are those of the two vocabularies."""
        for side, vocabulary in (("source", source), ("target", target)):
            if getattr(self, f"{side}_digest") != vocabulary.digest:
                raise UserError(
                    f"the phrase table was made with another {side} vocabulary than the one given; "
                    "run the phrases stage again with the present vocabularies"
                )

    def save(self, folder: Path) -> None:
        """Write ``.npy`` arrays and ``meta.json`` as a new folder, atomically, replacing an older one."""
        with atomic(folder, directory=True) as temporary:
            save_record(self, temporary, Entries)
            self.save_index(temporary)

    def save_index(self, folder: Path) -> None:
        """Write what finds and identifies the entries into the folder of their arrays."""
        save_arrays(folder, source_index=self.source_index)
        meta = {
            "rows": len(self),
            "sources": len(self.source),
            "source_vocabulary": self.source_digest,
            "target_vocabulary": self.target_digest,
            "max_length": self.max_length,
            "digest": self.digest,
        }
        write_json(folder / "meta.json", meta)

    @classmethod
    def load(cls, folder: Path, mapped: bool = True) -> Self:
        """Read what ``save`` wrote, memory-mapped read-only unless ``mapped`` is false; checks the numbers of rows."""
        folder = Path(folder)
        meta = read_object(folder / "meta.json")
        table = cls(
            **vars(load_record(Entries, folder, mapped)),
            source_index=load_array(folder / "source_index.npy", mapped),
            source_digest=meta["source_vocabulary"],
            target_digest=meta["target_vocabulary"],
            max_length=meta["max_length"],
        )
        lengths = {len(table.target), len(table.alignment), len(table.scores), len(table.counts), len(table.reordering)}
        if lengths != {meta["rows"]} or len(table.source) != meta["sources"] or table.scores.ndim != 2:
            raise UserError(f"{folder}: its arrays differ in length; run the phrases stage again")
        if "digest" in meta:
            # computed when the table was written: to compute it again would read a whole mapped table
            object.__setattr__(table, "digest", meta["digest"])
        return table

    @classmethod
    def load_checked(cls, folder: Path, source: Path, target: Path) -> tuple[Self, tuple[Vocabulary, Vocabulary]]:
        """A table and the vocabularies of its ids, source first; ``UserError`` where it was made with others."""
        vocabularies, table = (Vocabulary.load(source), Vocabulary.load(target)), cls.load(folder)
        table.check_vocabularies(*vocabularies)
        return table, vocabularies


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
    arrays = {"scores": np.ascontiguousarray(scores, dtype=np.float32)}
    if rows is not None:
        arrays["rows"] = np.ascontiguousarray(rows, dtype=np.int64)
    with atomic(path) as temporary:
        save_file(arrays, temporary, {DIGEST: table.digest})


def load_column(path: Path, table: PhraseTable) -> np.ndarray:
    """Read what ``save_column`` wrote of all entries: float32 ``[E]``.

    Raises ``UserError`` when the file is no column, belongs to another table or holds a number that is not finite.
    """
    (scores,) = _read(path, table, "scores")
    if scores.shape != (len(table),):
        raise UserError(f"{path}: the scores of another phrase table than the one given; {ADVICE}")
    if not np.isfinite(scores).all():
        raise UserError(f"{path}: a score is not a finite number; {ADVICE}")
    return scores


def load_part(path: Path, table: PhraseTable) -> tuple[np.ndarray, np.ndarray]:
    """The rows and scores that ``save_column`` wrote of some rows; ``UserError`` when they are not of ``table``."""
    return _read(path, table, "rows", "scores")


def _read(path: Path, table: PhraseTable, *names: str) -> tuple[np.ndarray, ...]:
    """The arrays of a file, all of one length."""
    try:
        with safe_open(path, framework="np") as file:
            digest, arrays = (file.metadata() or {}).get(DIGEST), tuple(file.get_tensor(name) for name in names)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; {ADVICE}") from None
    except (OSError, SafetensorError) as error:
        raise UserError(f"{path}: not a score column ({str(error).splitlines()[0]}); {ADVICE}") from None
    if digest != table.digest or len({array.shape for array in arrays}) > 1:
        raise UserError(f"{path}: the scores of another phrase table than the one given; {ADVICE}")
    return arrays
