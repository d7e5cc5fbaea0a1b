"""The order of training: which pairs make up the minibatch of each update."""

from functools import lru_cache

import numpy as np


class BatchOrder:
    """Minibatches as a function of the seed and the number of the update, so that a resumed run needs no more.

    As in the released program, ``buffer`` minibatches are read at once, sorted by length and split again. Pairs come
    in one permutation repeated in every epoch, or with ``reshuffle`` in a new one each time (``Conventions.sampling``).
    lengths: int64 ``[n]``, what to sort by.
    """

    def __init__(self, lengths: np.ndarray, batch: int, buffer: int, seed: int, reshuffle: bool):
        self.lengths = lengths
        self.batch = batch
        self.buffer = buffer
        self.seed = seed
        self.reshuffle = reshuffle
        self.updates_per_epoch = -(-len(lengths) // batch)
        self._permutation = lru_cache(maxsize=1)(self._draw_permutation)
        self._sorted_buffer = lru_cache(maxsize=1)(self._sort_buffer)

    def rows(self, update: int) -> np.ndarray:
        """int64 pairs of minibatch ``update`` (from 0); the last one of an epoch may be smaller."""
        epoch, position = divmod(update, self.updates_per_epoch)
        index, within = divmod(position, self.buffer)
        return self._sorted_buffer(epoch, index)[within * self.batch : (within + 1) * self.batch]

    def _draw_permutation(self, number: int) -> np.ndarray:
        return np.random.default_rng([self.seed, number]).permutation(len(self.lengths))

    def _sort_buffer(self, epoch: int, index: int) -> np.ndarray:
        size = self.batch * self.buffer
        rows = self._permutation(epoch if self.reshuffle else 0)[index * size : (index + 1) * size]
        return rows[np.argsort(self.lengths[rows], kind="stable")]
