"""What writes and reads the bytes of a ``CompactTable``."""

import numpy as np

from neural_smt.io.lookup_primitives import hash_words
from neural_smt.io.ragged import Lists
from neural_smt.jit import enlarged, kernel, leaf
from neural_smt.phrases.primitives import LONGEST_PHRASE

ALIGNED = 8
"""Source phrases begin at multiples of so many bytes, none of them at 0."""

PADDING = 16
"""Bytes of 0 at the end, so that no number goes on behind it."""


@leaf
def _put(data: np.ndarray, place: int, number: int) -> int:
    """Write a number of at least 0; the place behind it."""
    while number >= 128:
        data[place] = number & 127 | 128
        number >>= 7
        place += 1
    data[place] = number
    return place + 1


@leaf
def _get(data: np.ndarray, place: int) -> tuple[np.int64, int]:
    """A number, and the place behind it."""
    number, shift = np.int64(0), 0
    while data[place] >= 128:
        number |= np.int64(data[place] & 127) << shift
        shift += 7
        place += 1
    number |= np.int64(data[place]) << shift
    return number, place + 1


@leaf
def _skip(data: np.ndarray, place: int, numbers: int) -> int:
    """The place behind so many numbers."""
    while numbers > 0:
        numbers -= data[place] < 128
        place += 1
    return place


