"""Reading Moses' phrase and reordering tables: the rows as arrays first, then in the order of ``PhraseTable``."""

import logging
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.ragged import Ragged
from neural_smt.io.word_numbers import WordNumbers
from neural_smt.phrases.interning import gather_phrases, intern_phrases, sort_pairs
from neural_smt.phrases.moses_rows import ORIENTATIONS, MosesRows, read_rows
from neural_smt.phrases.table import PhraseTable
from neural_smt.vocabulary import Vocabulary

log = logging.getLogger(__name__)

SIDES = ("source", "target")


@dataclass(frozen=True)
class MosesText:
    """A Moses phrase table as it was read, before its words have ids.

    path: its file; words: the distinct words; rows: its rows in the order of the file, words numbered as in
    ``words``; reordering: float32 ``[E, 6]``, the probabilities of each row.
    """

    path: Path
    words: list[str]
    rows: MosesRows
    reordering: np.ndarray

    @cached_property
    def vocabularies(self) -> tuple[Vocabulary, Vocabulary]:
        """The source and the target words, counted over the rows."""
        return self._vocabulary(self.rows.source), self._vocabulary(self.rows.target)

    def _vocabulary(self, phrases: Ragged) -> Vocabulary:
        counts = np.bincount(phrases.values, minlength=len(self.words)).tolist()
        return Vocabulary.from_counts(Counter({word: n for word, n in zip(self.words, counts, strict=True) if n}))

    def table(self, source_vocabulary: Vocabulary, target_vocabulary: Vocabulary) -> PhraseTable:
        """The table over the ids of two vocabularies; ``UserError`` names the line of a word that they lack."""
        vocabularies = source_vocabulary, target_vocabulary
        source, source_numbers = intern_phrases(self._phrases(0, source_vocabulary))
        target, target_numbers = intern_phrases(self._phrases(1, target_vocabulary))
        order, entry_offsets = sort_pairs(source_numbers, target_numbers, len(source), len(target))
        _refuse_twice(self.path, order, source_numbers, target_numbers)
        links = Ragged(self.rows.links.values.view(np.uint16).ravel(), self.rows.links.offsets)
        links = gather_phrases(links, order)
        return PhraseTable(
            source=source,
            entry_offsets=entry_offsets,
            target=gather_phrases(target, target_numbers[order]),
            scores=self.rows.scores[order],
            alignment=Ragged(links.values.view(np.uint8).reshape(-1, 2), links.offsets),
            counts=self.rows.counts[order],
            reordering=self.reordering[order],
            source_digest=vocabularies[0].digest,
            target_digest=vocabularies[1].digest,
            max_length=int(max(self.rows.source.lengths.max(), self.rows.target.lengths.max())),
        )

    def _phrases(self, side: int, vocabulary: Vocabulary) -> Ragged:
        """The phrases of one side of each row, as ids of a vocabulary."""
        phrases = (self.rows.source, self.rows.target)[side]
        ids = np.array([vocabulary.index.get(word, -1) for word in self.words], dtype=np.int32)
        values = ids[phrases.values]
        missing = int(values.argmin())
        if values[missing] < 0:
            line = int(np.searchsorted(phrases.offsets, missing, side="right"))
            word = self.words[phrases.values[missing]]
            raise UserError(
                f"{self.path}, line {line}: {word!r} is not in the {SIDES[side]} vocabulary; use that of the table"
            )
        return Ragged(values, phrases.offsets)


def read_moses_text(phrase_table_path: Path, reordering_path: Path | None) -> MosesText:
    """Read a Moses phrase table and its msd-bidirectional-fe reordering table (text, plain or ``.gz``), each once.

    Every row must have as many scores as the first. A pair that the reordering table lacks, or every pair without
    ``reordering_path``, gets probability 1 six times: as in Moses it costs nothing. Rows of the reordering table for
    other pairs are left out, as in Moses, but one of them must fit. A score of up to 15 digits and not below 1e-22 is
    read as by C's strtod and rounded to float32; any other may differ from that in the last bit. Raises ``UserError``
    naming the line of a malformed row.
    """
    words = WordNumbers()
    rows = read_rows(Path(phrase_table_path), words)
    if reordering_path is None:
        reordering = np.ones((len(rows), ORIENTATIONS), dtype=np.float32)
    else:
        reordering_rows = read_rows(Path(reordering_path), words, reordering=True)
        reordering = _match_rows(rows, reordering_rows, Path(phrase_table_path), Path(reordering_path))
    return MosesText(Path(phrase_table_path), words.words(), rows, reordering)


def _match_rows(rows: MosesRows, others: MosesRows, path: Path, reordering_path: Path) -> np.ndarray:
    """The reordering probabilities of each row, float32 ``[E, 6]``; normally both tables have the same rows."""
    if _same(rows.source, others.source) and _same(rows.target, others.target):
        return others.scores
    source, target = (
        intern_phrases(_joined(one, other))[1].astype(np.int64)
        for one, other in ((rows.source, others.source), (rows.target, others.target))
    )
    pairs = (source << 32) | target
    order = np.argsort(pairs[len(rows) :], kind="stable").astype(np.int32)
    _refuse_twice(reordering_path, order, source[len(rows) :], target[len(rows) :])
    ordered = pairs[len(rows) :][order]
    place = np.minimum(np.searchsorted(ordered, pairs[: len(rows)]), len(ordered) - 1)
    found = ordered[place] == pairs[: len(rows)]
    if not found.any():
        raise UserError(
            f"{reordering_path}: has none of the phrase pairs of {path}; give the reordering table made with it"
        )
    if len(others) > found.sum():
        log.info("%s: %d rows are of pairs outside the phrase table", reordering_path, len(others) - found.sum())
    reordering = np.ones((len(rows), ORIENTATIONS), dtype=np.float32)
    reordering[found] = others.scores[order[place[found]]]
    return reordering


def _same(one: Ragged, other: Ragged) -> bool:
    return np.array_equal(one.offsets, other.offsets) and np.array_equal(one.values, other.values)


def _joined(one: Ragged, other: Ragged) -> Ragged:
    return Ragged(
        np.concatenate([one.values, other.values]),
        np.concatenate([one.offsets, other.offsets[1:] + one.offsets[-1]]),
    )


def _refuse_twice(path: Path, order: np.ndarray, source: np.ndarray, target: np.ndarray) -> None:
    """``UserError`` naming the first line that repeats a pair; ``order`` sorts the pairs stably."""
    repeated = (np.diff(source[order]) == 0) & (np.diff(target[order]) == 0)
    if repeated.any():
        line = int(order[1:][repeated].min()) + 1
        raise UserError(f"{path}, line {line}: this phrase pair stands here twice; remove one")
