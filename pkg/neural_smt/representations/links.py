"""Which source words a predicted word is aligned to (Auli et al. 2013, section 5.2), and each such set once."""

import numpy as np

from neural_smt.io.ragged import Ragged
from neural_smt.jit import leaf, mix
from neural_smt.networks.recurrent.configuration import LINKS, LinkSets


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
    pairs: np.ndarray, first: int, last: int, length: int, positions: np.ndarray, counts: np.ndarray
) -> None:
    """Positions (int32 ``[words, LINKS]``) and their number (int64 ``[words]``) for the ``length`` words of an item."""
    for word in range(length):
        counts[word] = 0
    for pair in range(first, last):
        word = pairs[pair, 1]
        counts[word] = _insert(positions, word, counts[word], pairs[pair, 0])
    # a word without links takes those of its neighbour, which may have taken them itself
    aligned = -1
    for word in range(length):
        if counts[word] > 0:
            aligned = word if aligned < 0 else aligned
        elif aligned >= 0:
            _copy_links(positions, counts, word - 1, word)
    for word in range(aligned):
        _copy_links(positions, counts, aligned, word)


@leaf
def _link_items(
    pairs: np.ndarray,
    offsets: np.ndarray,
    starts: np.ndarray,
    positions: np.ndarray,
    counts: np.ndarray,
    ends: np.ndarray,
    values: np.ndarray,
) -> None:
    """Fill the positions of all words where ``values`` has room for them; else ``ends``, where each word's lists end.

    starts: int64 [items + 1], first word of each item; positions, counts: room for the longest item; ends: int64
    [words + 1], 0 first.
    """
    for item in range(len(starts) - 1):
        length = starts[item + 1] - starts[item]
        _link_words(pairs, offsets[item], offsets[item + 1], length, positions, counts)
        for word in range(length):
            begin = ends[starts[item] + word]
            if len(values) == 0:
                ends[starts[item] + word + 1] = begin + counts[word]
            else:
                for place in range(counts[word]):
                    values[begin + place] = positions[word, place]


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
    longest = int(np.max(target_lengths, initial=0))
    room = np.empty((longest, LINKS), dtype=np.int32), np.empty(longest, dtype=np.int64)
    ends = np.zeros(starts[-1] + 1, dtype=np.int64)
    _link_items(pairs, offsets, starts, *room, ends, np.empty(0, dtype=np.int32))
    values = np.empty(ends[-1], dtype=np.int32)
    if len(values):
        _link_items(pairs, offsets, starts, *room, ends, values)
    return Ragged(values, ends)


@leaf
def _same(values: np.ndarray, begin: int, length: int, other: int) -> bool:
    """Whether two stretches of values agree."""
    for place in range(length):  # noqa: SIM110 (a kernel knows no generators)
        if values[begin + place] != values[other + place]:
            return False
    return True


@leaf
def _number_sets(
    sentences: np.ndarray,
    values: np.ndarray,
    offsets: np.ndarray,
    slots: np.ndarray,
    numbers: np.ndarray,
    firsts: np.ndarray,
) -> int:
    """Number the distinct lists of each sentence as they come, and ``firsts``, the first item of each; how many.

    sentences: int32 [n], rising; slots: int32, a power of 2 above the items of any sentence, all -1. A slot that holds
    a number of an earlier sentence is free, so the slots need no emptying between sentences.
    """
    count, start = 0, 0
    for item in range(len(sentences)):
        if item > 0 and sentences[item] != sentences[item - 1]:
            start = count
        begin, length = offsets[item], offsets[item + 1] - offsets[item]
        key = mix(np.uint64(length))
        for place in range(begin, begin + length):
            key = mix(key ^ np.uint64(values[place] + 1))
        slot = np.int64(key & np.uint64(len(slots) - 1))
        while slots[slot] >= start:
            other = firsts[slots[slot]]
            if offsets[other + 1] - offsets[other] == length and _same(values, begin, length, offsets[other]):
                break
            slot = (slot + 1) & (len(slots) - 1)
        if slots[slot] < start:
            slots[slot] = count
            firsts[count] = item
            count += 1
        numbers[item] = slots[slot]
    return count


def intern_links(sentences: np.ndarray, positions: Ragged) -> tuple[LinkSets, np.ndarray]:
    """The distinct sets among those of n predictions, and int32 ``[n]``, the number of each prediction's set.

    sentences: int ``[n]``, in any order; positions: ``Ragged`` of n, rising source positions within the sentence. The
    sets of a sentence are neighbours, numbered in the order in which its predictions come.
    """
    sentences = np.ascontiguousarray(sentences, dtype=np.int32)
    if len(positions) != len(sentences):
        raise ValueError(f"{len(positions)} sets of positions for {len(sentences)} predictions")
    order = None
    if (np.diff(sentences) < 0).any():
        order = np.argsort(sentences, kind="stable")
        sentences, positions = sentences[order], positions.take(order)
    values = np.ascontiguousarray(positions.values, dtype=np.int32)
    offsets = np.ascontiguousarray(positions.offsets, dtype=np.int64)
    changes = np.flatnonzero(np.diff(sentences)) + 1
    most = int(np.diff(np.concatenate(([0], changes, [len(sentences)]))).max())
    slots = np.full(1 << (2 * most + 1).bit_length(), -1, dtype=np.int32)
    numbers = np.empty(len(sentences), dtype=np.int32)
    firsts = np.empty(len(sentences), dtype=np.int64)
    firsts = firsts[: _number_sets(sentences, values, offsets, slots, numbers, firsts)]
    sets = LinkSets(sentences[firsts], Ragged(values, offsets).take(firsts))
    if order is not None:
        in_order = numbers.copy()
        numbers[order] = in_order
    return sets, numbers


def training_links(alignment: Ragged, target_lengths: np.ndarray) -> tuple[LinkSets, np.ndarray]:
    """The distinct link sets of a parallel text, and int32, the number of the set of every predicted token.

    alignment, target_lengths: as for ``aligned_positions``, item i being sentence i. The tokens are the words of each
    sentence and its end, which is aligned to nothing: ``sum(target_lengths) + len(target_lengths)`` of them.
    """
    lengths = np.asarray(target_lengths, dtype=np.int64)
    words = aligned_positions(alignment, lengths)
    sentences = np.arange(len(lengths))
    token_of_word = np.arange(lengths.sum()) + np.repeat(sentences, lengths)
    token_lengths = np.zeros(lengths.sum() + len(lengths), dtype=np.int64)
    token_lengths[token_of_word] = words.lengths
    offsets = np.concatenate(([0], np.cumsum(token_lengths)))
    return intern_links(np.repeat(sentences, lengths + 1), Ragged(words.values, offsets))
