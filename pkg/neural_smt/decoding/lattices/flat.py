"""The lattices of many sentences laid end to end: plain arrays for kernels, files, tuning and rescoring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neural_smt.decoding.lattices.lattice import Lattice
from neural_smt.io.files import atomic, load_array, save_arrays
from neural_smt.io.ragged import Ragged
from neural_smt.jit import kernel

ARRAYS = ("node_offsets", "arc_offsets", "tails", "features")

BLOCK = 8192
"""Arcs scored at a time, so that their features in float64 stay in the processor's cache."""


@dataclass(frozen=True)
class FlatLattices:
    """The lattices of S sentences: M nodes, A arcs, F scores.

    node_offsets: int64 ``[S + 1]``: the nodes of sentence s are ``node_offsets[s]:node_offsets[s + 1]``, in an order
    in which every arc leads to a higher node; the first is the start, the last the end of the sentence; an empty
    sentence has none. arc_offsets: int64 ``[M + 1]``, the arcs into each node; tails: int32 ``[A]``, the node (numbered
    over all sentences) that an arc leaves; features: float32 ``[F, A]``, the feature values of each arc, a row per
    score, which sum to those of a derivation along its arcs; words: int32 ``Ragged`` of A phrases, target ids.
    """

    node_offsets: np.ndarray
    arc_offsets: np.ndarray
    tails: np.ndarray
    features: np.ndarray
    words: Ragged

    def __len__(self) -> int:
        """The number of sentences S."""
        return len(self.node_offsets) - 1

    @classmethod
    def of(cls, lattices: Sequence[Lattice | None], scores: int) -> FlatLattices:
        """Lay lattices of one sentence each (None: an empty sentence), with ``scores`` scores, end to end."""
        node_offsets = np.cumsum([0, *(0 if lattice is None else len(lattice.ranges) for lattice in lattices)])
        pairs = zip(lattices, node_offsets[:-1].astype(np.int32), strict=True)
        filled = [(lattice, first) for lattice, first in pairs if lattice is not None]
        in_degrees = [np.diff(lattice.arc_offsets) for lattice, _ in filled]
        features = np.empty((scores, sum(len(lattice.tails) for lattice, _ in filled)), np.float32)
        stop = 0
        for lattice, _ in filled:
            start, stop = stop, stop + len(lattice.tails)
            features[:, start:stop] = lattice.features(np.arange(stop - start)).T
        return cls(
            node_offsets,
            np.cumsum(np.concatenate([[0], *in_degrees])),
            np.concatenate([np.zeros(0, np.int32), *(lattice.tails + first for lattice, first in filled)]),
            features,
            Ragged.concatenate([Ragged.from_lists([]), *(lattice.words for lattice, _ in filled)]),
        )

    def scores(self, vector: np.ndarray) -> np.ndarray:
        """float64 ``[A]``: the score of each arc under the weights ``vector`` (float64 ``[F]``)."""
        vector = np.asarray(vector, dtype=np.float64)
        result = np.empty(len(self.tails))
        for start in range(0, len(result), BLOCK):
            result[start : start + BLOCK] = vector @ self.features[:, start : start + BLOCK]
        return result

    def save(self, folder: Path) -> None:
        """Write the arrays as ``.npy`` into ``folder``, replacing an older one atomically."""
        with atomic(folder, directory=True) as temporary:
            save_arrays(temporary, **{name: getattr(self, name) for name in ARRAYS})
            self.words.save(temporary, "words")

    @classmethod
    def load(cls, folder: Path, mapped: bool = True) -> FlatLattices:
        """Read what ``save`` wrote, memory-mapped unless ``mapped`` is false."""
        arrays = (load_array(Path(folder) / f"{name}.npy", mapped) for name in ARRAYS)
        return cls(*arrays, words=Ragged.load(folder, "words", mapped))


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
        return lattices.words.take(self.arcs.values).joined(self.arcs.offsets)


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
