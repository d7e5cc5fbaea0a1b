"""Minimum error rate training over lattices (Macherey et al. 2008).

A line search over lattices is exact but costs a hundred times one over candidate lists, and many starting points are
what finds good optima. So the lattices are searched around one point at a time, along all coordinates; the derivations
on the envelopes, the only ones that matter on these lines, are collected as candidate lists; MERT on the lists leads to
the next point. The lists only lack derivations, so they promise too much, and less and less: when the lattices confirm
what was promised, the point is an optimum of both.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from neural_smt.tuning.candidates import Candidates
from neural_smt.tuning.lattice_surface import LatticeSurface
from neural_smt.tuning.mert import ErrorSurface, Optimum, optimise

ROUNDS = 8
"""The lattices are searched around at most this many points."""

CONFIRMED = 2e-4
"""A promise that exceeds the BLEU (0 to 1) of the lattices by less than this counts as kept."""

CONFIRMATIONS = 2
"""So many promises in a row must be kept: new random points are tried between them."""


def optimise_lattices(
    surface: LatticeSurface,
    starts: Sequence[np.ndarray],
    candidates: Candidates,
    *,
    generator: np.random.Generator,
    restarts: int = 10,
    refinements: int = 10,
    threads: int = 1,
) -> tuple[Optimum, Candidates]:
    """The best point found from ``starts``, and the candidates with all that was collected on the way.

    candidates: derivations of the lattices that are known already, none or those of earlier passes; restarts,
    refinements: those of each round on the lists. The result does not depend on ``threads``.
    """
    starts = [surface.normalised(np.asarray(start, dtype=np.float64)) for start in starts]
    best = max((Optimum(start, surface.bleu(start)) for start in starts), key=lambda optimum: optimum.bleu)
    point, confirmed = best.weights, 0
    for _ in range(ROUNDS):
        candidates, ahead = explore(surface, point, candidates, threads)
        if ahead.bleu > best.bleu:
            best = ahead
        promised = optimise(
            ErrorSurface(candidates, surface.tunable),
            [point, best.weights],
            generator=generator,
            restarts=restarts,
            refinements=refinements,
            threads=threads,
        )
        point = promised.weights
        reached = Optimum(point, surface.bleu(point))
        if reached.bleu > best.bleu:
            best = reached
        confirmed = confirmed + 1 if promised.bleu - reached.bleu < CONFIRMED else 0
        if confirmed == CONFIRMATIONS:
            break
    polished = surface.normalised(surface.ascend(best.weights))
    return max(best, Optimum(polished, surface.bleu(polished)), key=lambda optimum: optimum.bleu), candidates


def explore(
    surface: LatticeSurface, weights: np.ndarray, candidates: Candidates, threads: int
) -> tuple[Candidates, Optimum]:
    """Search all coordinates around ``weights``: candidates with what their envelopes add, and the best single step."""
    point = surface.locate(weights)
    features = np.flatnonzero(surface.tunable).tolist()
    with ThreadPoolExecutor(threads) as pool:
        lines = list(pool.map(partial(surface.search, point), features))
    feature, line = max(zip(features, lines, strict=True), key=lambda found: found[1].bleu)
    stepped = point.weights.copy()
    stepped[feature] += line.x
    return surface.listed(candidates, lines), Optimum(surface.normalised(stepped), line.bleu)
