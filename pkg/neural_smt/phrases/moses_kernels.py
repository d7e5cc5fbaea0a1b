"""Parsing the rows of Moses' phrase and reordering tables from bytes, without a Python object per row."""

from typing import NamedTuple

import numpy as np

from neural_smt.io import text_primitives as primitives
from neural_smt.io.text_primitives import NO_ROOM, Words
from neural_smt.jit import kernel, leaf
from neural_smt.phrases.primitives import LENGTH_BITS

LONGEST = (1 << LENGTH_BITS) - 1
"""Longest phrase that can be read, in words."""

PARSED, NO_ROOM_FOR_WORD, FIELDS, LENGTH, NUMBER, RANGE, SCORES, LINK, OUTSIDE, COUNT = range(10)

_ROW, _SOURCE, _TARGET, _LINK = range(4)
_BAR, _HYPHEN = 124, 45
_LARGEST_SCORE = np.float64(np.finfo(np.float32).max)
_LARGEST_COUNT = np.float64(np.iinfo(np.int32).max)


class Rows(NamedTuple):
    """Room for the rows of a text of n bytes; rows of ``make_rows``.

    source, target: int32, the words of all phrases end to end; links: uint8 ``[., 2]``; lengths: int32 ``[rows, 3]``,
    source words, target words and links of each row; scores: float32 ``[rows, N]``; counts: float64 ``[rows, 3]``;
    used: int64 ``[4]``, how many rows, source words, target words and links there are.
    """

    source: np.ndarray
    target: np.ndarray
    links: np.ndarray
    lengths: np.ndarray
    scores: np.ndarray
    counts: np.ndarray
    used: np.ndarray


def make_rows(size: int, scores: int) -> Rows:
    """Room for whatever ``size`` bytes may hold: every token ends in a byte of its own, a row has so many scores."""
    rows = (size + 1) // (8 + 2 * scores) + 1  # 'f|||e|||', N digits, N ends; one more, to be found broken
    return Rows(
        source=np.empty(size // 2 + 1, dtype=np.int32),
        target=np.empty(size // 2 + 1, dtype=np.int32),
        links=np.empty((size // 4 + 1, 2), dtype=np.uint8),
        lengths=np.empty((rows, 3), dtype=np.int32),
        scores=np.empty((rows, scores), dtype=np.float32),
        counts=np.zeros((rows, 3)),  # older tables have none, or only the first two
        used=np.zeros(4, dtype=np.int64),
    )


@kernel
def scan_rows(text: np.ndarray, position: int, words: Words, rows: Rows, reordering: bool) -> tuple[int, int, int]:
    """Append the lines of ``text`` (uint8) from ``position`` on to ``rows``; new words get new numbers.

    A row is f ||| e ||| scores ||| alignment ||| counts ||| ignored fields, or with ``reordering`` the first three
    fields. Returns a fault or ``PARSED``, the line where it was met, and the position in it, or for ``LENGTH`` and
    ``SCORES`` the number that is wrong. After ``NO_ROOM_FOR_WORD`` the same line can be tried again with more room.
    """
    while position < len(text):
        stop, following = primitives.find_line_end(text, position)
        fault, place = _scan_row(text, position, stop, words, rows, reordering)
        if fault != PARSED:
            return fault, position, place
        position = following
    return PARSED, position, position


@leaf
def _scan_row(text: np.ndarray, start: int, stop: int, words: Words, rows: Rows, reordering: bool) -> tuple[int, int]:
    row = rows.used[_ROW]
    source_end = _find_bars(text, start, stop)
    target = source_end + 3
    target_end = _find_bars(text, target, stop)
    scores = target_end + 3
    scores_end = _find_bars(text, scores, stop)
    alignment = scores_end + 3
    if scores > stop or (alignment > stop) != reordering:
        return FIELDS, start
    source_length = _scan_words(text, start, source_end, words, rows.source, rows.used[_SOURCE])
    target_length = _scan_words(text, target, target_end, words, rows.target, rows.used[_TARGET])
    for length in (source_length, target_length):
        if length == NO_ROOM:
            return NO_ROOM_FOR_WORD, start
        if not 0 < length <= LONGEST:
            return LENGTH, length
    fault, place = _scan_numbers(text, scores, scores_end, rows.scores[row], _LARGEST_SCORE, stop)
    if fault != PARSED or place != rows.scores.shape[1]:
        return (fault if fault != PARSED else SCORES), place
    links = 0
    if not reordering:
        alignment_end = _find_bars(text, alignment, stop)
        fault, place = _scan_links(text, alignment, alignment_end, rows, source_length, target_length)
        if fault != PARSED:
            return fault, place
        links = place
        counts_end = _find_bars(text, alignment_end + 3, stop)
        fault, place = _scan_numbers(text, alignment_end + 3, counts_end, rows.counts[row], _LARGEST_COUNT, 3)
        if fault != PARSED:
            return COUNT, place
    for part, length in enumerate((source_length, target_length, links)):
        rows.lengths[row, part] = length
        rows.used[_SOURCE + part] += length
    rows.used[_ROW] += 1
    return PARSED, stop


@leaf
def _find_bars(text: np.ndarray, position: int, stop: int) -> int:
    """Where the next ``|||`` begins, or ``stop``."""
    while position + 2 < stop:
        if text[position] == _BAR and text[position + 1] == _BAR and text[position + 2] == _BAR:
            return position
        position += 1
    return stop


@leaf
def _scan_words(text: np.ndarray, position: int, stop: int, words: Words, numbers: np.ndarray, first: int) -> int:
    """Write the numbers of at most ``LONGEST`` words to ``numbers[first:]``; return how many words there are."""
    length = 0
    position = primitives.skip_spaces(text, position, stop)
    while position < stop:
        end = primitives.find_token_end(text, position, stop)
        if length < LONGEST:
            number = primitives.number_word(words, text, position, end)
            if number == NO_ROOM:
                return NO_ROOM
            numbers[first + length] = number
        length += 1
        position = primitives.skip_spaces(text, end, stop)
    return length


@leaf
def _scan_numbers(
    text: np.ndarray, position: int, stop: int, numbers: np.ndarray, largest: float, most: int
) -> tuple[int, int]:
    """Read numbers from 0 to ``largest``, no more than ``most``; without fault the second number says how many."""
    found = 0
    position = primitives.skip_spaces(text, position, stop)
    while position < stop and found < most:
        end = primitives.find_token_end(text, position, stop)
        value, good = primitives.parse_number(text, position, end)
        if not good or not 0 <= value <= largest:
            return (RANGE if good else NUMBER), position
        if found < len(numbers):
            numbers[found] = value
        found += 1
        position = primitives.skip_spaces(text, end, stop)
    return PARSED, found


@leaf
def _scan_links(
    text: np.ndarray, position: int, stop: int, rows: Rows, source_length: int, target_length: int
) -> tuple[int, int]:
    """Read links ``i-j i-j ...``; without fault the second number returned says how many."""
    link = rows.used[_LINK]
    position = primitives.skip_spaces(text, position, stop)
    while position < stop:
        end = primitives.find_token_end(text, position, stop)
        i, hyphen = primitives.parse_natural(text, position, end)
        j, last = primitives.parse_natural(text, hyphen + 1, end)
        if not position < hyphen < last - 1 or text[hyphen] != _HYPHEN or last != end:
            return LINK, position
        if i >= source_length or j >= target_length:
            return OUTSIDE, position
        rows.links[link, 0] = i
        rows.links[link, 1] = j
        link += 1
        position = primitives.skip_spaces(text, end, stop)
    return PARSED, link - rows.used[_LINK]
