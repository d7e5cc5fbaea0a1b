"""What networks are trained on: minibatches, the order they come in, and examples in memory."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np
from torch import nn

from neural_smt.networks.packing import Filling


class Minibatch(NamedTuple):
    """inputs: what the network is called with (nothing, where there are no examples); examples: how many it holds;
    words: how many it predicts; divisor: of the sum of their log-probabilities, whose gradient an update takes.
    """

    inputs: Any
    examples: int
    words: int
    divisor: int = 1


WHOLE = slice(None)
"""The share of a process that trains alone."""

NOTHING = Minibatch(None, 0, 0)
"""The share of a process for which no example is left."""


class Task(Protocol):
    """What is trained, and on what.

    network: called with the inputs of a minibatch, it gives the log-probability of each example; validation: the
    held-out examples; updates_per_epoch: after so many every example has been seen; minibatch: that of an update
    (counted from 0), a function of this number alone, or the share of it that a process takes: with fewer examples, or
    none, and the divisor of the whole; it may be packed in another thread, before its time has come. begin: what else
    of the network changes before an update. in_tiles: whether minibatches have so few shapes that multiplying in tiles
    pays; filled: how those of updates shall be filled up to have few, where the kind of network knows how.
    """

    validation: list[Minibatch]
    updates_per_epoch: int
    in_tiles: bool
    filled: Filling

    @property
    def network(self) -> nn.Module: ...

    def minibatch(self, update: int, share: slice = WHOLE) -> Minibatch: ...

    def begin(self, update: int) -> None: ...


@dataclass
class BatchOrder:
    """Minibatches as a function of the seed and the number of the update, so that a resumed run needs no more.

    As in the released program, ``buffer`` minibatches are read at once, sorted by length and split again. Pairs come
    in one permutation repeated in every epoch, or with ``reshuffle`` in a new one each time (``Conventions.sampling``).
    lengths: int ``[n]``, what to sort by; chosen: int64 ``[n]``, the pairs that these are of, the first n without.
    """

    lengths: np.ndarray
    batch: int
    seed: int
    buffer: int = 1
    reshuffle: bool = True
    chosen: np.ndarray | None = None

    def __post_init__(self) -> None:
        self.updates_per_epoch = -(-len(self.lengths) // self.batch)
        self._drawn: tuple[int, np.ndarray] = -1, np.zeros(0, dtype=np.int32)
        self._sorted_buffer = lru_cache(maxsize=1)(self._sort_buffer)

    def rows(self, update: int) -> np.ndarray:
        """int64 pairs of minibatch ``update`` (from 0); the last one of an epoch may be smaller."""
        epoch, position = divmod(update, self.updates_per_epoch)
        index, within = divmod(position, self.buffer)
        rows = self._sorted_buffer(epoch, index)[within * self.batch : (within + 1) * self.batch]
        return rows if self.chosen is None else self.chosen[rows]

    def _permutation(self, number: int) -> np.ndarray:
        """The pairs in the order of an epoch, of which the last one is kept."""
        if self._drawn[0] != number:
            self._drawn = -1, np.zeros(0, dtype=np.int32)  # one at a time: a table has many pairs
            rows = np.arange(len(self.lengths), dtype=np.int32 if len(self.lengths) < 1 << 31 else np.int64)
            np.random.default_rng([self.seed, number]).shuffle(rows)
            self._drawn = number, rows
        return self._drawn[1]

    def _sort_buffer(self, epoch: int, index: int) -> np.ndarray:
        size = self.batch * self.buffer
        rows = self._permutation(epoch if self.reshuffle else 0)[index * size : (index + 1) * size]
        return rows[np.argsort(self.lengths[rows], kind="stable")].astype(np.int64)


def by_length(lengths: np.ndarray, size: int) -> list[np.ndarray]:
    """The numbers of examples of these lengths, ``size`` of like length at a time."""
    rows = np.argsort(lengths, kind="stable")
    return [rows[start : start + size] for start in range(0, len(rows), size)]


class TextTask:
    """A ``Task`` of examples in memory: those of ``text`` in their order, those of ``held_out`` by length. Both have
    ``lengths``. What examples are as a minibatch, each kind of network says in ``pack``.

    held_out_batch: examples held out that are scored together.
    """

    held_out_batch: int
    in_tiles = True
    filled: Filling = ""

    def __init__(self, network: nn.Module, text: Any, held_out: Any, order: BatchOrder):
        self.network, self.text, self.order = network, text, order
        self.updates_per_epoch = order.updates_per_epoch
        self.validation = [self.pack(held_out, rows) for rows in by_length(held_out.lengths, self.held_out_batch)]

    def minibatch(self, update: int, share: slice = WHOLE) -> Minibatch:
        """That of an update, counted from 0, or a share of it."""
        rows = self.order.rows(update)
        return self.pack(self.text, rows[share], len(rows)) if len(rows[share]) else NOTHING

    def begin(self, update: int) -> None:
        """See ``Task``; nothing."""

    def pack(self, text: Any, rows: np.ndarray, whole: int = 1) -> Minibatch:
        """The examples at ``rows`` (int64, at least one) of a text on the CPU; whole: how many the minibatch has."""
        raise NotImplementedError
