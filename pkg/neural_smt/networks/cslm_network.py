"""The network of the CSLM (Schwenk 2007) as Cho et al. (2014, section 4.1.2) built it: p(word | n - 1 words)."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from neural_smt.errors import UserError
from neural_smt.networks.folder import CSLM, read_folder, save_folder, with_weights
from neural_smt.networks.softmax import word_log_probabilities
from neural_smt.vocabulary import BOS, Vocabulary

OUTSIDE = 0
"""The class of all words outside the shortlist."""


def word_classes(words: np.ndarray) -> np.ndarray:
    """The class that the softmax has for each shortlist id, same dtype: ids without ``BOS``, which is never predicted.

    0 (``OUTSIDE``) is the class of ``UNK``, 1 that of ``EOS``, then the words.
    """
    return np.maximum(words - BOS, OUTSIDE)


@dataclass(frozen=True)
class CslmConfig:
    """Sizes of a CSLM; the defaults are those of Cho et al. (2014, section 4.1.2).

    words: entries of the shortlist, reserved ones included; order: n, so that n - 1 words are read; projection:
    dimensions of a word; layers: units of the two rectified layers; initial_range: initial weights lie uniformly within
    this distance of 0.
    """

    words: int
    order: int = 7
    projection: int = 512
    layers: tuple[int, int] = (1536, 1024)
    initial_range: float = 0.01

    def __post_init__(self) -> None:
        if self.order < 2:
            raise UserError(f"the CSLM's order is {self.order}; set it to 2 or more, there must be a word to read")
        for name in ("words", "projection"):
            if getattr(self, name) < 1:
                raise UserError(f"the CSLM's {name} is {getattr(self, name)}; set it to 1 or more")
        if len(self.layers) != 2 or min(self.layers) < 1:
            raise UserError(f"the CSLM's layers are {list(self.layers)}; give the sizes of two, 1 or more each")
        if not self.initial_range > 0:
            raise UserError(f"the CSLM's initial_range is {self.initial_range}; set it above 0")

    @property
    def history(self) -> int:
        """n - 1: the words read."""
        return self.order - 1

    def to_json(self) -> dict[str, Any]:
        """The configuration as plain values for ``config.json``."""
        return asdict(self) | {"layers": list(self.layers)}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "CslmConfig":
        """Inverse of ``to_json``; raises ``TypeError`` or ``KeyError`` on keys that are missing or unknown."""
        return cls(**{**values, "layers": tuple(values["layers"])})


class NgramBatch(NamedTuple):
    """contexts: int64 ``[N, n - 1]``, shortlist ids, oldest word first; classes: int64 ``[N]``, of the next words."""

    contexts: Tensor
    classes: Tensor


class CslmNetwork(nn.Module):
    """One projection for all positions, two rectified layers, a softmax over the shortlist.

    For words w_1 ... w_{n-1}:  x = (P w_1, ..., P w_{n-1});  h_1 = max(0, W_1 x + b_1);  h_2 = max(0, W_2 h_1 + b_2);
    p = softmax(W_3 h_2 + b_3). ``D`` dimensions, ``H_1`` and ``H_2`` units, ``V`` shortlist entries; weights are stored
    as ``[outputs, inputs]``. The softmax has V - 1 classes (``word_classes``): every word of the shortlist, the end of
    the sentence, and, as in the CSLM toolkit, one more that stands for all words outside the shortlist. The paper does
    not say whether its network had that class. With it the probability of a word is the one it has in running text and
    not the one it has given that a word of the shortlist follows, so that scores of whole sentences can be compared.

    Weights start uniformly within ``initial_range`` of 0 (section 4.1.2), biases, which the paper does not name, at 0.
    """

    def __init__(self, config: CslmConfig, seed: int = 0):
        super().__init__()
        self.config = config
        first, second = config.layers
        # P
        self.projection = nn.Parameter(torch.empty(config.words, config.projection))
        # W_1, W_2, W_3 and their biases
        self.first = nn.Linear(config.history * config.projection, first)
        self.second = nn.Linear(first, second)
        self.output = nn.Linear(second, config.words - 1)
        self._initialise(np.random.default_rng(seed))

    @torch.no_grad()
    def _initialise(self, random: np.random.Generator) -> None:
        width = self.config.initial_range
        for name, parameter in self.named_parameters():
            shape = tuple(parameter.shape)
            values = np.zeros(shape) if name.endswith("bias") else random.uniform(-width, width, shape)
            parameter.copy_(torch.from_numpy(values))

    def forward(self, batch: NgramBatch) -> Tensor:
        """Natural log p(class | context) of every n-gram: ``[N]``."""
        projected = nn.functional.embedding(batch.contexts, self.projection, sparse=True)
        sums = self.first(projected.flatten(1))
        second = self.before_softmax(sums.relu())
        return word_log_probabilities(second, self.output.weight, self.output.bias, batch.classes, sums.dtype)

    def before_softmax(self, first: Tensor) -> Tensor:
        """h_2 of h_1: ``[N, H_1]`` -> ``[N, H_2]``, in the precision of the weights."""
        return self.second(first).relu().to(self.output.weight.dtype)


class TrainedCslm(NamedTuple):
    """A CSLM's network and its shortlist."""

    network: CslmNetwork
    target: Vocabulary


def save_cslm(folder: Path, model: TrainedCslm) -> None:
    """Write the folder of a CSLM, all or nothing."""
    save_folder(folder, CSLM, model.network, {"target": model.target})


def load_cslm(folder: Path, device: torch.device) -> TrainedCslm:
    """Read what ``save_cslm`` wrote; raises ``UserError`` as ``load_model`` does."""
    config, vocabularies = read_folder(folder, CSLM, CslmConfig.from_json, ("target",))
    network = with_weights(folder, CslmNetwork(config), device)
    return TrainedCslm(network, **vocabularies)
