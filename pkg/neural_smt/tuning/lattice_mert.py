"""Minimum error rate training over lattices (Macherey et al. 2008), and the error surface of all their derivations.

A line search over lattices is exact but costs a hundred times one over candidate lists, and many starting points are
what finds good optima. So lists propose and lattices decide: n-best lists are drawn from the lattices as decoding would
draw them, MERT on the lists ends in many points, each of which the lattices evaluate. The lists only lack derivations,
so they promise too much: the next lists are drawn where they promise most, until no promise exceeds what was reached.
From the point that the lattices value most, their own envelopes are climbed to the end.
"""

from collections.abc import Sequence

import numpy as np

from neural_smt.bleu import bleu
from neural_smt.decoding.lattices.flat import FlatLattices, list_paths
from neural_smt.experiment.settings import Settings
from neural_smt.io.ragged import Ragged
from neural_smt.shards import in_threads
from neural_smt.tuning import lattice_primitives as kernels
from neural_smt.tuning.candidates import Candidates
from neural_smt.tuning.mert import NARROWEST, ErrorSurface, Optimum, Point, Surface, highest, optima

REACH = 1.0
"""How far a line is searched both ways, in units of the L1 norm of the tunable weights."""

SAME = 1e-3
"""Sums of a feature over the derivations of a sentence that differ by less count as the same (rounding)."""


class LatticeSurface(Surface):
    """The surface of all derivations of lattices.

    lattices: one per sentence; references: int32 ``Ragged`` of as many, in the ids of the lattices' words.
    """

    def __init__(self, lattices: FlatLattices, references: Ragged, tunable: np.ndarray | None = None):
        if len(references) != len(lattices):
            raise ValueError(f"{len(lattices)} lattices for {len(references)} references")
        super().__init__(lattices.features, tunable)
        self.lattices, self.references, arcs = lattices, references, len(lattices.tails)
        heads = np.repeat(np.arange(len(lattices.arc_offsets) - 1), np.diff(lattices.arc_offsets))
        first_nodes = np.repeat(lattices.node_offsets[:-1], np.diff(lattices.first_arcs))
        self.pool = kernels.PooledLattices(
            node_offsets=lattices.node_offsets,
            first_arcs=lattices.first_arcs,
            tails=(lattices.tails - first_nodes).astype(np.int32),
            heads=(heads - first_nodes).astype(np.int32),
            numbers=np.arange(arcs, dtype=np.int32),
            words=lattices.words.values,
            word_offsets=lattices.words.offsets,
            references=references.values,
            reference_offsets=references.offsets,
        )
        self._level = np.zeros(arcs, dtype=np.float32)  # slopes of no direction at all

    def best_at(self, scores: np.ndarray) -> np.ndarray:
        """The potentials of the nodes, float64 ``[2, M]``: see ``find_potentials``."""
        return kernels.find_all_potentials(self.pool, scores, self._level)

    def total(self, point: Point) -> np.ndarray:
        """See ``Surface``."""
        return kernels.count_best(self.pool, point.scores, self._level, point.best)

    def search(self, point: Point, feature: int, narrowest: float = NARROWEST) -> tuple[float, float]:
        """See ``Surface``; the line is searched as far as ``REACH``."""
        reach = REACH * (np.abs(point.weights[self.tunable]).sum() or 1.0)
        envelopes = kernels.find_envelopes(self.pool, self.columns[feature], point.scores, point.best, -reach, reach)
        x, value = kernels.sweep_envelopes(envelopes, narrowest, -reach, reach)
        return x, value**0.25

    def is_constant(self, feature: int) -> bool:
        """Whether a feature has the same sum along all derivations of a sentence: the highest is the lowest."""
        column = self.columns[feature].astype(np.float64)
        ends = self.pool.node_offsets[1:][np.diff(self.pool.node_offsets) > 0] - 1
        return bool(np.allclose(self.best_at(column)[0, ends], -self.best_at(-column)[0, ends], atol=SAME))

    def bleu_of(self, paths: Ragged) -> float:
        """Corpus BLEU (0 to 1) of one derivation for every sentence, int32 ``Ragged`` of arcs."""
        sentences = np.arange(len(self.lattices), dtype=np.int32)
        return bleu(kernels.count_paths(self.pool, sentences, *paths.arrays))

    def listed(
        self, candidates: Candidates, paths: Ragged, first: np.ndarray, network: np.ndarray | None = None
    ) -> Candidates:
        """The candidates and those of the derivations ``paths`` (int32 ``Ragged`` of arcs) that are not among them.

        first: int64 ``[S + 1]``, the paths of each sentence; network: float64 ``[n]``, a further feature of the paths.
        """
        sentences = np.repeat(np.arange(len(self.lattices), dtype=np.int32), np.diff(first))
        rows = np.repeat(np.arange(len(paths)), paths.lengths)
        sums = [np.bincount(rows, column[paths.values], len(paths)) for column in self.columns]
        features = np.column_stack(sums if network is None else [*sums, network])
        return candidates.with_ids(sentences, self.lattices.translations(paths), features, self.references)


ROUNDS = 20
"""N-best lists are drawn under at most this many weights."""

PATIENCE = 6
"""After so many rounds that promise nothing new, each from other random points, none is expected."""

APART = 1e-5
"""Points of which no weight differs by as much as this give the same lists."""


def optimise_lattices(
    surface: LatticeSurface,
    start: np.ndarray,
    candidates: Candidates,
    settings: Settings,
    generator: np.random.Generator,
    threads: int = 1,
) -> tuple[Optimum, Candidates]:
    """The best point found from ``start``, and the candidates with all that was listed on the way.

    candidates: translations in the lattices that are known already, none or those of earlier passes; settings:
    ``nbest`` distinct ones are drawn per sentence and round; ``restarts`` and ``refinements`` are those of each round
    on the lists. The result does not depend on ``threads``.
    """
    start = surface.normalised(np.asarray(start, dtype=np.float64))
    best = Optimum(start, surface.bleu(start))
    drawn, idle = [best.weights], 0
    for _ in range(ROUNDS):
        if not idle:
            candidates = surface.listed(candidates, *list_paths(surface.lattices, drawn[-1], settings.nbest))
        lists = ErrorSurface(candidates, surface.tunable)
        promises = optima(lists, [drawn[-1], best.weights], settings, generator, threads)
        reached = in_threads(surface.bleu, [promise.weights for promise in promises], threads)
        pairs = zip(promises, reached, strict=True)
        best = highest([best, *(Optimum(promise.weights, value) for promise, value in pairs)])
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
