"""Parsing the n-gram lines of ARPA files from bytes, without a Python object per line."""

from typing import NamedTuple

import numpy as np

from neural_smt.jit import kernel, mix

PARSED, _TOO_MANY, _TOO_FEW, _NOT_A_NUMBER, _FIELDS = range(5)
FAULTS = {
    _TOO_MANY: "more {order}-grams than the {count} that the header declares",
    _TOO_FEW: "fewer {order}-grams than the {count} that the header declares",
    _NOT_A_NUMBER: "expected a number",
    _FIELDS: "expected 'log10-probability words [back-off]' with {order} words",
}

_SPACE, _TAB, _NEWLINE, _RETURN, _BACKSLASH = 32, 9, 10, 13, 92
_MINUS, _PLUS, _POINT, _ZERO = 45, 43, 46, 48


class WordIndex(NamedTuple):
    """A hash table of words by their bytes.

    slots: int32, a power of two, the number of a word or -1; words, offsets, ids: as ``index_words`` takes them.
    """

    slots: np.ndarray
    words: np.ndarray
    offsets: np.ndarray
    ids: np.ndarray


@kernel
def index_words(words: np.ndarray, offsets: np.ndarray, ids: np.ndarray) -> WordIndex:
    """Index word ``i`` = ``words[offsets[i]:offsets[i + 1]]`` (uint8), whose id is ``ids[i]`` (int32)."""
    size = 4
    while size < 2 * len(ids):
        size *= 2
    index = WordIndex(np.full(size, -1, dtype=np.int32), words, offsets, ids)
    for i in range(len(ids)):
        slot = _find_word(index, words, offsets[i], offsets[i + 1])
        if index.slots[slot] < 0:
            index.slots[slot] = i
    return index


@kernel
def parse_ngrams(
    text: np.ndarray, position: int, has_backoff: bool, index: WordIndex, words: np.ndarray, values: np.ndarray
) -> tuple[int, int, int]:
    """Fill ``words`` (int32 [count, order]) and ``values`` (float32 [count, 2]: log10 probability, back-off).

    text: uint8, read from ``position`` to the first blank line or line that starts with a backslash. Rows with a word
    that the index lacks are counted but not kept. Returns the position reached, the rows kept, and a fault or PARSED.
    """
    count, order = words.shape
    seen = 0
    row = 0
    while True:
        line = position
        position = _skip_spaces(text, position)
        if _at_line_end(text, position) or text[position] == _BACKSLASH:
            return line, row, PARSED if seen == count else _TOO_FEW
        if seen == count:
            return line, row, _TOO_MANY
        seen += 1
        log10_prob, end, good = _parse_number(text, position)
        if not good:
            return line, row, _NOT_A_NUMBER
        known = True
        for i in range(order):
            start = _skip_spaces(text, end)
            end = _field_end(text, start)
            if end == start:
                return line, row, _FIELDS
            number = index.slots[_find_word(index, text, start, end)]
            known = known and number >= 0
            words[row, i] = index.ids[number] if number >= 0 else -1
        end = _skip_spaces(text, end)
        backoff = 0.0
        if has_backoff and not _at_line_end(text, end):
            backoff, end, good = _parse_number(text, end)
            if not good:
                return line, row, _NOT_A_NUMBER
            end = _skip_spaces(text, end)
        if not _at_line_end(text, end):
            return line, row, _FIELDS
        values[row, 0] = log10_prob
        values[row, 1] = backoff
        row += known
        position = min(end + 1, len(text))


@kernel
def _find_word(index: WordIndex, text: np.ndarray, start: int, end: int) -> int:
    """The slot of the word ``text[start:end]``, or the empty slot where it would stand."""
    value = np.uint64(0xCBF29CE484222325)  # FNV-1a
    for i in range(start, end):
        value = (value ^ np.uint64(text[i])) * np.uint64(0x100000001B3)
    mask = np.uint64(len(index.slots) - 1)
    slot = mix(value) & mask
    while True:
        number = index.slots[slot]
        if number < 0:
            return np.int64(slot)
        first = index.offsets[number]
        same = index.offsets[number + 1] - first == end - start
        for i in range(end - start):
            if not same:
                break
            same = index.words[first + i] == text[start + i]
        if same:
            return np.int64(slot)
        slot = (slot + np.uint64(1)) & mask


@kernel
def _skip_spaces(text: np.ndarray, position: int) -> int:
    while position < len(text) and (text[position] == _SPACE or text[position] == _TAB or text[position] == _RETURN):
        position += 1
    return position


@kernel
def _at_line_end(text: np.ndarray, position: int) -> bool:
    return position >= len(text) or text[position] == _NEWLINE


@kernel
def _field_end(text: np.ndarray, position: int) -> int:
    while position < len(text) and text[position] > _SPACE:
        position += 1
    return position


@kernel
def _parse_number(text: np.ndarray, position: int) -> tuple[float, int, bool]:
    """Read a decimal number such as ``-1.25e-05``: its value, the position after it, and whether it was one."""
    end = _field_end(text, position)
    negative = position < end and text[position] == _MINUS
    if position < end and (text[position] == _MINUS or text[position] == _PLUS):
        position += 1
    mantissa = 0.0
    digits = 0
    exponent = 0
    after_point = False
    while position < end:
        digit = np.int64(text[position]) - _ZERO
        if 0 <= digit <= 9:
            mantissa = mantissa * 10.0 + digit
            digits += 1
            exponent -= after_point
        elif text[position] == _POINT and not after_point:
            after_point = True
        else:
            break
        position += 1
    if digits > 0 and position + 1 < end and (text[position] == 101 or text[position] == 69):  # e, E
        position += 1
        sign = -1 if text[position] == _MINUS else 1
        position += text[position] == _MINUS or text[position] == _PLUS
        written = 0
        while position < end and 0 <= np.int64(text[position]) - _ZERO <= 9:
            written = written * 10 + np.int64(text[position]) - _ZERO
            position += 1
        exponent += sign * written
    value = mantissa / 10.0 ** (-exponent) if exponent < 0 else mantissa * 10.0**exponent
    return (-value if negative else value), end, digits > 0 and position == end
