"""What defines an attention network: its sizes, and what its scorer reads."""

from dataclasses import asdict, dataclass
from typing import Any

from neural_smt.errors import UserError


@dataclass(frozen=True)
class AttentionConfig:
    """Sizes of an attention network; the defaults are those of GroundHog's ``prototype_search_state``.

    source_words, target_words: entries of the vocabularies, reserved ones included; hidden: units of each encoder and
    of the decoder; embedding: dimensions of a word; attention: hidden units of the scorer r; maxout: units of the
    readout, each the larger of two; rank: numbers between maxout and softmax.
    word_in_scorer: the scorer reads y*_{t-1} too (Mi et al. 2016, equation 4); GroundHog's does not.
    """

    source_words: int
    target_words: int
    hidden: int = 1000
    embedding: int = 620
    attention: int = 1000
    maxout: int = 500
    rank: int = 620
    word_in_scorer: bool = True

    def __post_init__(self) -> None:
        for name in ("source_words", "target_words", "hidden", "embedding", "attention", "maxout", "rank"):
            if getattr(self, name) < 1:
                raise UserError(f"the attention network's {name} is {getattr(self, name)}; set it to 1 or more")

    def to_json(self) -> dict[str, Any]:
        """The configuration as plain values for ``config.json``."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "AttentionConfig":
        """Inverse of ``to_json``; raises ``TypeError`` on keys that are missing or unknown."""
        return cls(**values)
