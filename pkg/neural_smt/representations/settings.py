"""What a representation is made of, and windows of source words around those that a predicted word is aligned to."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from neural_smt.errors import UserError
from neural_smt.experiment.settings import read_settings
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


SENTENCE_KINDS = ("sentence_lsa", "projected_lsa")
"""Kinds with one vector for the whole sentence."""

WORD_KINDS = ("word_lsa", "word_rnn", "learned")
"""Kinds with a vector for each word of a window around the aligned source words."""

KINDS = (*SENTENCE_KINDS, *WORD_KINDS)


@dataclass(frozen=True)
class RepresentationSettings:
    """kind: one of ``KINDS``; dimensions: of each vector (``word_rnn`` has those of its model instead).

    side: which text it represents, ``source``, or ``target`` for the oracle (``sentence_lsa`` alone). window: of word
    kinds, such as ``p5n5``, as in ``windows``. length: of an input f_t whose slots are all filled (see
    ``representation``); not for ``learned``. Of ``projected_lsa``: bits of a feature's number; rate of the gradient
    descent, 0 to choose it on held-out sentences; epochs at most; held_out, the share of sentences it is judged on.
    """

    kind: str
    dimensions: int = 80
    side: str = "source"
    window: str = "n5"
    length: float = 2.0
    bits: int = 20
    rate: float = 0.0
    epochs: int = 20
    held_out: float = 0.05

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UserError(f"representation kind {self.kind!r} is unknown; use one of {', '.join(KINDS)}")
        if self.side not in ("source", "target"):
            raise UserError(f"representation side {self.side!r} is unknown; use source or target")
        if self.side == "target" and self.kind != "sentence_lsa":
            raise UserError(f"a representation of kind {self.kind} reads the source; set side: source")
        bounds: dict[str, tuple[float, float]] = {
            "dimensions": (1, 100_000), "bits": (1, 30), "rate": (0, 2), "epochs": (1, 10_000), "held_out": (0, 0.9),
        }  # fmt: skip
        for name, (least, most) in bounds.items():
            if not least <= getattr(self, name) <= most:
                raise UserError(
                    f"representation {name} is {getattr(self, name)}; set it to a value from {least} to {most}"
                )
        if self.length <= 0:
            raise UserError(f"representation length is {self.length}; set it above 0")
        if self.kind == "projected_lsa" and self.rate == 0 and self.held_out == 0:
            raise UserError("a projected representation's held_out is 0 and so is its rate; set one of them above 0")
        parse_window(self.window)

    @property
    def chosen_window(self) -> Window:
        """The window of a word kind."""
        return parse_window(self.window)

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> "RepresentationSettings":
        """From plain values; ``UserError`` for what is unknown, missing or out of range."""
        if "kind" not in values:
            raise UserError(f"a representation needs a kind; set it to one of {', '.join(KINDS)}")
        return read_settings(cls, values, "representation")
