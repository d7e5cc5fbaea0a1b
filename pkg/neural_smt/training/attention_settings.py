"""The settings of training an attention network, their defaults and their meaning."""

from dataclasses import dataclass
from typing import Any

from neural_smt.errors import UserError
from neural_smt.training.loop_settings import LoopSettings


@dataclass(frozen=True)
class AttentionSettings(LoopSettings):
    """Defaults are those of GroundHog's ``prototype_search_state``; for the rest see ``LoopSettings``.

    hidden, embedding, attention, maxout, rank, word_in_scorer: see ``AttentionConfig``.
    batch: sentence pairs per update, whose gradients are summed; buffer: minibatches drawn at once and sorted by
    length.
    reshuffle: pairs come in a new order in each epoch (Mi et al. 2016, section 3.1), otherwise in the same one.
    tau: target words of the parts that the training text is cut into (Jean et al. 2015; see ``Partitions``), cut again
    where the order is a new one; 0 for none. Their systems had 15,000 to 50,000.
    max_length: pairs with a longer sentence on either side are left out.
    epochs: at most, 0 for as many as ``updates`` allows; fix_embeddings: after so many epochs the embeddings of both
    sides stay as they are, 0 for never.
    average: the model is the mean of the weights at the ends of so many epochs, the last ones, whatever ``keep`` says;
    0 for what ``keep`` says.
    """

    hidden: int = 1000
    embedding: int = 620
    attention: int = 1000
    maxout: int = 500
    rank: int = 620
    word_in_scorer: bool = True
    batch: int = 80
    buffer: int = 20
    reshuffle: bool = True
    tau: int = 0
    max_length: int = 50
    epochs: int = 0
    fix_embeddings: int = 0
    average: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_positive("batch", "buffer", "max_length")
        for name in ("tau", "epochs", "fix_embeddings", "average"):
            if getattr(self, name) < 0:
                raise UserError(f"training: {name} is {getattr(self, name)}; set it to 0 or more")

    def deciding(self, *others: str) -> dict[str, Any]:
        return super().deciding("average", *others)
