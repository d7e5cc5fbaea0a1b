"""Minimum error rate training (Och 2003): weights that give the candidate lists the highest corpus BLEU.

As in Moses' ``mert``, every coordinate is searched exactly from each starting point, until that gains no more than 1e-4
BLEU; starting points are the current weights and random ones. Most candidates are the best of their sentence nowhere
near: searches go over those that are best at one of some hundred points, and all candidates decide between their ends.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from neural_smt.experiment.settings import Settings
from neural_smt.jit import kernel
from neural_smt.shards import in_threads
from neural_smt.tuning.candidates import Candidates
from neural_smt.tuning.envelope_primitives import (
    CandidateLists,
    best_rows,
    mark_best,
    quality,
    search_line,
    sort_slopes,
)

MIN_GAIN = 1e-4
"""A coordinate ascent ends with the round that gains no more BLEU (0 to 1) than this."""

NARROWEST = 1e-4
"""Intervals of a line narrower than this are passed over (weights have an L1 norm of 1)."""

NOISE = 0.1
"""Standard deviation of the noise on the points of a refinement, in units of the mean absolute weight."""

CLIMBED = 3
"""Ends of searches over few candidates from which all candidates are searched."""

SCOUTS, REACHES = 150, (0.02, 0.1, 0.4)
"""Random points, and as many around the current weights, at which candidates are looked for; the steps along each
coordinate, both ways, to others (weights have an L1 norm of 1).
"""

REFINED_TOGETHER = 2
"""Refinements that start from the same best point; a constant, so that threads do not change the result."""


@dataclass(frozen=True)
class Optimum:
    """Weights float64 ``[F]`` and the corpus BLEU (0 to 1) they give on the candidate lists."""

    weights: np.ndarray
    bleu: float


@dataclass(frozen=True)
class Point:
    """Weights float64 ``[F]``, the scores float64 ``[N]`` of all that is weighted there, and what is best then.

    best: see ``Surface.best_at``.
    """

    weights: np.ndarray
    scores: np.ndarray
    best: np.ndarray


class Surface(ABC):
    """Corpus BLEU of the best translations as a function of the weights, prepared for searches along coordinates.

    columns: float32 ``[F, N]``, the feature values of candidates, or of what these are made of; tunable: bool ``[F]``,
    the coordinates that may be searched (all by default).
    """

    def __init__(self, columns: np.ndarray, tunable: np.ndarray | None = None):
        self.columns = columns
        self.tunable = np.ones(len(columns), dtype=bool) if tunable is None else np.asarray(tunable, dtype=bool)

    @abstractmethod
    def best_at(self, scores: np.ndarray) -> np.ndarray:
        """What is best under these scores, as ``total`` and ``search`` read it."""

    @abstractmethod
    def total(self, point: Point) -> np.ndarray:
        """The summed statistics of the best translations, int64 ``[9]``."""

    @abstractmethod
    def search(self, point: Point, feature: int, narrowest: float = NARROWEST) -> tuple[float, float]:
        """The best step along one coordinate, searched exactly, and the corpus BLEU (0 to 1) after it."""

    @abstractmethod
    def is_constant(self, feature: int) -> bool:
        """Whether a feature has one value for all candidates of a sentence."""

    def locate(self, weights: np.ndarray) -> Point:
        """The point of these weights, float64 ``[F]``, with the model scores of all that is weighted."""
        weights, scores = np.asarray(weights, dtype=np.float64), np.zeros(self.columns.shape[1])
        for column, weight in zip(self.columns, weights, strict=True):
            step(scores, column, weight)
        return Point(weights, scores, self.best_at(scores))

    def moved(self, point: Point, feature: int, x: float) -> Point:
        """The point a step ``x`` along a coordinate away."""
        weights, scores = point.weights.copy(), point.scores.copy()
        weights[feature] += x
        step(scores, self.columns[feature], x)
        return Point(weights, scores, self.best_at(scores))

    def bleu(self, weights: np.ndarray) -> float:
        """Corpus BLEU (0 to 1) under ``weights`` float64 ``[F]``."""
        return float(quality(self.total(self.locate(weights))) ** 0.25)

    def normalised(self, weights: np.ndarray) -> np.ndarray:
        """The tunable weights scaled to an L1 norm of 1, where that changes no ranking.

        It does not as long as features with a fixed, non-zero weight have one value for all candidates of a sentence,
        as the unknown-word penalty has; otherwise the weights are returned as they are.
        """
        if not all(self.is_constant(feature) for feature in np.flatnonzero(~self.tunable & (weights != 0)).tolist()):
            return weights
        norm = np.abs(weights[self.tunable]).sum()
        return np.where(self.tunable, weights / norm, weights) if norm > 0 else weights

    def ascend(self, weights: np.ndarray, min_gain: float = MIN_GAIN, narrowest: float = NARROWEST) -> np.ndarray:
        """The weights after the best step of one coordinate after the other, in rounds, until one gains too little.

        Moses takes only the best step of all coordinates and searches them all anew after it. Taking every step that
        gains ends as high with half the searches.
        """
        point, latest = self.locate(weights), -1
        bleu = quality(self.total(point)) ** 0.25
        while True:
            before = bleu
            for feature in np.flatnonzero(self.tunable).tolist():
                if feature == latest:  # nothing has changed since it was searched
                    continue
                x, value = self.search(point, feature, narrowest)
                if value > bleu:
                    point, bleu, latest = self.moved(point, feature, x), value, feature
            if bleu - before <= min_gain:
                return point.weights


class ErrorSurface(Surface):
    """The surface of candidate lists.

    Sorting each feature within each sentence once is what makes every later line search linear in the candidates.
    Memory: 16 bytes per candidate and feature.
    """

    def __init__(self, candidates: Candidates, tunable: np.ndarray | None = None):
        super().__init__(np.ascontiguousarray(candidates.features.T), tunable)
        self.candidates = candidates
        slopes, rows = np.zeros_like(self.columns), np.zeros(self.columns.shape, dtype=np.int32)
        self.lists = CandidateLists(self.columns, slopes, rows, candidates.offsets, candidates.statistics)
        self.first_rows = candidates.offsets[candidates.sentences]
        for feature in np.flatnonzero(self.tunable):
            sort_slopes(self.columns[feature], candidates.offsets, slopes[feature], rows[feature])

    def narrowed(self, points: np.ndarray) -> "ErrorSurface":
        """The surface of those candidates that are best at any of these points, float64 ``[K, F]``."""
        marked = np.zeros(len(self.candidates), dtype=bool)
        mark_best(self.columns, self.lists.offsets, points.astype(np.float32), marked)
        return ErrorSurface(self.candidates.take(np.flatnonzero(marked)), self.tunable)

    def best_at(self, scores: np.ndarray) -> np.ndarray:
        """The row of the best candidate of each sentence, int32 ``[S]``; -1 without candidates."""
        return best_rows(scores, self.lists.offsets)

    def total(self, point: Point) -> np.ndarray:
        """See ``Surface``."""
        return self.lists.statistics[point.best[point.best >= 0]].sum(axis=0, dtype=np.int64)

    def search(self, point: Point, feature: int, narrowest: float = NARROWEST) -> tuple[float, float]:
        """See ``Surface``."""
        x, value = search_line(self.lists, feature, point.scores, point.best, narrowest)
        return x, value**0.25

    def is_constant(self, feature: int) -> bool:
        """See ``Surface``."""
        column = self.columns[feature]
        return np.array_equal(column, column[self.first_rows])


def look_out(surface: Surface, current: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Points at which candidates are looked for that searches may come upon, float64 ``[K, F]``: random ones, some
    around the current weights, and some along each coordinate.
    """
    size, coordinates = len(current), np.eye(len(current))[surface.tunable]
    near = 2 * NOISE / max(1, len(coordinates)) * generator.standard_normal((SCOUTS, size))
    along = np.concatenate([step * coordinates for reach in REACHES for step in (-reach, reach)])
    points = np.concatenate([current[None], generator.uniform(size=(SCOUTS, size)), current + near, current + along])
    return np.where(surface.tunable, points, current)


