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
    """The sentences of every n-th batch, in their order; those of a text of their own are in the same batches.

    All shards have short and long batches. The first one has the sentences without words.
    """
    chosen = [number for batch in plan_batches(lengths, size)[shard.number - 1 :: shard.count] for number in batch]
    empty = np.flatnonzero(np.asarray(lengths) == 0) if shard.number == 1 else []
    return sorted(int(number) for number in (*chosen, *empty))
