"""Reading text from bytes inside kernels: lines, tokens, numbers, and words numbered by their bytes.

Every function takes the end of what it may read, and reads nothing beyond it, whatever the bytes are. Only space and
tab stand between tokens, as in Moses and KenLM: a no-break space, say, is part of a word.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from neural_smt.io.lookup_primitives import empty_slots, find_list
from neural_smt.jit import enlarged, kernel, leaf, mix

_SPACE, _TAB, _NEWLINE, _RETURN = 32, 9, 10, 13
_MINUS, _PLUS, _POINT, _ZERO, _UPPER_E, _LOWER_E = 45, 43, 46, 48, 69, 101

_EXACT_POWER = 22
_POWERS = np.array([float(10**n) for n in range(_EXACT_POWER + 1)])  # the powers of ten that a double holds exactly
_MOST_DIGITS = np.uint64(10**18)

NO_ROOM = -1


class Words(NamedTuple):
    """Distinct words, numbered as they came, and the hash table that finds them by their bytes.

    slots: int32, a power of two, the number of a word or -1; letters: uint8, the words end to end; offsets: int64,
    word ``i`` is ``letters[offsets[i]:offsets[i + 1]]``; size: int64 ``[1]``, how many words there are.
    """

    slots: np.ndarray
    letters: np.ndarray
    offsets: np.ndarray
    size: np.ndarray


@leaf
def find_line_end(text: np.ndarray, position: int) -> tuple[int, int]:
    """The end of the line at ``position``, without and with its line end (``\\n`` or ``\\r\\n``)."""
    end = position
    while end < len(text) and text[end] != _NEWLINE:
        end += 1
    following = min(end + 1, len(text))
    if end > position and text[end - 1] == _RETURN:
        end -= 1
    return end, following


@leaf
def skip_spaces(text: np.ndarray, position: int, stop: int) -> int:
    """The first position that is neither space nor tab, or ``stop``."""
    while position < stop and (text[position] == _SPACE or text[position] == _TAB):
        position += 1
    return position


@leaf
def find_token_end(text: np.ndarray, position: int, stop: int) -> int:
    """The first position that is space or tab, or ``stop``."""
    while position < stop and text[position] != _SPACE and text[position] != _TAB:
        position += 1
    return position


@leaf
def parse_natural(text: np.ndarray, position: int, stop: int) -> tuple[int, int]:
    """The natural number written at ``position`` (huge ones become 10^9) and the position after its digits."""
    value = 0
    while position < stop and _ZERO <= text[position] <= _ZERO + 9:
        value = min(value * 10 + np.int64(text[position]) - _ZERO, 1000000000)
        position += 1
    return value, position


@leaf
def parse_number(text: np.ndarray, start: int, stop: int) -> tuple[float, bool]:
    """The decimal number ``text[start:stop]``, such as ``-1.25e-05``, and whether it is one.

    The result is the nearest double for up to 15 digits times a power of ten within 10^-22 and 10^22; beyond that its
    relative error is below 10^-14. What exceeds a double becomes infinite or 0.
    """
    position = start
    negative = position < stop and text[position] == _MINUS
    if position < stop and (text[position] == _MINUS or text[position] == _PLUS):
        position += 1
    mantissa = np.uint64(0)
    digits = 0
    exponent = 0
    after_point = False
    while position < stop:
        if _ZERO <= text[position] <= _ZERO + 9:
            digits += 1
            if mantissa < _MOST_DIGITS:
                mantissa = mantissa * np.uint64(10) + np.uint64(text[position] - _ZERO)
                exponent -= after_point
            else:
                exponent += not after_point
        elif text[position] == _POINT and not after_point:
            after_point = True
        else:
            break
        position += 1
    good = digits > 0
    if good and position < stop and (text[position] == _LOWER_E or text[position] == _UPPER_E):
        position += 1
        sign = -1 if position < stop and text[position] == _MINUS else 1
        if position < stop and (text[position] == _MINUS or text[position] == _PLUS):
            position += 1
        written, end = parse_natural(text, position, stop)
        good = end > position
        position = end
        exponent += sign * written
    value = _scale(np.float64(mantissa), exponent)
    return (-value if negative else value), good and position == stop


@leaf
def _scale(value: float, exponent: int) -> float:
    """``value`` times 10^exponent."""
    exponent = max(min(exponent, 400), -400) if value > 0 else 0
    while exponent > _EXACT_POWER:
        value *= _POWERS[_EXACT_POWER]
        exponent -= _EXACT_POWER
    while exponent < -_EXACT_POWER:
        value /= _POWERS[_EXACT_POWER]
        exponent += _EXACT_POWER
    return value / _POWERS[-exponent] if exponent < 0 else value * _POWERS[exponent]


@leaf
def find_word(words: Words, text: np.ndarray, start: int, end: int) -> int:
    """The slot of the word ``text[start:end]``, or the empty slot where it would stand."""
    key = np.uint64(0xCBF29CE484222325)  # FNV-1a
    for i in range(start, end):
        key = (key ^ np.uint64(text[i])) * np.uint64(0x100000001B3)
    return np.int64(find_list(words.slots, words.letters, words.offsets, text, start, end, mix(key)))


@leaf
def number_word(words: Words, text: np.ndarray, start: int, end: int) -> int:
    """The number of the word ``text[start:end]``, a new one for a new word; ``NO_ROOM`` when it does not fit."""
    slot = find_word(words, text, start, end)
    if words.slots[slot] >= 0:
        return np.int64(words.slots[slot])
    number = words.size[0]
    first = words.offsets[number]
    if number + 1 >= len(words.offsets) or 2 * number >= len(words.slots) or first + end - start > len(words.letters):
        return NO_ROOM
    for i in range(end - start):
        words.letters[first + i] = text[start + i]
    words.offsets[number + 1] = first + end - start
    words.slots[slot] = number
    words.size[0] = number + 1
    return number


@kernel
def fill_slots(words: Words) -> None:
    """Enter all words into ``slots``, which are -1 and more than the words; of equal words the first is found."""
    for number in range(words.size[0]):
        slot = find_word(words, words.letters, words.offsets[number], words.offsets[number + 1])
        if words.slots[slot] < 0:
            words.slots[slot] = number


class WordNumbers:
    """Distinct words numbered as they come; ``arrays`` is what the kernels of ``text_primitives`` take."""

    def __init__(self) -> None:
        self.arrays = _with_slots(np.empty(1 << 19, dtype=np.uint8), np.zeros((1 << 15) + 1, dtype=np.int64), 0)

    def __len__(self) -> int:
        return int(self.arrays.size[0])

    def enlarge(self, letters: int) -> None:
        """Make twice the room, and room for at least so many letters more."""
        old = self.arrays
        larger = enlarged(old.letters, 2 * len(old.letters) + letters)
        self.arrays = _with_slots(larger, enlarged(old.offsets, 2 * len(old.offsets) - 1), len(self))

    def words(self) -> list[str]:
        """The words in the order of their numbers; the text they came from must be UTF-8."""
        letters, offsets = self.arrays.letters.tobytes(), self.arrays.offsets[: len(self) + 1].tolist()
        return [letters[begin:end].decode() for begin, end in pairwise(offsets)]


def index_words(words: Sequence[str]) -> Words:
    """Words whose numbers are their places in the list; of equal words the first is found."""
    encoded = [word.encode() for word in words]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(word) for word in encoded], out=offsets[1:])
    return _with_slots(np.frombuffer(bytearray(b"".join(encoded)), dtype=np.uint8), offsets, len(encoded))


def _with_slots(letters: np.ndarray, offsets: np.ndarray, size: int) -> Words:
    """At least twice as many slots as words that have room, so that a search always meets an empty one."""
    words = Words(empty_slots(len(offsets)), letters, offsets, np.array([size], dtype=np.int64))
    fill_slots(words)
    return words
