"""A binary heap in two flat arrays, largest key first; equal keys leave in the order of their items."""

import numpy as np

from neural_smt.jit import leaf


@leaf
def _before(keys: np.ndarray, items: np.ndarray, i: int, j: int) -> bool:
    return keys[i] > keys[j] or (keys[i] == keys[j] and items[i] < items[j])


@leaf
def _swap(keys: np.ndarray, items: np.ndarray, i: int, j: int) -> None:
    keys[i], keys[j] = keys[j], keys[i]
    items[i], items[j] = items[j], items[i]


@leaf
def push(keys: np.ndarray, items: np.ndarray, size: int, key: float, item: int) -> int:
    """Insert an item into a heap of ``size`` entries (keys: float64, items: int32, with room); return the new size."""
    keys[size] = key
    items[size] = item
    i = size
    while i > 0 and _before(keys, items, i, (i - 1) >> 1):
        _swap(keys, items, i, (i - 1) >> 1)
        i = (i - 1) >> 1
    return size + 1


@leaf
def pop(keys: np.ndarray, items: np.ndarray, size: int) -> tuple[int, int]:
    """Remove the first item of a heap that is not empty; return it and the new size."""
    item = np.int64(items[0])
    size -= 1
    keys[0] = keys[size]
    items[0] = items[size]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            return item, size
        if child + 1 < size and _before(keys, items, child + 1, child):
            child += 1
        if not _before(keys, items, child, i):
            return item, size
        _swap(keys, items, i, child)
        i = child
