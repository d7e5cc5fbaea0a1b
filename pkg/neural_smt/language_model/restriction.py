"""The part of a model that a text asks for, of tables that need not fit into memory."""

from collections.abc import Sequence

import numpy as np

from neural_smt.io.ragged import Ragged
from neural_smt.jit import kernel, leaf, mix
from neural_smt.language_model.columns import blocks
from neural_smt.language_model.counting import with_boundaries
from neural_smt.language_model.ngrams import NgramTable
from neural_smt.vocabulary import UNK

BLOCK = 1 << 20
"""n-grams of a table that are looked at together."""


def restrict_tables(tables: Sequence[NgramTable], sentences: Ragged) -> list[NgramTable]:
    """All unigrams, and the longer n-grams that occur in sentences of word ids (without boundaries).

    A model of these gives the sentences the same probabilities as one of all ``tables`` (of orders 1, 2, ..., which may
    be mapped), for contexts and shorter n-grams that they ask for occur in them too.
    """
    unigrams, *longer = tables
    known = np.zeros(1 + max(unigrams.words.max(initial=0), sentences.values.max(initial=0)), dtype=np.bool_)
    known[unigrams.words[:, 0]] = True
    asked = with_boundaries(Ragged(np.where(known[sentences.values], sentences.values, UNK), sentences.offsets))
    return [unigrams, *(_restrict(table, asked) for table in longer)]


def _restrict(table: NgramTable, asked: np.ndarray) -> NgramTable:
    """The rows of a table whose words stand side by side in a text (int32 ``[tokens]``)."""
    slots = _enter(asked, table.order)
    parts = []
    for start, stop in blocks(len(table), BLOCK):
        words = np.ascontiguousarray(table.words[start:stop])
        rows = np.flatnonzero(_occur(words, asked, slots))
        parts.append((words[rows], table.log10_prob[start:stop][rows], table.backoff[start:stop][rows]))
    return NgramTable(*map(np.concatenate, zip(*parts, strict=True))) if parts else table


@leaf
def _slot(words: np.ndarray, asked: np.ndarray, slots: np.ndarray) -> int:
    """The slot of an n-gram, or the empty one where it would stand."""
    key = np.uint64(0)
    for word in words:
        key = mix(key ^ np.uint64(word))
    slot = key & np.uint64(len(slots) - 1)
    while slots[slot] >= 0:
        place = slots[slot]
        same = True
        for position in range(len(words)):
            same &= asked[place + position] == words[position]
        if same:
            break
        slot = (slot + np.uint64(1)) & np.uint64(len(slots) - 1)
    return slot


@kernel
def _enter(asked: np.ndarray, order: int) -> np.ndarray:
    """int32 hash table of where each distinct n-gram of the text begins, -1 in empty slots; at least half are empty."""
    size = 2
    while size < 2 * len(asked):
        size *= 2
    slots = np.full(size, -1, dtype=np.int32)
    for start in range(len(asked) - order + 1):
        slots[_slot(asked[start : start + order], asked, slots)] = start
    return slots


@kernel
def _occur(words: np.ndarray, asked: np.ndarray, slots: np.ndarray) -> np.ndarray:
    """bool ``[rows]``: which n-grams (int32 ``[rows, order]``) stand in the text."""
    found = np.zeros(len(words), dtype=np.bool_)
    for row in range(len(words)):
        found[row] = slots[_slot(words[row], asked, slots)] >= 0
    return found
