"""Pruning lattices: arcs stay whose best derivation is good enough (max-marginals).

The score of an arc is that of the best derivation through it (Sixtus and Ortmanns 1999, forward-backward pruning);
Macherey et al. (2008) prune the lattices they tune on in this way, to a density.
"""

import math

import numpy as np

from neural_smt.decoding.lattices.lattice import Lattice
from neural_smt.io.ragged import offsets_of
from neural_smt.jit import kernel

ROUNDING = 1e-9
"""Derivations whose scores differ by less, relatively, score the same."""


@kernel
def _max_marginals(arc_offsets: np.ndarray, tails: np.ndarray, prefix_scores: np.ndarray) -> np.ndarray:
    """float64 [A]: the score of the best derivation through each arc."""
    nodes = len(arc_offsets) - 1
    rest = np.full(nodes, -np.inf)  # best way from a node to the end
    rest[nodes - 1] = 0.0
    result = np.empty(len(tails))
    for node in range(nodes - 1, 0, -1):
        for arc in range(arc_offsets[node], arc_offsets[node + 1]):
            tail = np.int64(tails[arc])
            before = prefix_scores[arc_offsets[tail]] if tail > 0 else 0.0
            result[arc] = prefix_scores[arc] + rest[node]
            rest[tail] = max(rest[tail], result[arc] - before)
    return result


def max_marginals(lattice: Lattice) -> np.ndarray:
    """float64 ``[A]``: the weighted score of the best derivation of one sentence through each arc."""
    return _max_marginals(lattice.arc_offsets, lattice.tails, lattice.prefix_scores)


def prune(lattice: Lattice, density: float) -> Lattice:
    """Keep the arcs on the best derivations, ``density`` arcs for each target word of the very best.

    lattice: of one sentence. The best derivation always stays, and so do arcs that tie with the last one kept. With an
    infinite density the lattice is returned as it is.
    """
    if math.isinf(density):
        return lattice
    marginals = max_marginals(lattice)
    best = marginals.max()
    threshold, most = -math.inf, max(1, int(density * _best_length(lattice)))
    if most < len(marginals):
        threshold = -np.partition(-marginals, most - 1)[most - 1]
    return _restrict(lattice, marginals >= min(threshold, best) - ROUNDING * (1 + abs(best)))


def _best_length(lattice: Lattice) -> int:
    """Target words of the best derivation."""
    options = lattice.weighted.options
    node, words = len(lattice.ranges) - 1, 0
    while node > 0:
        arc = lattice.arc_offsets[node]
        option = lattice.options[arc]
        words += int(options.word_offsets[option + 1] - options.word_offsets[option])
        node = int(lattice.tails[arc])
    return words


@kernel
def _drop_loose_ends(arc_offsets: np.ndarray, tails: np.ndarray, kept: np.ndarray) -> None:
    """Unmark the arcs (bool [A]) that rounding left without a marked way from the first node and to the last."""
    nodes = len(arc_offsets) - 1
    reached, leads_on = np.zeros(nodes, dtype=np.bool_), np.zeros(nodes, dtype=np.bool_)
    reached[0] = True
    leads_on[nodes - 1] = True
    for node in range(1, nodes):
        for arc in range(arc_offsets[node], arc_offsets[node + 1]):
            kept[arc] &= reached[tails[arc]]
            reached[node] |= kept[arc]
    for node in range(nodes - 1, 0, -1):
        for arc in range(arc_offsets[node], arc_offsets[node + 1]):
            kept[arc] &= leads_on[node]
            leads_on[tails[arc]] |= kept[arc]


def _restrict(lattice: Lattice, kept: np.ndarray) -> Lattice:
    """The lattice of the arcs ``kept`` (bool ``[A]``) and the nodes they join."""
    _drop_loose_ends(lattice.arc_offsets, lattice.tails, kept)
    heads, tails = lattice.heads[kept], lattice.tails[kept]
    alive = np.zeros(len(lattice.ranges), dtype=bool)
    alive[heads] = True
    alive[tails] = True
    alive[[0, -1]] = True
    number, nodes = np.cumsum(alive) - 1, int(alive.sum())
    return lattice.select(
        alive,
        kept,
        node_offsets=np.array([0, nodes]),
        arc_offsets=offsets_of(np.bincount(number[heads], minlength=nodes)),
        tails=number[tails].astype(np.int32),
    )
