"""The lattices of many sentences laid end to end: plain arrays for kernels, files, tuning and rescoring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neural_smt.decoding.lattices.lattice import Lattice
from neural_smt.io.files import atomic, load_array, save_arrays
from neural_smt.io.ragged import Ragged

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
        """Lay lattices (None: an empty sentence) of ``scores`` scores end to end."""
        node_offsets = np.zeros(len(lattices) + 1, dtype=np.int64)
        np.cumsum([0 if lattice is None else len(lattice.ranges) for lattice in lattices], out=node_offsets[1:])
        in_degrees, tails, words = [], [], []
        features = np.empty((scores, sum(len(lattice.tails) for lattice in lattices if lattice)), np.float32)
        arc = 0
        for lattice, first in zip(lattices, node_offsets[:-1], strict=True):
            if lattice is not None:
                count = len(lattice.tails)
                in_degrees.append(np.diff(lattice.arc_offsets))
                tails.append(lattice.tails + np.int32(first))
                features[:, arc : arc + count] = lattice.features(np.arange(count)).T
                words.append(lattice.words)
                arc += count
        arc_offsets = np.zeros(node_offsets[-1] + 1, dtype=np.int64)
        np.cumsum(np.concatenate([np.zeros(0, np.int64), *in_degrees]), out=arc_offsets[1:])
        word_offsets = np.zeros(arc_offsets[-1] + 1, dtype=np.int64)
        np.cumsum(np.concatenate([np.zeros(0, np.int64), *(part.lengths for part in words)]), out=word_offsets[1:])
        return cls(
            node_offsets,
            arc_offsets,
            np.concatenate([np.zeros(0, np.int32), *tails]),
            features,
            Ragged(np.concatenate([np.zeros(0, np.int32), *(part.values for part in words)]), word_offsets),
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
