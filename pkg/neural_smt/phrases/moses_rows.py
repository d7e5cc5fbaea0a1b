"""The rows of a Moses phrase or reordering table as flat arrays, in the order of the file."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.files import read_pieces
from neural_smt.io.ragged import Ragged
from neural_smt.io.word_numbers import WordNumbers
from neural_smt.phrases import moses_kernels as kernels
from neural_smt.phrases.moses_kernels import LONGEST, Rows, make_rows, scan_rows

ORIENTATIONS = 6
"""Scores of a row of a reordering table."""

_SHOWN = 40
"""So many bytes of a token that cannot be read are shown."""


@dataclass(frozen=True)
class MosesRows:
    """E rows; source, target: int32 ``Ragged`` of word numbers; links: uint8 ``Ragged`` of ``[links, 2]``;
    scores: float32 ``[E, N]``; counts: int32 ``[E, 3]``. A reordering table has neither links nor counts.
    """

    source: Ragged
    target: Ragged
    links: Ragged
    scores: np.ndarray
    counts: np.ndarray

    def __len__(self) -> int:
        return len(self.scores)


def read_rows(path: Path, words: WordNumbers, reordering: bool = False) -> MosesRows:
    """Read a phrase table, or a reordering table, piece by piece, numbering its words.

    Every row of a phrase table must have as many scores as the first. Raises ``UserError`` naming the line of a
    malformed row, and for a table without rows.
    """
    parser = _Parser(path, words, reordering)
    for lines, piece in read_pieces(path):
        parser.add(piece, lines)
    return parser.rows()


class _Parser:
    def __init__(self, path: Path, words: WordNumbers, reordering: bool):
        self.path, self.words, self.reordering = path, words, reordering
        self.columns = ORIENTATIONS if reordering else 0
        self.parts: list[list[np.ndarray]] = []

    def add(self, piece: bytes, lines: int) -> None:
        """Parse some lines, before which ``lines`` lines stand."""
        self.columns = self.columns or _count_scores(piece)
        text = np.frombuffer(piece, dtype=np.uint8)
        rows = make_rows(len(text), self.columns)
        fault, line, place = scan_rows(text, 0, self.words.arrays, rows, self.reordering)
        while fault == kernels.NO_ROOM_FOR_WORD:
            self.words.enlarge(len(text))
            fault, line, place = scan_rows(text, line, self.words.arrays, rows, self.reordering)
        if fault != kernels.PARSED:
            number = lines + piece.count(b"\n", 0, line) + 1
            raise UserError(f"{self.path}, line {number}: {self._explain(fault, place, piece)}; export the table again")
        self.parts.append(_used(rows, self.reordering))

    def _explain(self, fault: int, place: int, piece: bytes) -> str:
        token = re.compile(rb"[^ \t\r\n|]{0,%d}" % _SHOWN).match(piece, place)
        shown = repr(token[0].decode(errors="replace")) if token else "''"
        if fault == kernels.FIELDS or (fault == kernels.SCORES and self.reordering):
            rest = "six probabilities" if self.reordering else "scores ||| alignment"
            return f"expected 'source ||| target ||| {rest}'"
        if fault == kernels.LENGTH:
            return f"a phrase has {place} words; 1 to {LONGEST} can be read"
        if fault == kernels.SCORES:
            return f"has {place} scores where line 1 has {self.columns}" if place else "has no scores"
        if fault == kernels.RANGE or shown.strip("'+-").lower() in ("nan", "inf", "infinity"):
            return f"a score is not a probability ({shown})"
        if fault == kernels.OUTSIDE:
            return f"a link lies outside the phrases ({shown})"
        expected = {kernels.NUMBER: "number", kernels.LINK: "link i-j", kernels.COUNT: "count"}[fault]
        return f"a field cannot be read ({shown} is not a {expected})"

    def rows(self) -> MosesRows:
        if not self.parts:
            raise UserError(f"{self.path}: holds no phrase pair; export the table again")
        source, target, links, lengths, scores, counts = (
            np.concatenate(part) for part in zip(*self.parts, strict=True)
        )
        offsets = np.zeros((3, len(lengths) + 1), dtype=np.int64)
        np.cumsum(lengths.T, axis=1, out=offsets[:, 1:])
        return MosesRows(
            source=Ragged(source, offsets[0]),
            target=Ragged(target, offsets[1]),
            links=Ragged(links, offsets[2]),
            scores=scores,
            counts=counts,
        )


def _count_scores(piece: bytes) -> int:
    """How many scores the first row has; 1 where it has none, which the parser then finds wanting."""
    fields = piece.split(b"\n", 1)[0].rstrip(b"\r").split(b"|||", 3)
    return max(1, len(re.findall(rb"[^ \t]+", fields[2]))) if len(fields) > 2 else 1


def _used(rows: Rows, reordering: bool) -> list[np.ndarray]:
    """Copies of the parts of the arrays that were filled."""
    number, source, target, links = rows.used.tolist()
    counts = rows.counts[: 0 if reordering else number]
    parts = (rows.source[:source], rows.target[:target], rows.links[:links], rows.lengths[:number])
    return [part.copy() for part in (*parts, rows.scores[:number], counts)]
