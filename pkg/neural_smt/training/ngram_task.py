"""N-grams of a text as the minibatches of a CSLM."""

import numpy as np
import torch

from neural_smt.networks.cslm_network import CslmNetwork, NgramBatch, word_classes
from neural_smt.training.batches import BatchOrder
from neural_smt.training.loop import NOTHING, WHOLE, Minibatch
from neural_smt.training.ngram_text import NgramText

VALIDATION_BATCH = 1024


class NgramTask:
    """Minibatches of ``batch`` n-grams of ``text`` (shortlist ids), drawn in a new order in each epoch."""

    def __init__(self, network: CslmNetwork, text: NgramText, held_out: NgramText, batch: int, seed: int):
        self.network = network
        self.text = text
        # All n-grams are of one length: there is nothing to sort by.
        lengths = np.broadcast_to(np.int8(0), len(text))
        self.order = BatchOrder(lengths, batch, buffer=1, seed=seed, reshuffle=True)
        self.updates_per_epoch = self.order.updates_per_epoch
        rows = np.arange(len(held_out))
        chunks = (rows[start : start + VALIDATION_BATCH] for start in range(0, len(rows), VALIDATION_BATCH))
        self.validation = [self._pack(held_out, chunk) for chunk in chunks]

    def minibatch(self, update: int, share: slice = WHOLE) -> Minibatch:
        """That of an update, counted from 0, or a share of it."""
        return self._pack(self.text, self.order.rows(update)[share])

    def _pack(self, text: NgramText, rows: np.ndarray) -> Minibatch:
        if len(rows) == 0:
            return NOTHING
        device = self.network.projection.device
        contexts, words = text.ngrams(rows)
        arrays = contexts.astype(np.int64), word_classes(words).astype(np.int64)
        return Minibatch(NgramBatch(*(torch.from_numpy(array).to(device) for array in arrays)), len(rows), len(rows))
