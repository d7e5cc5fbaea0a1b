"""Kernels of the alignment stage that other stages call."""

import numpy as np

from neural_smt.jit import kernel


@kernel
def find_pair(offsets: np.ndarray, targets: np.ndarray, source: int, target: int) -> int:
    """Row of the word pair (source, target) in a ``LexicalTable``, or -1 when the two were never linked.

    offsets: int64 ``[Vs + 1]``; targets: int32 ``[nnz]``, ascending within each source word.
    """
    low, high = offsets[source], offsets[source + 1]
    while low < high:
        middle = (low + high) // 2
        if targets[middle] < target:
            low = middle + 1
        else:
            high = middle
    if low < offsets[source + 1] and targets[low] == target:
        return low
    return -1
