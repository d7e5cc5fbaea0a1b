"""Minimum error rate training (Och 2003): weights that give the candidate lists the highest corpus BLEU.

As in Moses' ``mert``, every coordinate is searched exactly from each starting point, until that gains no more than 1e-4
BLEU; starting points are the current weights and random ones.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from neural_smt.jit import kernel
from neural_smt.tuning.candidates import Candidates
from neural_smt.tuning.envelope_primitives import best_rows, quality, search_line, sort_slopes

MIN_GAIN = 1e-4
"""A coordinate ascent ends with the round that gains no more BLEU (0 to 1) than this."""

NARROWEST = 1e-4
"""Intervals of a line narrower than this are passed over (weights have an L1 norm of 1)."""

NOISE = 0.1
"""Standard deviation of the noise on the points of a refinement, in units of the mean absolute weight."""

REFINED_TOGETHER = 2
"""Refinements that start from the same best point; a constant, so that threads do not change the result."""


@dataclass(frozen=True)
class Optimum:
    """Weights float64 ``[F]`` and the corpus BLEU (0 to 1) they give on the candidate lists."""

    weights: np.ndarray
    bleu: float


class ErrorSurface:
    """Corpus BLEU of the best candidates as a function of the weights, prepared for searches along coordinates.

    Sorting each feature within each sentence once is what makes every later line search linear in the candidates.
    Memory: 16 bytes per candidate and feature.

    candidates: the lists; tunable: bool ``[F]``, the coordinates that may be searched (all by default).
    """

    def __init__(self, candidates: Candidates, tunable: np.ndarray | None = None):
        count = candidates.features.shape[1]
        self.tunable = np.ones(count, dtype=bool) if tunable is None else np.asarray(tunable, dtype=bool)
        self.offsets = candidates.offsets
        self.first_rows = self.offsets[candidates.sentences]
        self.statistics = candidates.statistics
        self.columns = np.ascontiguousarray(candidates.features.T)
        self.slopes = np.zeros_like(self.columns)
        self.rows = np.zeros(self.columns.shape, dtype=np.int32)
        for feature in np.flatnonzero(self.tunable):
            sort_slopes(self.columns[feature], self.offsets, self.slopes[feature], self.rows[feature])

    def bleu(self, weights: np.ndarray) -> float:
        """Corpus BLEU (0 to 1) of the best candidates under ``weights`` float64 ``[F]``."""
        return float(evaluate(self.columns, self.offsets, self.statistics, weights) ** 0.25)

    def normalised(self, weights: np.ndarray) -> np.ndarray:
        """The tunable weights scaled to an L1 norm of 1, where that changes no ranking (``normalise``)."""
        return normalise(weights, self.tunable, self._is_constant)

    def ascend(self, weights: np.ndarray, min_gain: float = MIN_GAIN, narrowest: float = NARROWEST) -> np.ndarray:
        """The weights at the end of a coordinate ascent from ``weights``."""
        return ascend(
            self.columns,
            self.slopes,
            self.rows,
            self.offsets,
            self.statistics,
            np.flatnonzero(self.tunable),
            np.asarray(weights, dtype=np.float64),
            min_gain,
            narrowest,
        )

    def _is_constant(self, feature: int) -> bool:
        """Whether a feature has one value for all candidates of a sentence."""
        column = self.columns[feature]
        return np.array_equal(column, column[self.first_rows])


def normalise(weights: np.ndarray, tunable: np.ndarray, is_constant: Callable[[int], bool]) -> np.ndarray:
    """The tunable weights scaled to an L1 norm of 1, where that changes no ranking.

    It does not as long as features with a fixed, non-zero weight have one value for all candidates of a sentence
    (``is_constant``), as the unknown-word penalty has; otherwise the weights are returned as they are.
    """
    if not all(is_constant(feature) for feature in np.flatnonzero(~tunable & (weights != 0))):
        return weights
    norm = np.abs(weights[tunable]).sum()
    return np.where(tunable, weights / norm, weights) if norm > 0 else weights


def optimise(surface: ErrorSurface, starts: Sequence[np.ndarray], **options: Any) -> Optimum:
    """The best of ``optima``, which has the same arguments."""
    return highest(optima(surface, starts, **options))


def optima(
    surface: ErrorSurface,
    starts: Sequence[np.ndarray],
    *,
    generator: np.random.Generator,
    restarts: int = 20,
    refinements: int = 20,
    threads: int = 1,
) -> list[Optimum]:
    """The point ``starts[0]`` and the ends of searches from ``starts``, from random points, and from around the best.

    The ``restarts`` random points are uniform between 0 and 1, as in Moses; fixed weights keep the value they have in
    ``starts[0]``. ``refinements`` further searches, which Moses has not, start near the best point found so far
    (iterated local search): they find more for less time than as many random points. The result does not depend on
    ``threads``.
    """
    current = np.asarray(starts[0], dtype=np.float64)
    size = len(current)
    drawn = generator.uniform(size=(restarts, size))
    noise = NOISE / max(1, surface.tunable.sum()) * generator.standard_normal((refinements, size))

    def search(point: np.ndarray) -> Optimum:
        weights = surface.normalised(surface.ascend(surface.normalised(np.where(surface.tunable, point, current))))
        return Optimum(weights, surface.bleu(weights))

    given = surface.normalised(current)
    found = [Optimum(given, surface.bleu(given))]
    with ThreadPoolExecutor(max_workers=threads) as pool:
        found += pool.map(search, [*starts, *drawn])
        for first in range(0, refinements, REFINED_TOGETHER):
            found += pool.map(search, highest(found).weights + noise[first : first + REFINED_TOGETHER])
    return found


def highest(found: Iterable[Optimum]) -> Optimum:
    """The optimum of the highest BLEU, the first of equals."""
    return max(found, key=lambda optimum: optimum.bleu)


@kernel
def project(columns: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Model scores float64 ``[N]`` of candidates given as feature columns float32 ``[F, N]``."""
    scores = np.zeros(columns.shape[1])
    for feature in range(len(columns)):
        step(scores, columns[feature], weights[feature])
    return scores


