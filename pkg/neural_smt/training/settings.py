"""The settings of encoder-decoder training, their defaults and their meaning."""

from dataclasses import dataclass

from neural_smt.errors import UserError
from neural_smt.training.loop_settings import LoopSettings


@dataclass(frozen=True)
class TrainingSettings(LoopSettings):
    """Defaults are those of the released phrase model of Cho et al. (2014); for the rest see ``LoopSettings``.

    hidden, embedding, maxout, rank: sizes, see ``EncoderDecoderConfig``.
    unit, direction: see ``EncoderDecoderConfig``.
    conventions: ``code``, ``paper``, or a mapping of single differences, see ``Conventions``.
    batch: pairs per update; buffer: minibatches read at once and sorted by length.
    max_length: pairs with a longer phrase on either side are left out.
    validation_pairs: pairs held out (about; they are chosen by hash); 0 for none.
    """

    hidden: int = 1000
    embedding: int = 100
    maxout: int = 500
    rank: int = 100
    unit: str = "gated"
    direction: str = "forward"
    conventions: str | dict[str, str] = "code"
    batch: int = 64
    buffer: int = 10
    max_length: int = 30
    validation_pairs: int = 2000

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_positive("batch", "buffer", "max_length")
        if self.validation_pairs < 1 and (self.patience > 0 or self.keep == "best"):
            raise UserError("training: patience and keep: best need held-out pairs; set validation_pairs to 1 or more")
