"""Look-ups for kernels: hash tables over keys that stand in arrays of their own, and sorted lists.

A hash table (open addressing with linear probing) is an int32 array of slots, a power of two: the number of the entry
kept there, or -1. A hash (``jit.mix``) only says where to look: keys are compared whole, so nothing is ever taken for
equal that only hashes alike.
"""

import numpy as np

from neural_smt.jit import kernel, leaf, mix


@kernel
def empty_slots(entries: int) -> np.ndarray:
    """Slots for so many entries, all empty: the smallest power of two that is at least twice as many."""
    size = 2
    while size < 2 * entries:
        size *= 2
    return np.full(size, -1, dtype=np.int32)


@leaf
def find_key(slots: np.ndarray, keys: np.ndarray, key: np.uint64) -> np.uint64:
    """The slot of ``key`` among ``keys`` (uint64, by entry), or the empty slot where it belongs."""
    mask = np.uint64(len(slots) - 1)
    slot = mix(key) & mask
    while slots[slot] >= 0 and keys[slots[slot]] != key:
        slot = (slot + np.uint64(1)) & mask
    return slot


@leaf
def hash_words(words: np.ndarray, start: int, end: int) -> np.uint64:
    """64-bit hash of the ids ``words[start:end]`` (int32); depends on their order and number."""
    key = np.uint64(end - start)
    for position in range(start, end):
        key = mix(key ^ np.uint64(words[position]))
    return key


@leaf
def find_list(
    slots: np.ndarray, values: np.ndarray, offsets: np.ndarray, items: np.ndarray, start: int, end: int, key: np.uint64
) -> np.uint64:
    """The slot of the list equal to ``items[start:end]``, whose hash is ``key``, or the empty slot where it belongs.

    values, offsets: the lists by entry, as ``Ragged`` arrays.
    """
    mask = np.uint64(len(slots) - 1)
    slot = key & mask
    while slots[slot] >= 0:
        begin = offsets[slots[slot]]
        same = offsets[slots[slot] + 1] - begin == end - start
        position = 0
        while same and position < end - start:
            same = values[begin + position] == items[start + position]
            position += 1
        if same:
            break
        slot = (slot + np.uint64(1)) & mask
    return slot


@leaf
def find_words(
    slots: np.ndarray, values: np.ndarray, offsets: np.ndarray, words: np.ndarray, start: int, end: int
) -> np.uint64:
    """``find_list`` of int32 ids."""
    return find_list(slots, values, offsets, words, start, end, hash_words(words, start, end))


@kernel
def add_lists(slots: np.ndarray, values: np.ndarray, offsets: np.ndarray) -> None:
    """Enter lists of int32 ids (``Ragged`` arrays); of equal ones the last is found."""
    for entry in range(len(offsets) - 1):
        slots[find_words(slots, values, offsets, values, offsets[entry], offsets[entry + 1])] = entry


@kernel
def add_distinct_lists(slots: np.ndarray, values: np.ndarray, offsets: np.ndarray, first: int, end: int) -> None:
    """Enter the lists of int32 ids (``Ragged`` arrays) from ``first`` up to ``end``, no two of which are equal; those
    that are there already are not looked at.
    """
    mask = np.uint64(len(slots) - 1)
    for entry in range(first, end):
        slot = hash_words(values, offsets[entry], offsets[entry + 1]) & mask
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = entry


@leaf
def differ(one: np.ndarray, other: np.ndarray, length: int) -> bool:
    """Whether the first ``length`` numbers of two arrays are not the same."""
    position = 0
    while position < length and one[position] == other[position]:
        position += 1
    return position < length


@leaf
def find_rising(numbers: np.ndarray, number: int) -> int:
    """Where a number stands among rising ones, or -1."""
    place = np.searchsorted(numbers, number)
    return place if place < len(numbers) and numbers[place] == number else -1


@leaf
def find_pair(offsets: np.ndarray, targets: np.ndarray, source: int, target: int) -> int:
    """Row of the word pair (source, target) in a ``LexicalTable``, or -1 when the two were never linked.

    offsets: int64 ``[Vs + 1]``; targets: int32 ``[nnz]``, ascending within each source word.
    """
    row = find_rising(targets[offsets[source] : offsets[source + 1]], target)
    return offsets[source] + row if row >= 0 else -1
