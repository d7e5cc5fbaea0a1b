"""Sorted lists of phrases merged into one."""

from collections.abc import Sequence

import numpy as np

from neural_smt.io.ragged import Ragged
from neural_smt.jit import kernel


@kernel
def _comes_before(values: np.ndarray, offsets: np.ndarray, phrase: int, other: int) -> bool:
    """Whether a phrase comes before another in shortlex order."""
    start, other_start = offsets[phrase], offsets[other]
    length, other_length = offsets[phrase + 1] - start, offsets[other + 1] - other_start
    if length != other_length:
        return length < other_length
    for position in range(length):
        if values[start + position] != values[other_start + position]:
            return values[start + position] < values[other_start + position]
    return False


@kernel
def _sift(heap: np.ndarray, size: int, heads: np.ndarray, values: np.ndarray, offsets: np.ndarray, place: int) -> None:
    """Move the list at ``place`` of the heap down until its next phrase comes before those of the lists below it."""
    while 2 * place + 1 < size:
        below = 2 * place + 1
        if below + 1 < size and _comes_before(values, offsets, heads[heap[below + 1]], heads[heap[below]]):
            below += 1
        if not _comes_before(values, offsets, heads[heap[below]], heads[heap[place]]):
            return
        heap[place], heap[below] = heap[below], heap[place]
        place = below


@kernel
def _merge(values: np.ndarray, offsets: np.ndarray, starts: np.ndarray, more: np.ndarray) -> np.ndarray:
    """``merge_phrases`` of the lists at ``starts[i]:starts[i + 1]`` of all phrases."""
    lists = len(more)
    heads = starts[:lists].copy()
    heap = np.empty(lists, dtype=np.int64)
    size = 0
    for number in range(lists):
        if heads[number] < starts[number + 1]:
            heap[size] = number
            size += 1
    for place in range(size // 2 - 1, -1, -1):
        _sift(heap, size, heads, values, offsets, place)
    merged = np.empty(len(offsets) - 1, dtype=np.uint16)
    count = 0
    while size > 0:
        number = heap[0]
        merged[count] = number
        count += 1
        heads[number] += 1
        if heads[number] == starts[number + 1]:
            if more[number]:
                break
            size -= 1
            heap[0] = heap[size]
        _sift(heap, size, heads, values, offsets, 0)
    return merged[:count].copy()


def merge_phrases(lists: Sequence[Ragged], more: Sequence[bool]) -> np.ndarray:
    """uint16 ``[n]``: from which list each phrase comes when all are merged in shortlex order, as far as that is known.

    lists: int32 ``Ragged``, each in shortlex order; no phrase is in two of them; more: whether a list goes on with
    phrases that are not here. Merging ends after the last known phrase of such a list.
    """
    starts = np.zeros(len(lists) + 1, dtype=np.int64)
    np.cumsum([len(phrases) for phrases in lists], out=starts[1:])
    phrases = Ragged.concatenate(lists)
    return _merge(phrases.values, phrases.offsets, starts, np.array(more, dtype=np.bool_))
