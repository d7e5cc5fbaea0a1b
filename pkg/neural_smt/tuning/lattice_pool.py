"""The lattices that tuning has seen so far, over all its decoding passes: one graph per sentence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from neural_smt.decoding.lattices.flat import FlatLattices
from neural_smt.io.files import atomic
from neural_smt.io.ragged import Ragged
from neural_smt.tuning.candidates import Candidates


@dataclass(frozen=True)
class LatticePool:
    """Every sentence's lattices of all passes as one lattice, and those derivations that were listed to tune on.

    Its length is the number of arcs.
    """

    lattices: FlatLattices
    candidates: Candidates

    def __len__(self) -> int:
        return len(self.lattices.tails)

    @classmethod
    def empty(cls, size: int, features: int) -> LatticePool:
        """No lattices yet, for ``size`` sentences and ``features`` feature values."""
        return cls(FlatLattices.of([None] * size, features), Candidates.empty(size, features))

    def extended(self, lattices: FlatLattices) -> LatticePool:
        """This pool and the lattices of another pass, one for each sentence (empty ones have no nodes)."""
        return replace(self, lattices=join(self.lattices, lattices) if len(self) else lattices)

    def save(self, folder: Path) -> None:
        """Write both into ``folder``, replacing an older one atomically."""
        with atomic(folder, directory=True) as temporary:
            self.lattices.save(temporary / "lattices")
            self.candidates.save(temporary / "candidates")

    @classmethod
    def load(cls, folder: Path) -> LatticePool:
        """Read what ``save`` wrote."""
        return cls(
            FlatLattices.load(Path(folder) / "lattices", mapped=False), Candidates.load(Path(folder) / "candidates")
        )


def join(first: FlatLattices, second: FlatLattices) -> FlatLattices:
    """Both lattices of every sentence side by side, with one start and one end: the derivations of either.

    The upper envelope of a union is that of both envelopes, so this is all that several passes need. A sentence may be
    empty (without nodes) in either.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} lattices cannot be joined with {len(second)}")
    sizes = [np.diff(part.node_offsets) for part in (first, second)]
    inner = [np.maximum(size - 2, 0) for size in sizes]
    node_offsets = np.zeros(len(first) + 1, dtype=np.int64)
    np.cumsum(inner[0] + inner[1] + 2 * ((sizes[0] > 0) | (sizes[1] > 0)), out=node_offsets[1:])
    places = [_places(first, node_offsets, 0 * inner[0]), _places(second, node_offsets, inner[0])]
    parts = list(zip((first, second), places, strict=True))
    heads = np.concatenate([np.repeat(place, np.diff(part.arc_offsets)) for part, place in parts])
    order = np.argsort(heads, kind="stable")
    words = Ragged(
        np.concatenate([first.words.values, second.words.values]),
        np.concatenate([first.words.offsets, first.words.offsets[-1] + second.words.offsets[1:]]),
    )
    return FlatLattices(
        node_offsets,
        np.searchsorted(heads[order], np.arange(node_offsets[-1] + 1)).astype(np.int64),
        np.concatenate([place[part.tails] for part, place in parts])[order].astype(np.int32),
        np.ascontiguousarray(np.concatenate([first.features, second.features], axis=1)[:, order]),
        words.take(order),
    )


def _places(part: FlatLattices, node_offsets: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Where each node goes: starts and ends onto those of ``node_offsets``, inner nodes ``shift`` nodes further on."""
    sizes = np.diff(part.node_offsets)
    old = np.arange(part.node_offsets[-1])
    places = old + np.repeat(node_offsets[:-1] + shift - part.node_offsets[:-1], sizes)
    filled = sizes > 0
    places[part.node_offsets[:-1][filled]] = node_offsets[:-1][filled]
    places[part.node_offsets[1:][filled] - 1] = node_offsets[1:][filled] - 1
    return places