@kernel(fastmath={"contract"})
def step(scores: np.ndarray, column: np.ndarray, x: float) -> None:
    """Add ``x`` times a feature to the scores."""
    for row in range(len(scores)):
        scores[row] += x * column[row]


@kernel
def evaluate(columns: np.ndarray, offsets: np.ndarray, statistics: np.ndarray, weights: np.ndarray) -> float:
    """Corpus BLEU to the fourth power of the best candidates under the weights."""
    best = np.empty(len(offsets) - 1, dtype=np.int32)
    best_rows(project(columns, weights), offsets, best)
    return quality(summed(statistics, best))


@kernel
def summed(statistics: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The sum of the statistics of some rows (int64 ``[9]``); rows of -1 are left out."""
    total = np.zeros(statistics.shape[1], dtype=np.int64)
    for row in rows:
        if row >= 0:
            total += statistics[row]
    return total


@kernel
def ascend(
    columns: np.ndarray,
    slopes: np.ndarray,
    rows: np.ndarray,
    offsets: np.ndarray,
    statistics: np.ndarray,
    tunable: np.ndarray,
    start: np.ndarray,
    min_gain: float,
    narrowest: float,
) -> np.ndarray:
    """Coordinate ascent: the best step of one coordinate after the other, in rounds, until one gains too little.

    Moses takes only the best step of all coordinates and searches them all anew after it. Taking every step that gains
    ends as high with half the searches.
    """
    weights = start.copy()
    scores = project(columns, weights)
    best = np.empty(len(offsets) - 1, dtype=np.int32)
    best_rows(scores, offsets, best)
    bleu = quality(summed(statistics, best)) ** 0.25
    latest = -1
    while True:
        before = bleu
        for feature in tunable:
            if feature == latest:  # nothing has changed since it was searched
                continue
            x, value = search_line(
                columns[feature], slopes[feature], rows[feature], scores, best, offsets, statistics, narrowest
            )
            if value**0.25 > bleu:
                weights[feature] += x
                step(scores, columns[feature], x)
                best_rows(scores, offsets, best)
                latest, bleu = feature, value**0.25
        if bleu - before <= min_gain:
            return weights
