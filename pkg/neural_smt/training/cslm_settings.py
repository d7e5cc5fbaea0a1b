"""The settings of CSLM training, their defaults and their meaning."""

from dataclasses import dataclass

from neural_smt.errors import UserError
from neural_smt.training.loop_settings import LoopSettings


@dataclass(frozen=True)
class CslmSettings(LoopSettings):
    """Defaults are those of Cho et al. (2014, section 4.1.2), where it gives any; for the rest see ``LoopSettings``.

    order, projection, layers, initial_range: see ``CslmConfig``.
    batch: n-grams per update; the CSLM toolkit's block. The gradient is that of their sum, clipped at 100 where the
    encoder-decoder's is at 1: in the paper's sizes 180 updates on captions came to a validation perplexity of 105
    instead of 251, in small ones 600 updates to 50 instead of 116.
    validation: share of the sentences held out, chosen by hash; 0 for none.
    validate_every, patience: training stops when ten epochs have not improved the validation perplexity. ``updates``
    is a cap; the paper gives none. keep: the paper does not say which weights it used; here the best ones.
    ngram_order: of the n-gram model that the held-out perplexity is compared with, estimated on the same sentences
    (about 120 bytes of memory a word); 0 for none.

    The optimiser is AdaDelta as for the encoder-decoder; the paper names none for the CSLM. Initial weights within 0.01
    of 0 give matrices gradients a thousand and more times smaller than that of the softmax's bias, and AdaDelta gives
    every weight a step of its own. Small sizes, 600 updates on captions: perplexity 50, with the best of three rates of
    plain SGD 79.
    """

    order: int = 7
    projection: int = 512
    layers: tuple[int, int] = (1536, 1024)
    initial_range: float = 0.01
    batch: int = 128
    clip: float = 100.0
    validation: float = 0.001
    validate_every: int = 0
    patience: int = 10
    keep: str = "best"
    ngram_order: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_positive("batch")
        if self.ngram_order < 0:
            raise UserError(f"training: ngram_order is {self.ngram_order}; set it to 0 (none) or more")
        if not 0 <= self.validation < 1:
            raise UserError(f"training: validation is {self.validation}; set it to a share between 0 and 1")
        if self.validation == 0 and (self.patience > 0 or self.keep == "best"):
            raise UserError("training: patience and keep: best need held-out sentences; set validation above 0")