def optima(
    surface: ErrorSurface,
    starts: Sequence[np.ndarray],
    settings: Settings,
    generator: np.random.Generator,
    threads: int = 1,
) -> list[Optimum]:
    """The point ``starts[0]`` and the ends of searches from ``starts``, from random points, and from around the best.

    settings: how many of these (``restarts`` and ``refinements``). The random points are uniform between 0 and 1, as in
    Moses; fixed weights keep the value they have in ``starts[0]``. The refinements, which Moses has not, start near the
    best point found so far (iterated local search): they find more for less time than as many random points. The result
    does not depend on ``threads``.
    Searches go over the candidates that are best somewhere (``look_out``), and from the best of their ends on over all.
    """
    current = np.asarray(starts[0], dtype=np.float64)
    size = len(current)
    drawn = generator.uniform(size=(settings.restarts, size))
    noise = NOISE / max(1, surface.tunable.sum()) * generator.standard_normal((settings.refinements, size))

    given = surface.normalised(current)
    found = [Optimum(given, surface.bleu(given))]

    def search(among: ErrorSurface, points: Iterable[np.ndarray]) -> None:
        def climb(point: np.ndarray) -> Optimum:
            weights = surface.normalised(among.ascend(surface.normalised(np.where(surface.tunable, point, current))))
            return Optimum(weights, surface.bleu(weights))

        found.extend(in_threads(climb, list(points), threads))

    def search_all() -> None:
        best = sorted(found, key=lambda optimum: -optimum.bleu)[:CLIMBED]
        search(surface, [optimum.weights for optimum in best])

    search(surface.narrowed(look_out(surface, given, generator)), [*starts, *drawn])
    search_all()
    if settings.refinements:
        few = surface.narrowed(look_out(surface, highest(found).weights, generator))
        for first in range(0, settings.refinements, REFINED_TOGETHER):
            search(few, highest(found).weights + noise[first : first + REFINED_TOGETHER])
        search_all()
    return found


def highest(found: Iterable[Optimum]) -> Optimum:
    """The optimum of the highest BLEU, the first of equals."""
    return max(found, key=lambda optimum: optimum.bleu)


@kernel(fastmath={"contract"})
def step(scores: np.ndarray, column: np.ndarray, x: float) -> None:
    """Add ``x`` times a feature to the scores."""
    for row in range(len(scores)):
        scores[row] += x * column[row]
