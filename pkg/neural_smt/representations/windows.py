"""Windows of source words around those that a predicted word is aligned to (Auli et al. 2013, section 5.2)."""

import re
from typing import NamedTuple

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.ragged import Ragged
from neural_smt.jit import leaf
from neural_smt.networks.recurrent.configuration import LINKS, LinkSets

_NAME = re.compile(r"(?:p([1-9]\d?))?(?:c([1-9]))?(?:n([1-9]\d?))?")


class Window(NamedTuple):
    """So many words before the first aligned one, of the aligned ones, and after the last: the slots, in that order."""

    previous: int
    aligned: int
    following: int

    @property
    def slots(self) -> int:
        return sum(self)


def parse_window(name: str) -> Window:
    """``p3``: three previous words; ``n5``: the next five; ``c5``: up to five aligned ones; ``p5n5``: both sides."""
    match = _NAME.fullmatch(name) if name else None
    if match is None or int(match[2] or 0) > LINKS:
        raise UserError(
            f"representation window {name!r} is unknown; use names such as p3, n5, p5n5 or c5 (c up to {LINKS})"
        )
    return Window(*(int(size or 0) for size in match.groups()))


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
