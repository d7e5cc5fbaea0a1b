"""Which sentences go through an attention network together: batches of similar length, of which shards take some."""

from collections.abc import Sequence

import numpy as np

from neural_smt.shards import Shard


def plan_batches(lengths: Sequence[int] | np.ndarray, size: int) -> list[np.ndarray]:
    """int64 arrays of ``size`` sentences (the last has the rest), shortest first: none waits for a long one.

    lengths: words of every sentence; those without words need no search and are in no batch.
    """
    lengths = np.asarray(lengths, dtype=np.int64)
    waiting = np.flatnonzero(lengths > 0)
    waiting = waiting[np.argsort(lengths[waiting], kind="stable")]
    return [waiting[start : start + size] for start in range(0, len(waiting), size)]


def shard_members(lengths: Sequence[int] | np.ndarray, size: int, shard: Shard) -> list[int]:
    """The sentences of a shard, in order; those of a text of their own are in the same batches."""
    return shard.members(plan_batches(lengths, size), np.flatnonzero(np.asarray(lengths) == 0).tolist())
