"""The n-grams of a back-off model as flat tables: what estimation makes, and what ARPA files hold."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from neural_smt.io.lookup_primitives import add_lists, empty_slots, find_words
from neural_smt.io.ragged import Ragged
from neural_smt.jit import kernel
from neural_smt.language_model.counting import blocks, with_boundaries
from neural_smt.vocabulary import UNK

BLOCK = 1 << 20
"""n-grams of a table that are looked at together."""


@dataclass(frozen=True)
class NgramTable:
    """All n-grams of one order, in any row order.

    words: int32 ``[rows, order]``, vocabulary ids; log10_prob: float32 ``[rows]``, log10 p(last word | words before);
    backoff: float32 ``[rows]``, log10 back-off weight of the n-gram as a context (0 where it has none).
    """

    words: np.ndarray
    log10_prob: np.ndarray
    backoff: np.ndarray

    def __len__(self) -> int:
        return len(self.words)

    @property
    def order(self) -> int:
        return self.words.shape[1]

    def with_unknown(self, log10_prob: float) -> "NgramTable":
        """Unigrams with a row for ``<unk>``, added before the others when missing."""
        if (self.words[:, 0] == UNK).any():
            return self
        unknown = np.array([[UNK]], np.int32), np.array([log10_prob], np.float32), np.zeros(1, np.float32)
        return NgramTable(*map(np.concatenate, zip(unknown, vars(self).values(), strict=True)))


def restrict_tables(
    tables: Sequence[NgramTable], sentences: Ragged, followers: np.ndarray | None = None
) -> list[NgramTable]:
    """All unigrams, and the longer n-grams that occur in sentences of word ids (without boundaries).

    A model of these gives the sentences the same probabilities as one of all ``tables`` (of orders 1, 2, ..., which may
    be mapped), for contexts and shorter n-grams that they need occur in them too. followers: word ids whose n-grams are
    kept after every context of the sentences, so that the sum of their probabilities there stays the same as well.
    """
    unigrams, *longer = tables
    known = np.zeros(1 + max(unigrams.words.max(initial=0), sentences.values.max(initial=0)), dtype=np.bool_)
    known[unigrams.words[:, 0]] = True
    text = with_boundaries(Ragged(np.where(known[sentences.values], sentences.values, UNK), sentences.offsets))
    following = np.isin(np.arange(len(known)), () if followers is None else followers)
    occurring = pairwise(_Occurring(text, width) for width in range(1, len(tables) + 1))
    return [unigrams, *(_restrict(table, *both, following) for table, both in zip(longer, occurring, strict=True))]


class _Occurring:
    """The n-grams of ``width`` words of a text (int32 ``[tokens]``)."""

    def __init__(self, text: np.ndarray, width: int):
        self.width, count = width, max(len(text) - width + 1, 0)
        self.values = text[np.arange(count)[:, None] + np.arange(width)].reshape(-1)
        self.offsets, self.slots = np.arange(0, len(self.values) + 1, width), empty_slots(count)
        add_lists(self.slots, self.values, self.offsets)

    def among(self, words: np.ndarray) -> np.ndarray:
        """bool ``[rows]``: whose first words (int32 ``[rows, at least width]``) are one of them."""
        return _occur(words, self.width, self.slots, self.values, self.offsets)


def _restrict(table: NgramTable, contexts: _Occurring, whole: _Occurring, following: np.ndarray) -> NgramTable:
    """The rows of a table whose words stand side by side in a text, or all but a last one that is ``following``."""
    parts = []
    for start, stop in blocks(len(table), BLOCK):
        words = np.ascontiguousarray(table.words[start:stop])
        kept, ends = whole.among(words), np.flatnonzero(following[words[:, -1]])
        kept[ends] |= contexts.among(words[ends])
        rows = np.flatnonzero(kept)
        parts.append((words[rows], table.log10_prob[start:stop][rows], table.backoff[start:stop][rows]))
    return NgramTable(*map(np.concatenate, zip(*parts, strict=True))) if parts else table


@kernel
def _occur(words: np.ndarray, width: int, slots: np.ndarray, values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """bool ``[rows]``: which rows (int32 ``[rows, order]``) have first words that are among lists in a hash table."""
    found = np.zeros(len(words), dtype=np.bool_)
    for row in range(len(words)):
        found[row] = slots[find_words(slots, values, offsets, words[row], 0, width)] >= 0
    return found
