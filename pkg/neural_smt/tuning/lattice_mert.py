"""Minimum error rate training over lattices (Macherey et al. 2008).

A line search over lattices is exact but costs a hundred times one over candidate lists, and many starting points are
what finds good optima. So lists propose and lattices decide: n-best lists are drawn from the lattices as decoding would
draw them, MERT on the lists ends in many points, each of which the lattices evaluate. The lists only lack derivations,
so they promise too much: the next lists are drawn where they promise most, until no promise exceeds what was reached.
From the point that the lattices value most, their own envelopes are climbed to the end.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from neural_smt.tuning.candidates import Candidates
from neural_smt.tuning.lattice_surface import LatticeSurface
from neural_smt.tuning.mert import ErrorSurface, Optimum, highest, optima

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
