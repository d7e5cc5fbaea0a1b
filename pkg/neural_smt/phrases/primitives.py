"""Kernels shared by several modules: finding a phrase by its words, and phrases and links packed into integers."""

import numpy as np

from neural_smt.io.lookup_primitives import find_words
from neural_smt.jit import leaf

LENGTH_BITS = 8
"""A span is one int32: its start in the sentence above its length in the lowest 8 bits."""

LONGEST_PHRASE = 8
"""The links inside a phrase pair are the bits of a 64-bit integer: bit ``8 j + i`` for source word i, target word j."""


@leaf
def pack_span(start: int, length: int) -> np.int32:
    """The int32 that stands for the span of ``length`` (1 to 255) words at ``start``."""
    return np.int32((start << LENGTH_BITS) | length)


@leaf
def has_link(links: np.uint64, i: int, j: int) -> bool:
    """Whether source word ``i`` and target word ``j`` are linked."""
    return (links >> np.uint64(LONGEST_PHRASE * j + i)) & np.uint64(1) != 0


@leaf
def find_phrase(index: tuple[np.ndarray, np.ndarray, np.ndarray], words: np.ndarray, start: int, end: int) -> int:
    """The number of the phrase ``words[start:end]``, or -1 when the table does not have it.

    index: ``PhraseTable.lookup``, i.e. slots, phrase values and phrase offsets; words: int32 ids of a sentence.
    """
    slots, values, offsets = index
    return np.int64(slots[find_words(slots, values, offsets, words, start, end)])
