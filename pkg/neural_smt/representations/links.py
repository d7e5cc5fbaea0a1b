"""Which source words a predicted word is aligned to (Auli et al. 2013, section 5.2), each such set once, and windows of
words around them.
"""

import re
from typing import NamedTuple

import numpy as np
from scipy import sparse

from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.networks.distinct import number_rows
from neural_smt.networks.recurrent.configuration import LINKS, LinkSets

SENTENCES, SETS = 1 << 15, 1 << 18
"""Sentences whose links are numbered at a time, and sets whose windows are looked up, which bounds memory."""


Numbered = tuple[LinkSets, np.ndarray]
"""Distinct sets, and the number of the set of each prediction."""


def aligned_positions(alignment: Ragged, target_lengths: np.ndarray) -> Ragged:
    """The source words that every target word of every item (a sentence or a phrase) is aligned to.

    alignment: integer pairs (source, target) ``[links, 2]`` per item; target_lengths: int ``[items]``. The result has
    a list for each of the ``sum(target_lengths)`` words: int32 source positions, rising, the first ``LINKS`` of them.
    A word without links takes those of the nearest aligned word to its left, else to its right; the lists of an item
    without any links are empty. Raises ``ValueError`` for a link outside its item.
    """
    if len(alignment) != len(target_lengths):
        raise ValueError(f"{len(alignment)} alignments of {len(target_lengths)} items")
    starts, pairs = offsets_of(target_lengths), np.asarray(alignment.values, dtype=np.int64).reshape(-1, 2)
    if (pairs < 0).any() or (pairs[:, 1] >= np.repeat(target_lengths, alignment.lengths)).any():
        raise ValueError("a link lies outside its item")
    words = np.repeat(starts[:-1], alignment.lengths) + pairs[:, 1]
    # of words by positions, which sorts both and has each link once; the last row is empty
    shape = starts[-1] + 1, pairs[:, 0].max(initial=0) + 1
    links = sparse.coo_array((np.ones(len(pairs), dtype=np.int8), (words, pairs[:, 0])), shape=shape).tocsr()
    counts = np.diff(links.indptr)
    first = np.arange(links.nnz) < np.repeat(links.indptr[:-1] + LINKS, counts)
    own = Ragged(links.indices[first].astype(np.int32), offsets_of(np.minimum(counts, LINKS)))
    every, linked = np.arange(starts[-1]), counts[:-1] > 0
    left = np.maximum.accumulate(np.where(linked, every, -1))
    right = np.minimum.accumulate(np.where(linked, every, starts[-1])[::-1])[::-1]
    begin, end = (np.repeat(part, target_lengths) for part in (starts[:-1], starts[1:]))
    nearest = np.where(left >= begin, left, right)
    return own.take(np.where(nearest < end, nearest, starts[-1]))


def intern_links(sentences: np.ndarray, positions: Ragged) -> Numbered:
    """The distinct sets among those of n predictions, and int32 ``[n]``, the number of each prediction's set.

    sentences: int ``[n]``, in any order; positions: ``Ragged`` of n, rising source positions within the sentence, at
    most ``LINKS``. The sets of a sentence are neighbours, numbered in the order in which its predictions come.
    """
    if len(positions) != len(sentences):
        raise ValueError(f"{len(positions)} sets of positions for {len(sentences)} predictions")
    sentences = np.ascontiguousarray(sentences, dtype=np.int32)
    order = np.argsort(sentences, kind="stable") if (np.diff(sentences) < 0).any() else None
    if order is not None:
        sentences, positions = sentences[order], positions.take(order)
    rows = np.full((len(sentences), 1 + LINKS), -1, dtype=np.int32)
    rows[:, 0] = sentences
    rows[:, 1:][np.arange(LINKS) < positions.lengths[:, None]] = positions.values
    places, firsts = number_rows(rows)
    sets = LinkSets(sentences[firsts], positions.take(firsts))
    numbers = np.empty(len(sentences), dtype=np.int32)
    numbers[slice(None) if order is None else order] = places
    return sets, numbers


