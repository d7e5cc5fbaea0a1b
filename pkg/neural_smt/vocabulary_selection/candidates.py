"""The target words that each sentence of a text may be translated with (V_x of Mi et al. 2016, section 3.1)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.arrays import ArrayWriter, read_arrays
from neural_smt.io.files import atomic, digest_json, digest_lines
from neural_smt.io.lookup_primitives import find_rising
from neural_smt.io.ragged import Lists, Ragged
from neural_smt.io.records import FILE, record_of
from neural_smt.io.streams import Text
from neural_smt.jit import kernel
from neural_smt.vocabulary import UNK, Vocabulary

ORIGINS = {
    "vocabulary": "network vocabulary",
    "source": "source text",
    "reference": "reference",
    "dictionary": "word translation table",
    "phrase_table": "phrase table",
}
"""What sets are made from, and what a person calls it."""

SIZES = "vocabulary_selection.sets.*"
"""Where the schema describes the sizes of the parts of sets."""

CHECKED = 1 << 22
"""Ids checked at once when sets are read."""

PIECE = 1 << 14
"""Sentences whose sets are drawn together: what is held of them does not grow with the text."""

_ADVICE = "run the stage vocabulary_selection again"


@dataclass(frozen=True)
class CandidateSets:
    """Distinct ids of a network vocabulary for each of n sentences, in rising order.

    A set is ``common``, which every sentence has (V^T, and always UNK and EOS), then what the sentence has besides:
    as the most frequent words have the lowest ids, these are all larger, and a text of millions of sentences needs no
    room for V^T.

    own: int32 ``Ragged`` of n lists; common: int32 ``[c]``; size: words of the network vocabulary, |V_y|, reserved
    entries included; origins: digest of each thing of ``ORIGINS`` that the sets were made from (``Vocabulary.digest``,
    ``digest_lines``, ``Sources.dictionary_digest``, ``PhraseTable.digest``); settings: what else decides on them.
    """

    own: Ragged
    common: np.ndarray
    size: int
    origins: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        """The number of sentences."""
        return len(self.own)

    @property
    def sizes(self) -> np.ndarray:
        """int64 ``[n]``: how many ids each sentence has."""
        return self.own.lengths + len(self.common)

    def of(self, sentence: int) -> np.ndarray:
        """int32: the ids of one sentence."""
        return np.concatenate([self.common, self.own[sentence]])

    def take(self, rows: np.ndarray) -> "CandidateSets":
        """The sets of some sentences, in this order, in memory; rows: int64."""
        return replace(self, own=self.own.take(rows))

    def union(self, rows: np.ndarray) -> np.ndarray:
        """int64: the ids of a batch of sentences, V_B = the union of their V_x, distinct and in rising order.

        The time this takes depends on the sets alone, not on ``size``.
        """
        own = np.sort(self.own.take(rows).values)
        return np.concatenate([self.common, own[np.diff(own, prepend=-1) > 0]]).astype(np.int64)

    def covered(self, references: Ragged) -> np.ndarray:
        """int64 ``[n]``: how many words of each reference (ids) its sentence's set holds; UNK counts for nothing."""
        if len(self) != len(references):
            raise ValueError(f"{len(self)} sets but {len(references)} references")
        return _count_covered(self.own.arrays, self.common, references.arrays)

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) of all that decides on the sets: what they were made from and how."""
        return digest_json(self._description(len(self)))

    def _description(self, sentences: int) -> dict[str, Any]:
        return {
            "sentences": sentences,
            "size": self.size,
            "common": len(self.common),
            "origins": dict(self.origins),
            "settings": dict(self.settings),
        }

    def save(self, folder: Path) -> None:
        """Write the arrays and what they were made from as a folder, atomically."""
        save_pieces(folder, [self])

    @classmethod
    def load(cls, folder: Path, **digests: str) -> "CandidateSets":
        """Read what ``save`` wrote, memory-mapped.

        digests: of things named in ``ORIGINS``. Raises ``UserError`` where the sets were made from another one, where
        a file is missing, or where the arrays do not belong together. A table that the sets were made without does not
        matter.
        """
        unknown = digests.keys() - ORIGINS.keys()
        if unknown:
            raise TypeError(f"sets are not made from {', '.join(sorted(unknown))}")
        arrays = read_arrays(Path(folder) / FILE, advice=_ADVICE)
        meta = arrays.meta
        saved = record_of(_Saved, arrays, size=meta["size"])
        sets = cls(*saved, meta["size"], meta["origins"], meta["settings"])
        for name, digest in digests.items():
            if sets.origins.get(name, digest) != digest:
                raise UserError(f"{folder}: made with another {ORIGINS[name]} than the one given; {_ADVICE}")
        return sets


class _Saved(NamedTuple):
    """The arrays of ``CandidateSets``."""

    own: Annotated[Ragged, "int32 [sentences] < size"]
    common: Annotated[np.ndarray, "int32 [common] < size"]

    def fault(self) -> str | None:
        """Whether ids rise in every set; what is held in memory is small."""
        values, offsets = self.own.arrays
        lowest = self.common[-1] + 1 if len(self.common) else 0
        for start in range(0, len(values), CHECKED):
            piece = values[start : start + CHECKED + 1]  # with the first one of the next piece
            falls = np.flatnonzero(np.diff(piece) <= 0) + start + 1
            # only from one list to the next
            if (offsets[np.searchsorted(offsets, falls)] != falls).any() or piece.min() < lowest:
                return "ids of a set do not rise"
        return None if (np.diff(self.common) > 0).all() else "ids of all sets do not rise"


@kernel
def _count_covered(sets: Lists, common: np.ndarray, references: Lists) -> np.ndarray:
    """Both parts of a set rise, so words are looked up in them by bisection."""
    values, offsets = sets
    words, word_offsets = references
    counts = np.zeros(len(word_offsets) - 1, dtype=np.int64)
    for sentence in range(len(counts)):
        own = values[offsets[sentence] : offsets[sentence + 1]]
        for word in words[word_offsets[sentence] : word_offsets[sentence + 1]]:
            counts[sentence] += word != UNK and (find_rising(own, word) >= 0 or find_rising(common, word) >= 0)
    return counts


def save_pieces(folder: Path, pieces: Iterable[CandidateSets]) -> int:
    """Write the sets of a text that come in pieces (at least one) as ``CandidateSets.save`` would write them whole.

    All say that they were made from the whole text. No more than one is held. Returns how many ids the sets have.
    """
    sentences = ids = 0
    with atomic(folder, directory=True) as temporary, ArrayWriter(temporary / FILE) as writer:
        for piece in pieces:
            writer.append("own", piece.own)
            sentences += len(piece)
            ids += int(piece.sizes.sum())
        writer.append("common", piece.common)
        writer.meta = piece._description(sentences)
    return ids


def read_sets(
    folder: Path,
    target: Vocabulary,
    lines: Text,
    text: Path,
    references: Text | None = None,
) -> CandidateSets:
    """The target vocabularies of the sentences of ``text``, for a network that knows the words ``target``.

    references: the translations, to train with; sets may hold words of these, and of none otherwise. Raises
    ``UserError`` where the sets are of another text or of another network.
    """
    translated = {} if references is None else {"reference": digest_lines(references)}
    sets = CandidateSets.load(folder, vocabulary=target.digest, source=digest_lines(lines), **translated)
    if len(sets) != len(lines):
        raise UserError(
            f"{folder}: target vocabularies of {len(sets)} sentences, but {text} has {len(lines)}; "
            "run the stage vocabulary_selection on this text"
        )
    if sets.size != len(target):
        raise UserError(
            f"{folder}: target vocabularies for a network of {sets.size} words, but this one has {len(target)}; "
            "run the stage vocabulary_selection with its vocabulary"
        )
    if references is None and "reference" in sets.origins:
        raise UserError(f"{folder}: holds the words of references; make sets without them to translate with")
    return sets
