"""Noise that keeps networks from learning their text by heart: dropout and label smoothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

from neural_smt.experiment.settings import Settings
from neural_smt.networks.layers import MaxoutNetwork
from neural_smt.networks.packing import Noise, PairBatch


def draw_masks(
    dropout: float, sizes: Sequence[int], seed: int, update: int, share: slice, whole: int
) -> tuple[Tensor, ...]:
    """What the units of layers of these sizes are multiplied by, float32 ``[share, size]`` each: of the examples of an
    update, or a share of them.
    """
    left = np.random.default_rng([seed, update, 1]).random((whole, sum(sizes)), dtype=np.float32)[share] >= dropout
    return torch.from_numpy(left.astype(np.float32) / np.float32(1 - dropout)).split(list(sizes), 1)


@dataclass(frozen=True)
class NoiseSource:
    """Draws the noise of minibatches: a function of the seed, the number of the update and a pair's place in the batch,
    so that it does not depend on how many processes share the batch.

    Pham et al. (2014) silence units of the inputs and outputs of recurrent layers, at each word others; here, as in Gal
    and Ghahramani (2016), the same at all words of a sequence. What is left is divided by the share that is.
    """

    dropout: float
    smoothing: float
    embedding: int
    maxout: int
    seed: int

    @classmethod
    def of(cls, network: MaxoutNetwork, settings: Settings, seed: int) -> Self:
        """For the sizes of a network."""
        config = network.config
        return cls(settings.dropout, settings.label_smoothing, config.embedding, config.maxout, seed)

    def of_batch(self, batch: PairBatch, update: int, share: slice, whole: int) -> Noise | None:
        """Of an update: batch, the share of its ``whole`` pairs; None where nothing is asked for."""
        if not self.dropout and not self.smoothing:
            return None
        sizes = self.embedding, self.embedding, self.maxout
        source, target, readout = draw_masks(self.dropout, sizes, self.seed, update, share, whole)
        pair_of_source = torch.empty_like(batch.order)
        pair_of_source[batch.pairing] = batch.order
        return Noise(source[pair_of_source], target[batch.order], readout[batch.order], self.smoothing)
