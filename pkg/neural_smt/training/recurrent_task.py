"""Sentences as the minibatches of a recurrent model."""

import numpy as np
import torch
from torch import Tensor

from neural_smt.networks.recurrent.network import RecurrentNetwork
from neural_smt.networks.recurrent.packing import SentenceBatch, pack_sentences
from neural_smt.training.batches import BatchOrder
from neural_smt.training.joint_text import JointText
from neural_smt.training.loop import NOTHING, WHOLE, Minibatch

VALIDATION_BATCH = 128
"""Sentences that are scored together."""

BUFFER = 16
"""Minibatches whose sentences are sorted by length together, so that those side by side end at about the same time."""


def pack(network: RecurrentNetwork, text: JointText, chosen: np.ndarray, table: Tensor | None) -> SentenceBatch:
    """Sentences of a text as a batch on the network's device; table: of given vectors, there too."""
    part = text.take(chosen)
    return pack_sentences(network.config, network.classes, part.sentences, network.recurrent.device, part.rows, table)


def by_length(text: JointText) -> list[np.ndarray]:
    """The numbers of all sentences in chunks of like length."""
    rows = np.argsort(text.sentences.lengths, kind="stable")
    return [rows[start : start + VALIDATION_BATCH] for start in range(0, len(rows), VALIDATION_BATCH)]


class RecurrentTask:
    """Minibatches of ``batch`` sentences of ``text``, drawn in a new order in each epoch; held-out sentences by length.

    table: float32 ``[R, dimensions]``, the vectors that the rows of both texts mean, or None where the network learns
    them or there is no auxiliary input.
    """

    def __init__(
        self,
        network: RecurrentNetwork,
        text: JointText,
        held_out: JointText,
        table: np.ndarray | None,
        batch: int,
        seed: int,
    ):
        self.network = network
        self.text = text
        self.table = None if table is None else torch.from_numpy(table).to(network.recurrent.device)
        self.order = BatchOrder(text.sentences.lengths, batch, BUFFER, seed, reshuffle=True)
        self.updates_per_epoch = self.order.updates_per_epoch
        self.validation = [self._pack(held_out, chosen) for chosen in by_length(held_out)]

    def minibatch(self, update: int, share: slice = WHOLE) -> Minibatch:
        """That of an update, counted from 0, or a share of it."""
        return self._pack(self.text, self.order.rows(update)[share])

    def _pack(self, text: JointText, chosen: np.ndarray) -> Minibatch:
        if len(chosen) == 0:
            return NOTHING
        batch = pack(self.network, text, chosen, self.table)
        return Minibatch(batch, len(chosen), len(batch.tokens))
