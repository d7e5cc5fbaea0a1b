"""Kernels shared by several modules: finding a phrase by its words, and phrases and links packed into integers."""

import numpy as np

from neural_smt.jit import kernel, mix

LENGTH_BITS = 8
"""A span is one int32: its start in the sentence above its length in the lowest 8 bits."""

LONGEST_PHRASE = 8
"""The links inside a phrase pair are the bits of a 64-bit integer: bit ``8 j + i`` for source word i, target word j."""


@kernel
def pack_span(start: int, length: int) -> np.int32:
    """The int32 that stands for the span of ``length`` (1 to 255) words at ``start``."""
    return np.int32((start << LENGTH_BITS) | length)


@kernel
def has_link(links: np.uint64, i: int, j: int) -> bool:
    """Whether source word ``i`` and target word ``j`` are linked."""
    return (links >> np.uint64(LONGEST_PHRASE * j + i)) & np.uint64(1) != 0


@kernel
def hash_words(words: np.ndarray, start: int, end: int) -> np.uint64:
    """64-bit hash of the ids ``words[start:end]`` (int32); depends on their order and number."""
    key = np.uint64(end - start)
    for position in range(start, end):
        key = mix(key ^ np.uint64(words[position]))
    return key


@kernel
def build_phrase_index(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Open-addressing hash table over distinct phrases, for ``find_phrase``.

    values, offsets: the phrases as ``Ragged`` arrays. Returns int32 slots, a power of two of them and at least
    twice as many as phrases: the number of the phrase kept there, or -1.
    """
    phrases = len(offsets) - 1
    size = 2
    while size < 2 * phrases:
        size *= 2
    slots = np.full(size, -1, dtype=np.int32)
    mask = np.uint64(size - 1)
    for phrase in range(phrases):
        slot = hash_words(values, offsets[phrase], offsets[phrase + 1]) & mask
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = phrase
    return slots


@kernel
def find_phrase(index: tuple[np.ndarray, np.ndarray, np.ndarray], words: np.ndarray, start: int, end: int) -> int:
    """The number of the phrase ``words[start:end]``, or -1 when the table does not have it.

    index: ``PhraseTable.lookup``, i.e. slots, phrase values and phrase offsets; words: int32 ids of a sentence.
    A hash only says where to look: the words themselves are compared, so no collision gives a wrong phrase.
    """
    slots, values, offsets = index
    mask = np.uint64(len(slots) - 1)
    slot = hash_words(words, start, end) & mask
    while slots[slot] >= 0:
        phrase = slots[slot]
        begin = offsets[phrase]
        if offsets[phrase + 1] - begin == end - start:
            same = True
            for position in range(end - start):
                if values[begin + position] != words[start + position]:
                    same = False
                    break
            if same:
                return np.int64(phrase)
        slot = (slot + np.uint64(1)) & mask
    return np.int64(-1)
