"""The best derivations of lattices under new weights, without decoding again."""

from dataclasses import dataclass, replace

import numpy as np

from neural_smt.decoding.lattices.flat import FlatLattices
from neural_smt.decoding.lattices.lattice import Lattice
from neural_smt.io.ragged import Ragged
from neural_smt.jit import kernel


@dataclass(frozen=True)
class BestPaths:
    """The best derivation of every sentence.

    arcs: int32 ``Ragged`` of S derivations, numbers of arcs, the first arc first (none for an empty sentence);
    scores: float64 ``[S]``, their weighted scores (0 for an empty sentence).
    """

    arcs: Ragged
    scores: np.ndarray

    def features(self, lattices: FlatLattices) -> np.ndarray:
        """float32 ``[S, F]``: the feature values of the derivations."""
        rows = np.zeros((len(self.arcs), len(lattices.features)))
        filled = np.flatnonzero(self.arcs.lengths)
        if len(filled):
            columns = lattices.features[:, self.arcs.values].astype(np.float64)
            rows[filled] = np.add.reduceat(columns, self.arcs.offsets[filled], axis=1).T
        return rows.astype(np.float32)

    def words(self, lattices: FlatLattices) -> Ragged:
        """int32 ``Ragged`` of S translations, target ids."""
        found = lattices.words.take(self.arcs.values)
        return Ragged(found.values, found.offsets[self.arcs.offsets])


@kernel
def _best_arcs(
    node_offsets: np.ndarray, arc_offsets: np.ndarray, tails: np.ndarray, scores: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Arcs (int32) and offsets (int64 [S + 1]) of the best derivations, and their scores (float64 [S])."""
    sentences, nodes = len(node_offsets) - 1, len(arc_offsets) - 1
    best, entered = np.zeros(nodes), np.full(nodes, -1, dtype=np.int32)
    offsets, totals = np.zeros(sentences + 1, dtype=np.int64), np.zeros(sentences)
    for node in range(nodes):
        for arc in range(arc_offsets[node], arc_offsets[node + 1]):
            score = best[tails[arc]] + scores[arc]
            if entered[node] < 0 or score > best[node]:
                best[node] = score
                entered[node] = arc
    for sentence in range(sentences):
        length = 0
        if node_offsets[sentence] < node_offsets[sentence + 1]:
            node = node_offsets[sentence + 1] - 1
            totals[sentence] = best[node]
            while entered[node] >= 0:
                length += 1
                node = np.int64(tails[entered[node]])
        offsets[sentence + 1] = offsets[sentence] + length
    arcs = np.empty(offsets[-1], dtype=np.int32)
    for sentence in range(sentences):
        position = offsets[sentence + 1]
        node = node_offsets[sentence + 1] - 1
        while position > offsets[sentence]:
            position -= 1
            arcs[position] = entered[node]
            node = np.int64(tails[entered[node]])
    return arcs, offsets, totals


def best_paths(lattices: FlatLattices, vector: np.ndarray) -> BestPaths:
    """The best derivation of each lattice under weights ``vector`` (float64 ``[F]``); ties go to the earlier arc."""
    arcs, offsets, totals = _best_arcs(
        lattices.node_offsets, lattices.arc_offsets, lattices.tails, lattices.scores(vector)
    )
    return BestPaths(Ragged(arcs, offsets), totals)


@kernel
def sort_arcs(arc_offsets: np.ndarray, tails: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The arcs in their new order (int64 [A]), best first into each node, and their prefix scores (float64 [A])."""
    order, prefix = np.empty(len(tails), dtype=np.int64), np.empty(len(tails))
    best = np.zeros(len(arc_offsets) - 1)
    for node in range(1, len(arc_offsets) - 1):
        first, last = arc_offsets[node], arc_offsets[node + 1]
        totals = best[tails[first:last]] + scores[first:last]
        ranks = np.argsort(-totals, kind="mergesort")
        order[first:last] = first + ranks
        prefix[first:last] = totals[ranks]
        best[node] = prefix[first]
    return order, prefix


def reweigh(lattice: Lattice, vector: np.ndarray) -> Lattice:
    """The same derivations under other weights (float64 ``[F]``), so that k-best lists are exact under them.

    What the lattice does not hold was pruned under the old weights and stays away. The weighted scores of
    ``lattice.weighted.options`` stay those of the search.
    """
    vector = np.asarray(vector, dtype=np.float64)
    scores = lattice.features(np.arange(len(lattice.tails))) @ vector
    order, prefix = sort_arcs(lattice.arc_offsets, lattice.tails, scores)
    return replace(
        lattice,
        weighted=replace(lattice.weighted, vector=vector),
        tails=lattice.tails[order],
        options=lattice.options[order],
        starts=lattice.starts[order],
        prefix_scores=prefix,
        extras=lattice.extras[order],
    )