def training_links(alignment: Ragged, target_lengths: np.ndarray) -> Numbered:
    """The distinct link sets of a parallel text, and int32, the number of the set of every predicted token.

    alignment, target_lengths: as for ``aligned_positions``, item i being sentence i. The tokens are the words of each
    sentence and its end, which is aligned to nothing: ``sum(target_lengths) + len(target_lengths)`` of them.
    """
    lengths, found, count = np.asarray(target_lengths, dtype=np.int64), [], 0
    if len(alignment) != len(lengths):
        raise ValueError(f"{len(alignment)} alignments of {len(lengths)} items")
    for first in range(0, max(len(lengths), 1), SENTENCES):
        block = np.arange(first, min(first + SENTENCES, len(lengths)))
        sets, numbers = translation_links(alignment.take(block), lengths[block], block)
        found.append((sets.sentences, sets.positions, numbers + np.int32(count)))
        count += len(sets.sentences)
    sentences, positions, numbers = zip(*found, strict=True)
    return LinkSets(np.concatenate(sentences), Ragged.concatenate(positions)), np.concatenate(numbers)


def translation_links(alignment: Ragged, target_lengths: np.ndarray, sentences: np.ndarray) -> Numbered:
    """The same of translations of any sentences, held in memory together; sentences: int ``[items]``, of each."""
    words = aligned_positions(alignment, target_lengths)
    token_of_word = np.arange(target_lengths.sum()) + np.repeat(np.arange(len(target_lengths)), target_lengths)
    token_lengths = np.zeros(target_lengths.sum() + len(target_lengths), dtype=np.int64)
    token_lengths[token_of_word] = words.lengths
    return intern_links(np.repeat(sentences, target_lengths + 1), Ragged(words.values, offsets_of(token_lengths)))


class Window(NamedTuple):
    """So many words before the first aligned one, of the aligned ones, and after the last: the slots, in that order."""

    previous: int
    aligned: int
    following: int

    @property
    def slots(self) -> int:
        return sum(self)


def parse_window(name: str) -> Window:
    """``p3``: three previous words; ``n5``: the next five; ``c5``: up to five aligned ones; ``p5n5``: both sides.

    The schema says which names there are.
    """
    sizes = dict(re.findall(r"([pcn])(\d+)", name))
    return Window(*(int(sizes.get(part, 0)) for part in "pcn"))


def window_rows(ids: Ragged, links: LinkSets, window: Window) -> np.ndarray:
    """int32 ``[N, slots]``: for each set of links the words of its window, a word's number + 1; 0 where there is none.

    ids: int32, the words of each sentence. Words keep the order of the text; the last of the previous words stands next
    to the first aligned one, and aligned words fill their slots from the left. What is aligned to nothing, such as the
    end of a sentence, stands behind the last word: it has previous words only. Raises ``ValueError`` for links outside
    the sentences.
    """
    if len(links) and not 0 <= links.sentences.min() <= links.sentences.max() < len(ids):
        raise ValueError("links of sentences that are not there")
    limits = np.repeat(ids.lengths[links.sentences], links.positions.lengths)
    if (links.positions.values < 0).any() or (links.positions.values >= limits).any():
        raise ValueError("a link lies outside its sentence")
    starts, lengths = ids.offsets[links.sentences, None], ids.lengths[links.sentences, None]
    begins, counts = links.positions.offsets[:-1, None], links.positions.lengths[:, None]
    words, aligned = np.append(ids.values, -1), np.append(links.positions.values, 0)
    before, slots, after = np.arange(-window.previous, 0), np.arange(window.aligned), np.arange(window.following)
    rows = np.empty((len(links), window.slots), dtype=np.int32)
    for start in range(0, len(links), SETS):
        part = slice(start, start + SETS)
        begin, count, length = begins[part], counts[part], lengths[part]
        first, last = (np.where(count > 0, aligned[place], length) for place in (begin, begin + count - 1))
        inner = np.where(slots < count, aligned[np.minimum(begin + slots, len(aligned) - 1)], -1)
        places = np.hstack([first + before, inner, last + 1 + after])
        inside = (places >= 0) & (places < length)
        rows[part] = words[np.where(inside, starts[part] + places, -1)] + 1
    return rows
