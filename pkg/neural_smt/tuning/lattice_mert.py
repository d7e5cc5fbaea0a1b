"""Minimum error rate training over lattices (Macherey et al. 2008), and the error surface of all their derivations.

A line search over lattices is exact but costs a hundred times one over candidate lists, and many starting points are
what finds good optima. So lists propose and lattices decide: n-best lists are drawn from the lattices as decoding would
draw them, MERT on the lists ends in many points, each of which the lattices evaluate. The lists only lack derivations,
so they promise too much: the next lists are drawn where they promise most, until no promise exceeds what was reached.
From the point that the lattices value most, their own envelopes are climbed to the end.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from neural_smt.decoding.lattices.flat import FlatLattices
from neural_smt.decoding.lattices.kbest import list_paths
from neural_smt.io.ragged import Ragged
from neural_smt.tuning.candidates import Candidates
from neural_smt.tuning.envelope_primitives import quality
from neural_smt.tuning.lattice_primitives import (
    Envelopes,
    PooledLattices,
    count_best,
    count_paths,
    describe,
    find_all_potentials,
    find_envelopes,
    sweep_envelopes,
)
from neural_smt.tuning.mert import MIN_GAIN, NARROWEST, ErrorSurface, Optimum, highest, normalise, optima, project, step

REACH = 1.0
"""How far a line is searched both ways, in units of the L1 norm of the tunable weights."""

SAME = 1e-3
"""Sums of a feature over the derivations of a sentence that differ by less count as the same (rounding)."""


@dataclass(frozen=True)
class Point:
    """Weights float64 ``[F]``, the scores float64 ``[A]`` of all arcs there, and the nodes' potentials ``[2, M]``."""

    weights: np.ndarray
    scores: np.ndarray
    potentials: np.ndarray


@dataclass(frozen=True)
class Line:
    """What a line search found: the best step x, the corpus BLEU (0 to 1) after it, and the envelopes it read."""

    x: float
    bleu: float
    envelopes: Envelopes


class LatticeSurface:
    """Corpus BLEU of the best derivations as a function of the weights; the interface of ``ErrorSurface``.

    lattices: one per sentence; references: int32 ``Ragged`` of as many, in the ids of the lattices' words; tunable:
    bool ``[F]``, the coordinates that may be searched (all by default).
    """

    def __init__(self, lattices: FlatLattices, references: Ragged, tunable: np.ndarray | None = None):
        if len(references) != len(lattices):
            raise ValueError(f"{len(lattices)} lattices for {len(references)} references")
        self.lattices = lattices
        self.size = len(lattices)
        self.columns = lattices.features
        count, arcs = self.columns.shape
        self.tunable = np.ones(count, dtype=bool) if tunable is None else np.asarray(tunable, dtype=bool)
        heads = np.repeat(np.arange(len(lattices.arc_offsets) - 1), np.diff(lattices.arc_offsets))
        first_arcs = lattices.arc_offsets[lattices.node_offsets]
        first_nodes = np.repeat(lattices.node_offsets[:-1], np.diff(first_arcs))
        self.pool = PooledLattices(
            node_offsets=lattices.node_offsets,
            first_arcs=first_arcs,
            tails=(lattices.tails - first_nodes).astype(np.int32),
            heads=(heads - first_nodes).astype(np.int32),
            numbers=np.arange(arcs, dtype=np.int32),
            words=lattices.words.values,
            word_offsets=lattices.words.offsets,
            references=references.values,
            reference_offsets=references.offsets,
        )
        self._level = np.zeros(arcs, dtype=np.float32)  # slopes of no direction at all

    def locate(self, weights: np.ndarray) -> Point:
        """The point of these weights, float64 ``[F]``."""
        weights = np.asarray(weights, dtype=np.float64)
        scores = project(self.columns, weights)
        return Point(weights, scores, self._potentials(scores))

    def bleu(self, weights: np.ndarray) -> float:
        """Corpus BLEU (0 to 1) of the best derivations under ``weights`` float64 ``[F]``."""
        return self._bleu(self.locate(weights))

    def normalised(self, weights: np.ndarray) -> np.ndarray:
        """The tunable weights scaled to an L1 norm of 1, where that changes no ranking (``normalise``)."""
        return normalise(weights, self.tunable, self._is_constant)

    def search(self, point: Point, feature: int, narrowest: float = NARROWEST) -> Line:
        """Search the line through ``point`` along one coordinate, exactly, as far as ``REACH``."""
        reach = REACH * (np.abs(point.weights[self.tunable]).sum() or 1.0)
        envelopes = find_envelopes(self.pool, self.columns[feature], point.scores, point.potentials, -reach, reach)
        x, value = sweep_envelopes(envelopes, narrowest, -reach, reach)
        return Line(x, float(value**0.25), envelopes)

    def moved(self, point: Point, feature: int, x: float) -> Point:
        """The point a step ``x`` along a coordinate away."""
        weights, scores = point.weights.copy(), point.scores.copy()
        weights[feature] += x
        step(scores, self.columns[feature], x)
        return Point(weights, scores, self._potentials(scores))

    def ascend(self, weights: np.ndarray, min_gain: float = MIN_GAIN, narrowest: float = NARROWEST) -> np.ndarray:
        """The weights at the end of a coordinate ascent from ``weights``, as ``ErrorSurface.ascend``."""
        point = self.locate(weights)
        bleu, latest = self._bleu(point), -1
        while True:
            before = bleu
            for feature in np.flatnonzero(self.tunable).tolist():
                if feature == latest:
                    continue
                line = self.search(point, feature, narrowest)
                if line.bleu > bleu:
                    point, bleu, latest = self.moved(point, feature, line.x), line.bleu, feature
            if bleu - before <= min_gain:
                return point.weights

    def listed(self, candidates: Candidates, weights: np.ndarray, limit: int) -> Candidates:
        """The candidates and those of every sentence's ``limit`` best distinct translations that are not among them."""
        paths, first = list_paths(self.lattices, weights, limit)
        sentences = np.repeat(np.arange(self.size, dtype=np.int32), np.diff(first))
        features, digests = describe(self.pool, self.columns, paths.values, paths.offsets)
        return candidates.extended(
            sentences=sentences,
            words=digests,
            features=features,
            statistics=count_paths(self.pool, sentences, paths.values, paths.offsets),
        )

    def _potentials(self, scores: np.ndarray) -> np.ndarray:
        potentials = np.empty((2, int(self.pool.node_offsets[-1])))
        find_all_potentials(self.pool, scores, self._level, potentials)
        return potentials

    def _bleu(self, point: Point) -> float:
        total = count_best(self.pool, point.scores, self._level, point.potentials)
        return float(quality(total) ** 0.25)

    def _is_constant(self, feature: int) -> bool:
        """Whether a feature has the same sum along all derivations of a sentence: the highest is the lowest."""
        column = self.columns[feature].astype(np.float64)
        ends = self.pool.node_offsets[1:][np.diff(self.pool.node_offsets) > 0] - 1
        return bool(np.allclose(self._potentials(column)[0, ends], -self._potentials(-column)[0, ends], atol=SAME))