@leaf
def _pack_link(i: int, j: int) -> int:
    """A link (source, target) as a number, below 128 for positions below 8."""
    return (j // LONGEST_PHRASE * 256 + i) * LONGEST_PHRASE + j % LONGEST_PHRASE


@leaf
def _unpack_link(packed: int) -> tuple[int, int]:
    """The link of a number of ``_pack_link``."""
    row = packed // LONGEST_PHRASE
    return row % 256, row // 256 * LONGEST_PHRASE + packed % LONGEST_PHRASE


@leaf
def _next_start(place: int) -> int:
    return (place + ALIGNED - 1) // ALIGNED * ALIGNED


@kernel
def write(
    source: Lists, entry_offsets: np.ndarray, target: Lists, codes: np.ndarray, links: Lists
) -> tuple[np.ndarray, ...]:
    """The bytes, uint8, and where the source phrases begin, uint32 ``[S]``, in ``ALIGNED`` bytes; codes: uint8
    ``[E, K]``.
    """
    words, word_offsets = source
    values, offsets = target
    pairs, pair_offsets = links
    data, place = np.zeros(1 << 16, np.uint8), ALIGNED
    starts = np.empty(len(word_offsets) - 1, np.uint32)
    for phrase in range(len(starts)):
        first, end = entry_offsets[phrase], entry_offsets[phrase + 1]
        numbers = (
            2 + word_offsets[phrase + 1] - word_offsets[phrase] + offsets[end] - offsets[first] + 2 * (end - first)
        )
        most = (
            place
            + ALIGNED
            + 5 * numbers
            + (end - first) * (codes.shape[1] + 3)
            + 3 * (pair_offsets[end] - pair_offsets[first])
        )
        if most + PADDING > len(data):
            data = enlarged(data, 2 * most)
        place = _next_start(place)
        starts[phrase] = place // ALIGNED
        place = _put(data, place, word_offsets[phrase + 1] - word_offsets[phrase])
        for position in range(word_offsets[phrase], word_offsets[phrase + 1]):
            place = _put(data, place, words[position])
        place = _put(data, place, end - first)
        for entry in range(first, end):
            shared = 0
            if entry > first:
                most = min(offsets[entry] - offsets[entry - 1], offsets[entry + 1] - offsets[entry])
                while shared < most and values[offsets[entry - 1] + shared] == values[offsets[entry] + shared]:
                    shared += 1
            place = _put(data, place, shared)
            place = _put(data, place, offsets[entry + 1] - offsets[entry] - shared)
            for position in range(offsets[entry] + shared, offsets[entry + 1]):
                place = _put(data, place, values[position])
            for code in codes[entry]:
                data[place] = code
                place += 1
            place = _put(data, place, pair_offsets[entry + 1] - pair_offsets[entry])
            for link in range(pair_offsets[entry], pair_offsets[entry + 1]):
                place = _put(data, place, _pack_link(np.int64(pairs[link, 0]), np.int64(pairs[link, 1])))
    return data[: place + PADDING].copy(), starts


@kernel
def fill(source: Lists, starts: np.ndarray) -> np.ndarray:
    """uint32: slots, at most three quarters of which are taken."""
    words, offsets = source
    size = 2
    while 3 * size < 4 * len(starts):
        size *= 2
    slots, mask = np.zeros(size, np.uint32), np.uint64(size - 1)
    for phrase in range(len(starts)):
        slot = hash_words(words, offsets[phrase], offsets[phrase + 1]) & mask
        while slots[slot] != 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = starts[phrase]
    return slots


@leaf
def _stands_at(data: np.ndarray, place: int, words: np.ndarray, start: int, end: int) -> bool:
    """Whether the source phrase at a place is ``words[start:end]``."""
    word, place = _get(data, place)
    same = word == end - start
    while same and start < end:
        word, place = _get(data, place)
        same = word == words[start]
        start += 1
    return same


@kernel
def find(slots: np.ndarray, data: np.ndarray, words: np.ndarray, first: np.ndarray, longest: int) -> np.ndarray:
    """int64 ``[tokens, longest]``: where the source phrase begins that starts at a token, or -1; see ``find_spans``."""
    spans, mask = np.full((len(words), longest), -1, dtype=np.int64), np.uint64(len(slots) - 1)
    for sentence in range(len(first) - 1):
        for start in range(first[sentence], first[sentence + 1]):
            for end in range(start + 1, min(start + longest, first[sentence + 1]) + 1):
                slot = hash_words(words, start, end) & mask
                while slots[slot] != 0:
                    place = np.int64(slots[slot]) * ALIGNED
                    if _stands_at(data, place, words, start, end):
                        spans[start, end - start - 1] = place
                        break
                    slot = (slot + np.uint64(1)) & mask
    return spans


@kernel
def words_at(data: np.ndarray, place: int) -> np.ndarray:
    """int32: the source phrase that begins at a place."""
    count, place = _get(data, place)
    words = np.empty(count, np.int32)
    for position in range(count):
        words[position], place = _get(data, place)
    return words


@kernel
def read(data: np.ndarray, phrases: np.ndarray, codes: int) -> tuple[np.ndarray, ...]:
    """Of source phrases that begin at places (int64 ``[P]``): int32 ``[P]``, how many words they have; int64
    ``[P + 1]``, the entries of each; int64 ``[R]``, where these stand; their target phrases, int32 values and int64
    offsets; their codes, uint8 ``[R, codes]``.
    """
    lengths, entry_offsets = np.empty(len(phrases), np.int32), np.zeros(len(phrases) + 1, np.int64)
    for phrase in range(len(phrases)):
        lengths[phrase], place = _get(data, phrases[phrase])
        count, _ = _get(data, _skip(data, place, lengths[phrase]))
        entry_offsets[phrase + 1] = entry_offsets[phrase] + count
    rows, found = np.empty(entry_offsets[-1], np.int64), np.empty((entry_offsets[-1], codes), np.uint8)
    offsets, values, end = np.zeros(len(rows) + 1, np.int64), np.empty(8 * len(rows) + 8, np.int32), 0
    for phrase in range(len(phrases)):
        _, place = _get(data, phrases[phrase])
        _, place = _get(data, _skip(data, place, lengths[phrase]))
        for row in range(entry_offsets[phrase], entry_offsets[phrase + 1]):
            rows[row] = place
            shared, place = _get(data, place)
            following, place = _get(data, place)
            if end + shared + following > len(values):
                values = enlarged(values, 2 * (end + shared + following))
            for position in range(shared):
                values[end + position] = values[offsets[row - 1] + position]
            for position in range(end + shared, end + shared + following):
                values[position], place = _get(data, place)
            end += shared + following
            offsets[row + 1] = end
            for code in range(codes):
                found[row, code] = data[place + code]
            links, place = _get(data, place + codes)
            place = _skip(data, place, links)
    return lengths, entry_offsets, rows, values[:end].copy(), offsets, found


@kernel
def read_links(data: np.ndarray, rows: np.ndarray, codes: int) -> tuple[np.ndarray, ...]:
    """Links of entries that stand at places (int64 ``[n]``): uint8 ``[links, 2]`` and int64 offsets."""
    offsets, places = np.zeros(len(rows) + 1, np.int64), np.empty(len(rows), np.int64)
    for number in range(len(rows)):
        _, place = _get(data, rows[number])
        following, place = _get(data, place)
        count, places[number] = _get(data, _skip(data, place, following) + codes)
        offsets[number + 1] = offsets[number] + count
    links = np.empty((offsets[-1], 2), np.uint8)
    for number in range(len(rows)):
        place = places[number]
        for link in range(offsets[number], offsets[number + 1]):
            packed, place = _get(data, place)
            links[link, 0], links[link, 1] = _unpack_link(packed)
    return links, offsets


@leaf
def _walk_entry(
    data: np.ndarray, place: int, stop: int, codes: int, length: int, before: int, target_words: int
) -> tuple[int, int]:
    """The place behind an entry, or -1 where it cannot be read, and how many words its target phrase has. length: of
    the source phrase; before: words of the target phrase before it.
    """
    shared, place = _get(data, place)
    following, place = _get(data, place)
    count = shared + following
    if not (0 <= shared <= before and 0 <= following <= stop - place):
        return -1, count
    for _ in range(following):
        word, place = _get(data, place)
        if not 0 <= word < target_words or place > stop:
            return -1, count
    place += codes
    if place >= stop:
        return -1, count
    links, place = _get(data, place)
    if not 0 <= links <= stop - place:
        return -1, count
    for _ in range(links):
        packed, place = _get(data, place)
        i, j = _unpack_link(packed)
        if not (0 <= i < length and 0 <= j < count) or place > stop:
            return -1, count
    return place, count


@kernel
def walk(data: np.ndarray, codes: int, source_words: int, target_words: int) -> tuple[bool, np.ndarray]:
    """Whether all can be read: ids of known words, links within their phrases, and nothing behind the last phrase; and
    where the source phrases begin, uint32, in ``ALIGNED`` bytes.
    """
    stop, place, found = len(data) - PADDING, np.int64(ALIGNED), 0
    starts = np.zeros(stop // ALIGNED + 1, np.uint32)
    while place < stop:
        starts[found] = place // ALIGNED
        found += 1
        length, place = _get(data, place)
        if not 0 < length <= stop - place:
            return False, starts
        for _ in range(length):
            word, place = _get(data, place)
            if not 0 <= word < source_words or place > stop:
                return False, starts
        entries, place = _get(data, place)
        if not 0 < entries <= stop - place:
            return False, starts
        words = np.int64(0)
        for _ in range(entries):
            place, words = _walk_entry(data, place, stop, codes, length, words, target_words)
            if place < 0:
                return False, starts
        if place < stop:
            place = _next_start(place)
    return place == stop, starts[:found].copy()
