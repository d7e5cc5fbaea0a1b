"""Words numbered by their bytes, for kernels that read text without making a Python object of every word."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from neural_smt.io.text_primitives import Words, fill_slots


class WordNumbers:
    """Distinct words numbered as they come; ``arrays`` is what the kernels of ``text_primitives`` take."""

    def __init__(self) -> None:
        self.arrays = _with_slots(np.empty(1 << 19, dtype=np.uint8), np.zeros((1 << 15) + 1, dtype=np.int64), 0)

    def __len__(self) -> int:
        return int(self.arrays.size[0])

    def enlarge(self, letters: int) -> None:
        """Make twice the room, and room for at least so many letters more."""
        old = self.arrays
        larger = np.empty(2 * len(old.letters) + letters, dtype=np.uint8)
        larger[: len(old.letters)] = old.letters
        offsets = np.zeros(2 * len(old.offsets) - 1, dtype=np.int64)
        offsets[: len(old.offsets)] = old.offsets
        self.arrays = _with_slots(larger, offsets, len(self))

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
    slots = 4
    while slots < 2 * len(offsets):
        slots *= 2
    words = Words(np.full(slots, -1, dtype=np.int32), letters, offsets, np.array([size], dtype=np.int64))
    fill_slots(words)
    return words
