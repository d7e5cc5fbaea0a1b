"""How an attention network translates."""

from dataclasses import dataclass
from typing import Literal, get_args

from neural_smt.errors import UserError

Heuristic = Literal[0, 1, 2]


@dataclass(frozen=True)
class AttentionDecodingSettings:
    """beam: places of the beam, and so the most translations found for a sentence, one place less for every one that
    is finished; normalise: whether translations are ordered by log p over their length, end symbol included, in place
    of log p; max_length_ratio, max_length_extra: a translation has at most ``max_length_ratio`` words for each source
    word and ``max_length_extra`` besides; unknown: whether the unknown word may be written; batch: sentences that go
    through the network together; precision: fp32, bf16, or auto (bf16 on CUDA).
    expand_on_failure: whether a sentence whose search ends without a finished translation is searched again among more
    words (``growing_sets``).
    replace_unknown: whether a word of the source or of a dictionary is written in place of an unknown one, by
    ``heuristic`` (see ``replacement``).
    """

    beam: int = 12
    normalise: bool = True
    max_length_ratio: int = 3
    max_length_extra: int = 5
    unknown: bool = True
    batch: int = 32
    precision: str = "fp32"
    expand_on_failure: bool = True
    replace_unknown: bool = False
    heuristic: Heuristic = 2

    def __post_init__(self) -> None:
        for name, least in (("beam", 1), ("batch", 1), ("max_length_ratio", 0), ("max_length_extra", 0)):
            if getattr(self, name) < least:
                raise UserError(f"decoding: {name} is {getattr(self, name)}; set it to {least} or more")
        if self.precision not in ("auto", "fp32", "bf16"):
            raise UserError(f"decoding: precision is {self.precision!r}; set it to auto, fp32 or bf16")
        if self.heuristic not in get_args(Heuristic):
            raise UserError(f"decoding: heuristic is {self.heuristic!r}; set it to 0, 1 or 2")
