"""Tables 1 and 2 of Mi et al. (2016) in short: what the default sets cover of the reference, and how large they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from neural_smt.errors import UserError
from neural_smt.io.files import read_csv
from neural_smt.report.markdown import table_lines
from neural_smt.report.numbers import number_text
from neural_smt.vocabulary_selection.coverage import TRAINING
from neural_smt.vocabulary_selection.coverage_table import COLUMNS, PAPER, PAPER_TOPS

UNION = "V^P + V^D + V^T"
"""The sets that a sentence is decoded with."""

WANTED = 0.9
"""Share of the reference that the paper's default sets cover on its development set, and more."""


class Held(NamedTuple):
    """What sets of some parts, with the top n of V^D (None without V^D), hold of a text's references.

    coverage, known: shares of running words in the sets, and that the network knows; sentence, batch: mean sizes.
    """

    text: str
    parts: str
    top: int | None
    coverage: float
    known: float
    sentence: float
    batch: float

    @property
    def label(self) -> str:
        """As a table names it."""
        return self.parts if self.top is None else f"{self.parts} ({self.top})"


class PaperSizes(NamedTuple):
    """The paper's figures beside a row: coverage in %, sizes of a sentence and of a batch, None if it has none."""

    coverage: float | None = None
    sentence: float | None = None
    batch: float | None = None


def read_coverage(path: Path) -> list[Held]:
    """Read the CSV of ``measure_candidates``."""
    rows = read_csv(path)
    if not rows or not set(COLUMNS) <= rows[0].keys():
        raise UserError(f"{path}: no table of coverage; run measure_candidates again")
    return [
        Held(
            text=row["text"],
            parts=row["parts"],
            top=int(row["top"]) if row["top"] else None,
            coverage=float(row["coverage"]),
            known=int(row["known"]) / max(int(row["reference_words"]), 1),
            sentence=float(row["sentence_size"]),
            batch=float(row["batch_size"]),
        )
        for row in rows
    ]


def default_rows(coverage: Sequence[Held], dev: str) -> list[Held]:
    """V^P, V^D, both, and with V^T, of the development set and the default top n; then the sets of training.

    The default is what training has; where it has no V^D, the smallest n that was measured stands in its place.
    """
    training = [row for row in coverage if row.parts == TRAINING]
    measured = [row.top for row in coverage if row.top]
    top = next((row.top for row in training if row.top), min(measured, default=None))
    own = [row for row in coverage if row.text == dev and row.parts != TRAINING and row.top in (None, top)]
    if UNION not in [row.parts for row in own]:
        raise UserError(f"the table of coverage has no row of {UNION} for '{dev}'; run measure_candidates again")
    return own + training


def paper_sizes(row: Held) -> PaperSizes:
    """The paper's figures beside a row of ``default_rows``: of its development set, or of its training."""
    if row.parts == TRAINING:
        _, sentence, batch = PAPER["paper, train"]
        return PaperSizes(None, float(sentence), float(batch))
    figures, sentence, _ = PAPER["paper, dev"]
    column = row.parts, row.top
    shares = dict(zip(PAPER_TOPS, map(float, figures), strict=True))
    return PaperSizes(shares.get(column), float(sentence) if column == (UNION, 10) else None)


def coverage_lines(coverage: Sequence[Held], dev: str) -> list[str]:
    """The table, and what is to be said of it, as Markdown."""
    rows = default_rows(coverage, dev)
    header = ["Sets", "Paper: coverage (%)", "sentence", "batch", f"{dev}: coverage (%)", "sentence", "batch"]
    found = []
    for row in rows:
        paper = paper_sizes(row)
        label = f"{row.label}, {row.text}" if row.parts == TRAINING else row.label
        cells = [number_text(paper.coverage, 1), number_text(paper.sentence, 0), number_text(paper.batch, 0)]
        own = f"{100 * row.coverage:.1f}", f"{row.sentence:.0f}", f"{row.batch:.0f}"
        found.append([label, *cells, *own])
    note = " ".join([_compared(rows, dev), _reached(next(row for row in rows if row.parts == UNION))])
    title = "## Tables 1 and 2: coverage of the reference and size of the vocabularies"
    return [title, "", *table_lines(header, found), "", note, ""]


def _compared(rows: Sequence[Held], dev: str) -> str:
    union = next(row for row in rows if row.parts == UNION)
    parts = [row for row in rows if row.parts in ("V^P", "V^D")]
    above = [row for row in parts if row.coverage >= union.coverage]
    if not above:
        return f"On {dev}, the union covers more than each part alone, as in the paper."
    named = " and ".join(f"{row.parts} alone ({100 * row.coverage:.1f} %)" for row in above)
    return f"On {dev}, the union covers no more than {named}, unlike in the paper."


def _reached(union: Held) -> str:
    share = f"It covers {100 * union.coverage:.1f} % of the running words"
    if union.coverage >= WANTED:
        return f"{share}, above {100 * WANTED:.0f} % as the paper's (91.7 %)."
    unknown, missed = 1 - union.known, union.known - union.coverage
    return (
        f"{share}, below {100 * WANTED:.0f} % (paper: 91.7 %): {100 * unknown:.1f} % are words that the network does "
        f"not know, so no set has them, and {100 * missed:.1f} % are known but outside the sets."
    )
