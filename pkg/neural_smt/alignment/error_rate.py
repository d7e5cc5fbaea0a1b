"""Precision, recall and alignment error rate against alignments made by hand (Och and Ney 2003, section 6.1)."""

from dataclasses import astuple, dataclass

import numpy as np

from neural_smt.io.ragged import Ragged


@dataclass(frozen=True)
class ErrorCounts:
    """Link counts summed over sentence pairs: A the links found, S the sure, P the sure and possible gold links."""

    links: int = 0
    """|A|"""
    sure: int = 0
    """|S|"""
    links_possible: int = 0
    """|A and P|"""
    links_sure: int = 0
    """|A and S|"""

    def __add__(self, other: "ErrorCounts") -> "ErrorCounts":
        return ErrorCounts(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    @property
    def precision(self) -> float:
        """|A and P| / |A|; 1 when nothing was linked."""
        return self.links_possible / self.links if self.links else 1.0

    @property
    def recall(self) -> float:
        """|A and S| / |S|; 1 when no gold link is sure."""
        return self.links_sure / self.sure if self.sure else 1.0

    @property
    def error_rate(self) -> float:
        """AER = 1 - (|A and S| + |A and P|) / (|A| + |S|); 0 when there is neither."""
        total = self.links + self.sure
        return 1.0 - (self.links_sure + self.links_possible) / total if total else 0.0


def count_errors(alignments: Ragged, gold: Ragged, sure: np.ndarray) -> ErrorCounts:
    """Compare alignments with gold, int16 ``[links, 2]`` per pair; ``sure`` is bool ``[gold links]``.

    Links and gold links are sets: one given twice counts once, and is sure when it is sure once.
    """
    found, possible = np.unique(_keys(alignments)), np.unique(_keys(gold))
    certain = np.unique(_keys(gold)[sure])
    return ErrorCounts(
        links=len(found),
        sure=len(certain),
        links_possible=int(np.isin(found, possible, assume_unique=True).sum()),
        links_sure=int(np.isin(found, certain, assume_unique=True).sum()),
    )


def _keys(alignments: Ragged) -> np.ndarray:
    """One int64 per link that holds sentence pair, source and target position."""
    pairs = np.repeat(np.arange(len(alignments)), alignments.lengths)
    links = alignments.values.astype(np.int64)
    return (pairs << 32) | (links[:, 0] << 16) | links[:, 1]
