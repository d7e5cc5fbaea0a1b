"""The settings that the training loop itself reads, whatever it trains."""

from dataclasses import asdict, dataclass
from typing import Any

from neural_smt.errors import UserError


@dataclass(frozen=True)
class LoopSettings:
    """Defaults are those of the released phrase model of Cho et al. (2014), but for the number of updates.

    updates: parameter updates in all; the program's budget was 3 million, or about three days.
    clip: largest L2 norm of the gradient of all parameters; rho, epsilon: of AdaDelta.
    validate_every: in updates, 0 for once an epoch; checkpoint_every: in updates.
    patience: validations without a better perplexity before training stops; 0 never stops (as the program).
    keep: the model written at the end, ``last`` (as the program) or ``best`` on the held-out examples.
    precision: ``auto`` (bf16 on CUDA, else fp32), ``fp32`` or ``bf16``.
    """

    updates: int = 3_000_000
    clip: float = 1.0
    rho: float = 0.95
    epsilon: float = 1e-6
    validate_every: int = 5000
    checkpoint_every: int = 1000
    patience: int = 0
    keep: str = "last"
    precision: str = "auto"

    def __post_init__(self) -> None:
        self.check_positive("updates", "checkpoint_every")
        if self.keep not in ("last", "best"):
            raise UserError(f"training: keep is {self.keep!r}; set it to last or best")

    def deciding(self, *others: str) -> dict[str, Any]:
        """All that decides on where a run is after an update. Not how long it goes: with more updates or epochs it may
        go on from where it ended; and not ``others``.
        """
        return {name: value for name, value in asdict(self).items() if name not in ("updates", "epochs", *others)}

    def check_positive(self, *names: str) -> None:
        """Raise ``UserError`` when one of the settings ``names`` is below 1."""
        for name in names:
            if getattr(self, name) < 1:
                raise UserError(f"training: {name} is {getattr(self, name)}; set it to 1 or more")
