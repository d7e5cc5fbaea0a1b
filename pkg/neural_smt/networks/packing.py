"""Minibatches without padding: sequences sorted by falling length and stored step by step.

At step t only the first ``sizes[t]`` rows are alive, so a recurrence works on a shrinking block of rows, and the
readout and the softmax see real words only.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.networks.device import CPU, uploaded
from neural_smt.networks.softmax import Sample
from neural_smt.vocabulary import EOS


@dataclass(frozen=True)
class Packed:
    """``B`` sequences of ``N`` words in all, each closed by the end symbol.

    words: int64 ``[N]``, the words of step 0 of every row, then those of step 1, ...; rows: int64 ``[N]``, the row of
    each; sizes: rows alive at each step, not increasing; before: int64 ``[N - B]``, for each position after the first
    step, the word before it; last: int64 ``[B]``, the position of each row's end symbol.
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
    owners: int64 ``[N]``, that of each target position; sample: what target words are predicted from, if not from all;
    noise: in training alone.
    """

    source: Packed
    target: Packed
    pairing: torch.Tensor
    order: torch.Tensor
    owners: torch.Tensor
    sample: Sample | None = None
    noise: Noise | None = None

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
        return len(self.target.words)


def close(sequences: Ragged) -> np.ndarray:
    """The ids of all sequences, one after the other, each with the end symbol."""
    return np.insert(sequences.values, sequences.offsets[1:], EOS)


def time_major(sequences: Ragged) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sequences, an end symbol added to each, by falling length and step by step.

    Returns int64 ``[B]``, the sequence in each row (equal lengths keep their order); bool ``[steps, B]``, the rows that
    are alive at each step; int64 ``[N]``, where each position of these steps stands in what ``close`` gives.
    """
    lengths = sequences.lengths + 1
    order = np.argsort(-lengths, kind="stable")
    steps = np.arange(lengths.max(initial=0))[:, None]
    alive = steps < lengths[order]
    return order, alive, (offsets_of(lengths)[order] + steps)[alive]


def pack(sequences: Ragged, device: torch.device = CPU) -> tuple[Packed, np.ndarray]:
    """Pack non-empty or empty sequences of ids, an end symbol added to each.

    Returns the packed sequences and int64 ``[B]``, the sequence that each row holds (equal lengths keep their order).
    """
    order, alive, places = time_major(sequences)
    sizes = alive.sum(axis=1)
    starts = np.cumsum(sizes) - sizes
    steps, rows = np.nonzero(alive)
    later = steps > 0
    words = close(sequences)[places].astype(np.int64)
    arrays = {
        "words": words,
        "rows": rows,
        "before": words[starts[steps[later] - 1] + rows[later]],
        "last": starts[alive.sum(axis=0) - 1] + np.arange(len(order)),
    }
    tensors = {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in arrays.items()}
    return uploaded(Packed(sizes=sizes.tolist(), **tensors), device), order


def pack_pairs(source: Ragged, target: Ragged, device: torch.device = CPU) -> PairBatch:
    """Pack pair i = (source i, target i) of shortlist ids without end symbols."""
    packed_source, source_order = pack(source)
    packed_target, target_order = pack(target)
    pairing, order = map(torch.from_numpy, (np.argsort(source_order)[target_order], target_order))
    return uploaded(PairBatch(packed_source, packed_target, pairing, order, order[packed_target.rows]), device)
