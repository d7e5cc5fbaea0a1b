"""The settings of encoder-decoder training, their defaults and their meaning."""

from dataclasses import dataclass

from neural_smt.errors import UserError


@dataclass(frozen=True)
class TrainingSettings:
    """Defaults are those of the released phrase model of Cho et al. (2014), but for the number of updates.

    hidden, embedding, maxout, rank: sizes, see ``EncoderDecoderConfig``.
    follow: ``code``, ``paper``, or a mapping of single differences, see ``Conventions``.
    batch: pairs per update; buffer: minibatches read at once and sorted by length.
    updates: parameter updates in all; the program's budget was 3 million, or about three days.
    max_length: pairs with a longer phrase on either side are left out.
    clip: largest L2 norm of the gradient of all parameters; rho, epsilon: of AdaDelta.
    validation_pairs: pairs held out (about; they are chosen by hash); 0 for none.
    validate_every, checkpoint_every: in updates.
    patience: validations without a better perplexity before training stops; 0 never stops (as the program).
    keep: the model written at the end, ``last`` (as the program) or ``best`` on the held-out pairs.
    precision: ``auto`` (bf16 on CUDA, else fp32), ``fp32`` or ``bf16``.
    """

    hidden: int = 1000
    embedding: int = 100
    maxout: int = 500
    rank: int = 100
    follow: str | dict[str, str] = "code"
    batch: int = 64
    buffer: int = 10
    updates: int = 3_000_000
    max_length: int = 30
    clip: float = 1.0
    rho: float = 0.95
    epsilon: float = 1e-6
    validation_pairs: int = 2000
    validate_every: int = 5000
    checkpoint_every: int = 1000
    patience: int = 0
    keep: str = "last"
    precision: str = "auto"

    def __post_init__(self) -> None:
        for name in ("batch", "buffer", "updates", "max_length", "validate_every", "checkpoint_every"):
            if getattr(self, name) < 1:
                raise UserError(f"training: {name} is {getattr(self, name)}; set it to 1 or more")
        if self.keep not in ("last", "best"):
            raise UserError(f"training: keep is {self.keep!r}; set it to last or best")
        if self.validation_pairs < 1 and (self.patience > 0 or self.keep == "best"):
            raise UserError("training: patience and keep: best need held-out pairs; set validation_pairs to 1 or more")