ROUNDS = 20
"""N-best lists are drawn under at most this many weights."""

PATIENCE = 6
"""After so many rounds that promise nothing new, each from other random points, none is expected."""

APART = 1e-5
"""Points of which no weight differs by as much as this give the same lists."""


def optimise_lattices(
    surface: LatticeSurface,
    starts: Sequence[np.ndarray],
    candidates: Candidates,
    *,
    generator: np.random.Generator,
    nbest: int = 100,
    restarts: int = 20,
    refinements: int = 20,
    threads: int = 1,
) -> tuple[Optimum, Candidates]:
    """The best point found from ``starts``, and the candidates with all that was listed on the way.

    candidates: translations in the lattices that are known already, none or those of earlier passes; nbest: distinct
    ones drawn per sentence and round; restarts, refinements: those of each round on the lists. The result does not
    depend on ``threads``.
    """
    starts = [surface.normalised(np.asarray(start, dtype=np.float64)) for start in starts]
    best = highest(Optimum(start, surface.bleu(start)) for start in starts)
    drawn, idle = [best.weights], 0
    for _ in range(ROUNDS):
        if not idle:
            candidates = surface.listed(candidates, drawn[-1], nbest)
        promises = optima(
            ErrorSurface(candidates, surface.tunable),
            [drawn[-1], best.weights],
            generator=generator,
            restarts=restarts,
            refinements=refinements,
            threads=threads,
        )
        best = highest([best, *evaluate(surface, promises, threads)])
        ahead = [promise for promise in promises if promise.bleu > best.bleu and is_new(promise.weights, drawn)]
        if ahead:
            drawn.append(highest(ahead).weights)
        idle = 0 if ahead else idle + 1
        if idle == PATIENCE:
            break
    climbed = surface.normalised(surface.ascend(best.weights))
    return highest([best, Optimum(climbed, surface.bleu(climbed))]), candidates


def is_new(point: np.ndarray, others: Sequence[np.ndarray]) -> bool:
    """Whether a point is none of the others."""
    return all(np.abs(point - other).max() >= APART for other in others)


def evaluate(surface: LatticeSurface, promises: Sequence[Optimum], threads: int) -> list[Optimum]:
    """The same points with the BLEU that the lattices give them."""
    points = [promise.weights for promise in promises]
    with ThreadPoolExecutor(threads) as pool:
        return [Optimum(weights, bleu) for weights, bleu in zip(points, pool.map(surface.bleu, points), strict=True)]
