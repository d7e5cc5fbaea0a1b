"""What defines an encoder-decoder: its sizes, and where the paper and its code disagree, which of them it follows."""

from dataclasses import asdict, dataclass, field, fields
from typing import Any

from neural_smt.errors import UserError

SOURCES = ("code", "paper")
UNITS = ("gated", "tanh")
DIRECTIONS = ("forward", "backward")


@dataclass(frozen=True)
class Conventions:
    """One entry, ``"code"`` or ``"paper"``, per difference between Cho et al. (2014) and its released program.

    summary     c, the representation of the source phrase.
                paper (supplement A.1): c = tanh(V h_N).
                code: c = h_N, the encoder's state after the end symbol; there is no V.
    reset       the reset gate r of the decoder.
                paper (supplement A.1.1): tanh(W' e(y) + r * (U' h' + C c)), the gate closes the context too.
                code: tanh(W' e(y) + U' (r * h') + C c), the gate acts before U' and leaves the context alone.
                (The encoder has no context; both apply r before U, equation 8.)
    first_step  the state that predicts the first word.
                paper: h'_1, after one transition from h'_0 on e(y_0) = 0.
                code: h'_0 = tanh(V' c + b) itself; the first transition consumes y_1.
    objective   what a minibatch's gradient is taken of, before its norm is clipped.
                paper (equation 4): the mean log-likelihood of the pairs.
                code: its sum over all words of the batch.
    sampling    how minibatches are drawn.
                paper (section 4.1.1): at random for each update; here, a new permutation of the pairs in each epoch.
                code: one permutation made before training, repeated in every epoch.

    Not switched, because nothing depends on it: the code's update gate is u = 1 - z. Not switched, because they are
    sizes: the supplement's 500-dimensional embeddings and its G = G_l G_r of rank 500, which neither section 4.1.1
    (rank 100) nor the code (100) uses; set ``embedding`` and ``rank`` instead. The paper's equations omit biases
    ("to make the equations uncluttered"), so the code's are used: embedding, candidate input, decoder initialiser,
    hidden readout and softmax have one, gates and context projections have none.
    """

    summary: str = "code"
    reset: str = "code"
    first_step: str = "code"
    objective: str = "code"
    sampling: str = "code"

    @classmethod
    def following(cls, follow: str | dict[str, str]) -> "Conventions":
        """From ``"code"``, ``"paper"``, or a mapping of single differences (those left out follow the code)."""
        names = [item.name for item in fields(cls)]
        choices = dict.fromkeys(names, follow) if isinstance(follow, str) else dict(follow)
        for name, choice in choices.items():
            if name not in names:
                raise UserError(f"conventions: no difference is called {name!r}; known are {', '.join(names)}")
            if choice not in SOURCES:
                raise UserError(f"conventions: {name} is {choice!r}; set it to code or paper")
        return cls(**choices)


@dataclass(frozen=True)
class EncoderDecoderConfig:
    """Sizes of an encoder-decoder; the defaults are the released configuration of Cho et al. (2014).

    source_words, target_words: entries of the shortlists, reserved ones included; hidden: units of each recurrent
    layer; embedding: dimensions of a word (the rank of word -> hidden); maxout: units of the readout, each the larger
    of two; rank: rank of the product of two matrices between maxout and softmax.
    unit: ``gated`` hidden units (section 2.3) or plain ``tanh`` units.
    direction: what is read and what is predicted, ``forward`` p(target | source) or ``backward`` p(source | target),
    which the paper did not try. A backward network's source side is the target language.
    """

    source_words: int
    target_words: int
    hidden: int = 1000
    embedding: int = 100
    maxout: int = 500
    rank: int = 100
    conventions: Conventions = field(default_factory=Conventions)
    unit: str = "gated"
    direction: str = "forward"

    def __post_init__(self) -> None:
        for name, choices in (("unit", UNITS), ("direction", DIRECTIONS)):
            if getattr(self, name) not in choices:
                raise UserError(
                    f"the encoder-decoder's {name} is {getattr(self, name)!r}; set it to {' or '.join(choices)}"
                )
        if self.unit == "tanh" and self.conventions.reset == "paper":
            raise UserError("tanh units have no reset gate that could follow the paper; set conventions: {reset: code}")
        for name in ("source_words", "target_words", "hidden", "embedding", "maxout", "rank"):
            if getattr(self, name) < 1:
                raise UserError(f"the encoder-decoder's {name} is {getattr(self, name)}; set it to 1 or more")

    def to_json(self) -> dict[str, Any]:
        """The configuration as plain values for ``config.json``."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "EncoderDecoderConfig":
        """Inverse of ``to_json``; raises ``TypeError`` or ``KeyError`` on keys that are missing or unknown."""
        return cls(**{**values, "conventions": Conventions(**values["conventions"])})
