"""What a representation is made of: a section of the configuration."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from neural_smt.errors import UserError
from neural_smt.representations.windows import Window, parse_window
from neural_smt.settings import read_settings

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
