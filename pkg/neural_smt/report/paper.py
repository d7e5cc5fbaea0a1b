"""What tables that stand beside a paper's are made of: rows, and the columns of their numbers as CSV."""

from __future__ import annotations

from typing import NamedTuple

HEADER = ("table", "row", "system", "set", "quantity", "paper", "here")
"""Columns of the CSV: one number of the paper and ours, where there are any."""


class PaperRow(NamedTuple):
    """A row of a table and the system that stands for it. dev, test: BLEU of the paper on its development set and on
    its test sets (their mean, or one of them); perplexity: of a test set. None where the paper has no number.
    """

    label: str
    system: str
    dev: float | None = None
    test: float | None = None
    perplexity: float | None = None


class PaperTable(NamedTuple):
    """A table of systems. note: what its numbers are of."""

    name: str
    title: str
    rows: tuple[PaperRow, ...]
    note: str = ""

    @property
    def heading(self) -> str:
        """What stands above the table: its number in the paper, if it has one, and its title."""
        return f"Table {self.name}: {self.title}" if self.name.isdigit() else f"{self.name}: {self.title}"
