"""The settings of training a recurrent model, their defaults and their meaning."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from neural_smt.errors import UserError
from neural_smt.settings import read_settings
from neural_smt.training.loop_settings import LoopSettings


@dataclass(frozen=True)
class ClassSettings:
    """How words are put into classes.

    method: ``frequency`` (the RNNLM toolkit's), ``optimal`` (the fewest outputs a word, see ``cheapest``) or
    ``exchange`` (see the module of that name; it starts from ``optimal``); count: classes, 0 for the method's own
    choice (the square root of the words, or the best number); speed: nats that ``exchange`` pays to compute one output
    less for every word; its default is a guess.
    """

    method: str = "optimal"
    count: int = 0
    speed: float = 0.001

    def __post_init__(self) -> None:
        if self.method not in ("frequency", "optimal", "exchange"):
            raise UserError(f"training: classes.method is {self.method!r}; set it to frequency, optimal or exchange")
        if self.count < 0 or self.speed < 0:
            raise UserError("training: classes.count and classes.speed must not be negative; set them to 0 or more")


@dataclass(frozen=True)
class RecurrentSettings(LoopSettings):
    """Defaults are those of Auli et al. (2013, section 4.1), else of the RNNLM toolkit; see ``LoopSettings`` too.

    hidden: units; classes: a mapping of ``ClassSettings``; direct_bits: binary logarithm of the number of weights for
    n-gram features (0: none); direct_order: longest of these n-grams; bptt: see ``Recurrence``.
    batch: sentences side by side in an update, whose gradients are summed.
    optimiser: ``adagrad`` or ``sgd``, as the toolkit; rate: of learning. The toolkit updates after every word, here the
    gradients of a minibatch are summed. On captions, validation perplexity after one epoch: AdaGrad on 64 sentences at
    0.1 38; SGD on 8 sentences at 0.1 52, at a quarter of the speed; SGD on 64 at 0.0125 83, and up and down from there.
    l2: decay of weights, times the rate, in an update; of sparse ones only where they have a gradient.
    clip: largest error of a hidden unit in backpropagation (the toolkit's cutoff), not of a norm; 0 for none.
    epochs: at most; improvement: after an epoch in which the validation entropy times this is not below the one before,
    the rate halves for every epoch, and the second such epoch is the last. patience: as elsewhere, beside that.
    validation: share of the sentences held out, chosen by hash; sentences: train on so many of the others, chosen at
    random (0: on all of them).
    ngram_order: of the n-gram model that perplexities are compared with.
    """

    hidden: int = 100
    classes: Mapping[str, Any] = field(default_factory=dict)
    direct_bits: int = 22
    direct_order: int = 3
    bptt: int = 20
    batch: int = 64
    optimiser: str = "adagrad"
    rate: float = 0.1
    l2: float = 0.0
    clip: float = 15.0
    epochs: int = 20
    improvement: float = 1.003
    validation: float = 0.02
    sentences: int = 0
    validate_every: int = 0
    keep: str = "best"
    ngram_order: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_positive("batch", "epochs", "ngram_order")
        if self.optimiser not in ("adagrad", "sgd"):
            raise UserError(f"training: optimiser is {self.optimiser!r}; set it to adagrad or sgd")
        if not self.rate > 0:
            raise UserError(f"training: rate is {self.rate}; set it above 0")
        for name in ("direct_bits", "bptt", "l2", "clip", "sentences"):
            if getattr(self, name) < 0:
                raise UserError(f"training: {name} is {getattr(self, name)}; set it to 0 or more")
        if not 0 < self.validation < 1:
            raise UserError(f"training: validation is {self.validation}; set it to a share between 0 and 1")
        if self.keep != "best":
            raise UserError("training: recurrent models go back to the best weights as they train; leave keep: best")
        read_settings(ClassSettings, self.classes, "training.recurrent.classes")

    @property
    def class_settings(self) -> ClassSettings:
        """``classes`` with its defaults."""
        return read_settings(ClassSettings, self.classes, "training.recurrent.classes")
