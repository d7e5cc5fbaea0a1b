"""Which source words a predicted word is aligned to (Auli et al. 2013, section 5.2), each such set once, and windows of
words around them.
"""

import re
from typing import NamedTuple

import numpy as np

from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.jit import leaf
from neural_smt.networks.distinct import number_rows
from neural_smt.networks.recurrent.configuration import LINKS, LinkSets

SENTENCES = 1 << 15
"""Sentences whose links are numbered at a time, which bounds memory."""


@leaf
def _insert(positions: np.ndarray, word: int, count: int, position: int) -> int:
    """Add a position to the ``count`` rising ones of a word, which keeps the lowest; return how many there are."""
    place = count
    while place > 0 and positions[word, place - 1] >= position:
        if positions[word, place - 1] == position:
            return count
        place -= 1
    if place == LINKS:
        return count
    for later in range(min(count, LINKS - 1), place, -1):
        positions[word, later] = positions[word, later - 1]
    positions[word, place] = position
    return min(count + 1, LINKS)


@leaf
def _copy_links(positions: np.ndarray, counts: np.ndarray, source: int, word: int) -> None:
    """Give a word the links of another; a loop, since Numba takes far longer to compile the assignment of a slice."""
    counts[word] = counts[source]
    for place in range(counts[source]):
        positions[word, place] = positions[source, place]


@leaf
def _link_words(
    pairs: np.ndarray, offsets: np.ndarray, starts: np.ndarray, positions: np.ndarray, counts: np.ndarray
) -> None:
    """Positions (int32 ``[words, LINKS]``) and their number (int64 ``[words]``, 0 before) for the words of all items.

    starts: int64 [items + 1], first word of each item.
    """
    for item in range(len(starts) - 1):
        first, end = starts[item], starts[item + 1]
        for pair in range(offsets[item], offsets[item + 1]):
            word = first + pairs[pair, 1]
            counts[word] = _insert(positions, word, counts[word], pairs[pair, 0])
        # a word without links takes those of its neighbour, which may have taken them itself
        aligned = -1
        for word in range(first, end):
            if counts[word] > 0:
                aligned = word if aligned < 0 else aligned
            elif aligned >= 0:
                _copy_links(positions, counts, word - 1, word)
        for word in range(first, aligned):
            _copy_links(positions, counts, aligned, word)


def aligned_positions(alignment: Ragged, target_lengths: np.ndarray) -> Ragged:
    """The source words that every target word of every item (a sentence or a phrase) is aligned to.

    alignment: integer pairs (source, target) ``[links, 2]`` per item; target_lengths: int ``[items]``. The result has
    a list for each of the ``sum(target_lengths)`` words: int32 source positions, rising, the first ``LINKS`` of them.
    A word without links takes those of the nearest aligned word to its left, else to its right; the lists of an item
    without any links are empty. Raises ``ValueError`` for a link outside its item.
    """
    starts = np.zeros(len(target_lengths) + 1, dtype=np.int64)
    np.cumsum(target_lengths, out=starts[1:])
    pairs = np.ascontiguousarray(alignment.values, dtype=np.int32).reshape(-1, 2)
    offsets = np.ascontiguousarray(alignment.offsets, dtype=np.int64)
    if len(offsets) != len(starts):
        raise ValueError(f"{len(alignment)} alignments of {len(target_lengths)} items")
    limits = np.repeat(np.asarray(target_lengths), alignment.lengths)
    if len(pairs) and (pairs.min() < 0 or (pairs[:, 1] >= limits).any()):
        raise ValueError("a link lies outside its item")
    positions, counts = np.empty((starts[-1], LINKS), dtype=np.int32), np.zeros(starts[-1], dtype=np.int64)
    _link_words(pairs, offsets, starts, positions, counts)
    return Ragged(positions[np.arange(LINKS) < counts[:, None]], np.concatenate(([0], np.cumsum(counts))))


def intern_links(sentences: np.ndarray, positions: Ragged) -> tuple[LinkSets, np.ndarray]:
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


def training_links(alignment: Ragged, target_lengths: np.ndarray) -> tuple[LinkSets, np.ndarray]:
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


def translation_links(
    alignment: Ragged, target_lengths: np.ndarray, sentences: np.ndarray
) -> tuple[LinkSets, np.ndarray]:
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


@leaf
def _fill_rows(
    ids: np.ndarray,
    starts: np.ndarray,
    sentences: np.ndarray,
    positions: np.ndarray,
    offsets: np.ndarray,
    window: Window,
    rows: np.ndarray,
) -> None:
    """Write a row of each word of the window of every set (int32 [N, slots], 0 before)."""
    for item in range(len(sentences)):
        start = starts[sentences[item]]
        length = starts[sentences[item] + 1] - start
        first, last = length, length
        aligned = offsets[item + 1] - offsets[item]
        if aligned > 0:
            first, last = np.int64(positions[offsets[item]]), np.int64(positions[offsets[item + 1] - 1])
        for slot in range(window.previous):
            position = first - window.previous + slot
            if position >= 0:
                rows[item, slot] = ids[start + position] + 1
        for slot in range(min(window.aligned, aligned)):
            rows[item, window.previous + slot] = ids[start + positions[offsets[item] + slot]] + 1
        for slot in range(window.following):
            position = last + 1 + slot
            if position < length:
                rows[item, window.previous + window.aligned + slot] = ids[start + position] + 1


def window_rows(ids: Ragged, links: LinkSets, window: Window) -> np.ndarray:
    """int32 ``[N, slots]``: for each set of links the words of its window, a word's number + 1; 0 where there is none.

    ids: int32, the words of each sentence. Words keep the order of the text; the last of the previous words stands next
    to the first aligned one, and aligned words fill their slots from the left. What is aligned to nothing, such as the
    end of a sentence, stands behind the last word: it has previous words only. Raises ``ValueError`` for links outside
    the sentences.
    """
    if len(links) and not 0 <= links.sentences.min() <= links.sentences.max() < len(ids):
        raise ValueError("links of sentences that are not there")
    lengths = np.repeat(ids.lengths[links.sentences], links.positions.lengths)
    if len(lengths) and (links.positions.values.min() < 0 or (links.positions.values >= lengths).any()):
        raise ValueError("a link lies outside its sentence")
    rows = np.zeros((len(links), window.slots), dtype=np.int32)
    arrays = (
        np.ascontiguousarray(array, dtype=dtype)
        for array, dtype in (
            (ids.values, np.int32),
            (ids.offsets, np.int64),
            (links.sentences, np.int32),
            (links.positions.values, np.int32),
            (links.positions.offsets, np.int64),
        )
    )
    _fill_rows(*arrays, window, rows)
    return rows
