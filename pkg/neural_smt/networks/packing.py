"""Minibatches without padding: sequences sorted by falling length and stored step by step.

At step t only the first ``sizes[t]`` rows are alive, so a recurrence works on a shrinking block of rows, and the
readout and the softmax see real words only. Where batches are to have few shapes, they are filled up: rows go on,
reading end symbols, and what is predicted after the first of them belongs to no pair.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch

from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.networks.device import CPU, MULTIPLE, uploaded
from neural_smt.networks.softmax import Sample
from neural_smt.vocabulary import EOS


@dataclass(frozen=True)
class Packed:
    """``B`` sequences of ``N`` words in all, each closed by the end symbol, or by as many as fill it up.

    words: int64 ``[N]``, the words of step 0 of every row, then those of step 1, ...; rows: int64 ``[N]``, the row of
    each; sizes: rows alive at each step, not increasing; before: int64 ``[N - B]``, for each position after the first
    step, the word before it; last: int64 ``[B]``, the position of each row's (first) end symbol.
    """

    words: torch.Tensor
    rows: torch.Tensor
    sizes: list[int]
    before: torch.Tensor
    last: torch.Tensor


class Noise(NamedTuple):
    """What makes it harder to learn a batch by heart.

    source, target: ``[B, E]``, what the embeddings of a row's words are multiplied by; readout: ``[B, M]``, the same of
    its maxout units; smoothing: the share of probability that is taken from each word and given to all alike (label
    smoothing, Szegedy et al. 2016).
    """

    source: torch.Tensor
    target: torch.Tensor
    readout: torch.Tensor
    smoothing: float


class Masks(NamedTuple):
    """Of source words ``[N, E]``, of target words that are read ``[N - B, E]``, of the readout ``[N, M]``; or none."""

    source: torch.Tensor | None = None
    target: torch.Tensor | None = None
    readout: torch.Tensor | None = None


UNMASKED = Masks()


@dataclass(frozen=True)
class PairBatch:
    """Phrase pairs: each side in its own order of falling length.

    pairing: int64 ``[B]``, the source row of each target row; order: int64 ``[B]``, the pair of each target row;
    owners: int64 ``[N]``, that of each target position, ``B`` where it only fills up; sample: what target words are
    predicted from, if not from all; noise: in training alone; filled: whether there are positions that fill up.
    """

    source: Packed
    target: Packed
    pairing: torch.Tensor
    order: torch.Tensor
    owners: torch.Tensor
    sample: Sample | None = None
    noise: Noise | None = None
    filled: bool = False

    @property
    def pairs(self) -> int:
        """Number of pairs."""
        return len(self.order)

    @property
    def smoothing(self) -> float:
        """That of the noise, or 0."""
        return self.noise.smoothing if self.noise else 0.0

    def masks(self) -> Masks:
        """The noise at each position."""
        if self.noise is None:
            return UNMASKED
        source, target, readout, _ = self.noise
        rows = self.target.rows
        later = rows[self.pairs :]
        return Masks(source[self.source.rows], target[later], readout[rows])

    @property
    def predictions(self) -> int:
        """Number of target words to predict, end symbols included."""
        return int((self.owners < self.pairs).sum()) if self.filled else len(self.target.words)

    def of_pairs(self, scores: torch.Tensor) -> torch.Tensor:
        """The sums of what positions have, ``[N]``, by pair: ``[B]``."""
        sums = scores.new_zeros(self.pairs + self.filled).index_add(0, self.owners, scores)
        return sums[: self.pairs] if self.filled else sums


def close(sequences: Ragged) -> np.ndarray:
    """The ids of all sequences, one after the other, each with the end symbol."""
    return np.insert(sequences.values, sequences.offsets[1:], EOS)


Filling = Literal["", "rows", "tiles"]
"""How batches are filled up: not at all; all rows go on to the end, for CUDA graphs; rows and positions come in tiles,
for products that are compiled for each shape.
"""

FEW = 8
"""Steps that rows which go on to the end are filled up to a multiple of, if they have more."""

TILE = 16
"""Rows of a tile; positions of a batch come in several tiles (``MULTIPLE``)."""


def _filled_sizes(sizes: np.ndarray, filled: Filling) -> np.ndarray:
    """Rows alive at each step, int64, once they are filled up."""
    rows = sizes[:1]
    if filled == "rows":
        return np.repeat(rows, -(-len(sizes) // FEW) * FEW if len(sizes) > FEW else len(sizes))
    sizes = np.minimum(-(-sizes // TILE) * TILE, rows)
    missing = -sizes.sum() % MULTIPLE
    # the last steps take what is missing, as far as the steps before them have more rows, and then further steps
    for step in range(len(sizes) - 1, 0, -1):
        more = min(missing, sizes[step - 1] - sizes[step])
        sizes[step] += more
        missing -= more
    further = []
    while missing:
        further.append(min(missing, sizes[-1]))
        missing -= further[-1]
    return np.array([*sizes, *further], dtype=np.int64)


def time_major(sequences: Ragged, filled: Filling = "") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sequences, an end symbol added to each, by falling length and step by step.

    Returns int64 ``[B]``, the sequence in each row (equal lengths keep their order); bool ``[steps, B]``, the rows that
    are alive at each step; int64 ``[N]``, where each position of these steps stands in what ``close`` gives. Rows that
    are filled up stay at their end symbol.
    """
    lengths = sequences.lengths + 1
    order = np.argsort(-lengths, kind="stable")
    alive = np.arange(int(lengths.max(initial=0)))[:, None] < lengths[order]
    if filled:
        alive = np.arange(len(order)) < _filled_sizes(alive.sum(axis=1), filled)[:, None]
    steps = np.arange(len(alive))[:, None]
    return order, alive, (offsets_of(lengths)[order] + np.minimum(steps, lengths[order] - 1))[alive]


def pack(sequences: Ragged, device: torch.device = CPU, filled: Filling = "") -> tuple[Packed, np.ndarray]:
    """Pack non-empty or empty sequences of ids, an end symbol added to each, or filled up.

    Returns the packed sequences and int64 ``[B]``, the sequence that each row holds (equal lengths keep their order).
    """
    order, alive, places = time_major(sequences, filled)
    sizes = alive.sum(axis=1)
    starts = np.cumsum(sizes) - sizes
    steps, rows = np.nonzero(alive)
    later = steps > 0
    words = close(sequences)[places].astype(np.int64)
    arrays = {
        "words": words,
        "rows": rows,
        "before": words[starts[steps[later] - 1] + rows[later]],
        "last": starts[sequences.lengths[order]] + np.arange(len(order)),
    }
    tensors = {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in arrays.items()}
    return uploaded(Packed(sizes=sizes.tolist(), **tensors), device), order


def pack_pairs(source: Ragged, target: Ragged, device: torch.device = CPU, filled: Filling = "") -> PairBatch:
    """Pack pair i = (source i, target i) of shortlist ids without end symbols; filled: see ``Filling``."""
    packed_source, source_order = pack(source, filled=filled)
    packed_target, target_order = pack(target, filled=filled)
    pairing, order = map(torch.from_numpy, (np.argsort(source_order)[target_order], target_order))
    owners = order[packed_target.rows]
    if filled:
        owners[torch.arange(len(owners)) > packed_target.last[packed_target.rows]] = len(order)
    return uploaded(PairBatch(packed_source, packed_target, pairing, order, owners, filled=bool(filled)), device)
