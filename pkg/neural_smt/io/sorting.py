"""Counting sorts: stable, for numbers below a bound that is not far from how many there are."""

import numpy as np

from neural_smt.jit import kernel


@kernel
def _sort_indices(indices: np.ndarray, numbers: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Sort indices by the numbers there (below ``count``), stably, by counting; see ``sort_pairs``."""
    offsets = np.zeros(count + 1, dtype=np.int64)
    for index in range(len(numbers)):
        offsets[numbers[index] + 1] += 1
    for number in range(count):
        offsets[number + 1] += offsets[number]
    start = offsets.copy()
    order = np.empty(len(indices), dtype=np.int32)
    for index in indices:
        order[start[numbers[index]]] = index
        start[numbers[index]] += 1
    return order, offsets


def inverse(order: np.ndarray) -> np.ndarray:
    """int32 ``[n]``: the place of each of 0 to n - 1 in an order of these numbers."""
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return place


def sort_numbers(numbers: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Sort numbers (integers ``[n]``, below ``count``): int32 ``[n]``, the indices in order; int64 ``[count + 1]``:
    those of number ``i`` stand at ``offsets[i]:offsets[i + 1]``.
    """
    return _sort_indices(np.arange(len(numbers), dtype=np.int32), numbers, count)


def sort_pairs(first: np.ndarray, second: np.ndarray, firsts: int, seconds: int) -> tuple[np.ndarray, np.ndarray]:
    """The same of pairs by (first, second), below ``firsts`` and ``seconds``; offsets: of the first."""
    return _sort_indices(sort_numbers(second, seconds)[0], first, firsts)
