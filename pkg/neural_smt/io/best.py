"""The best of each of several lists."""

import numpy as np

from neural_smt.io.ragged import offsets_of
from neural_smt.jit import kernel

FEW = 64
"""So many of a list are found by going through it once, more by sorting it."""


def best_of_each(values: np.ndarray, offsets: np.ndarray, most: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The highest values of each of several lists, ``most`` of them (0: all), highest first, equal ones as they stand.

    offsets: int64 ``[n + 1]``, where lists begin that lie one after the other. Returns int64 ``[k]``, where the values
    stand, and the offsets of these lists.
    """
    return best_of_parts(values, offsets[:-1], offsets[1:], most)


def best_of_parts(
    values: np.ndarray, starts: np.ndarray, ends: np.ndarray, most: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """The same of lists that begin and end anywhere."""
    if 0 < most <= FEW:
        return _insert(values, starts, ends, most)
    counts = ends - starts
    offsets = offsets_of(counts)
    places = np.repeat(starts - offsets[:-1], counts) + np.arange(offsets[-1])
    order = np.lexsort((-values[places], np.repeat(np.arange(len(counts)), counts)))
    kept = np.minimum(counts, most or len(order))
    ranks = np.arange(len(order)) - np.repeat(offsets[:-1], counts)
    return places[order[ranks < np.repeat(kept, counts)]], offsets_of(kept)


@kernel
def _insert(values: np.ndarray, starts: np.ndarray, ends: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.zeros(len(starts) + 1, dtype=np.int64)
    for i in range(len(starts)):
        offsets[i + 1] = offsets[i] + min(ends[i] - starts[i], most)
    places = np.empty(offsets[-1], dtype=np.int64)
    for i in range(len(starts)):
        first, last = offsets[i], offsets[i]
        for place in range(starts[i], ends[i]):
            value, slot = values[place], last
            if last < offsets[i + 1]:
                last += 1
            elif value > values[places[last - 1]]:
                slot = last - 1
            else:
                continue
            while slot > first and values[places[slot - 1]] < value:
                places[slot] = places[slot - 1]
                slot -= 1
            places[slot] = place
    return places, offsets
