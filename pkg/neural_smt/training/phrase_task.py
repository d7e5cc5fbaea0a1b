"""Phrase pairs as the minibatches of an encoder-decoder."""

import numpy as np

from neural_smt.networks.encoder_decoder import EncoderDecoder
from neural_smt.networks.packing import pack_pairs
from neural_smt.training.batches import BatchOrder
from neural_smt.training.loop import NOTHING, WHOLE, Minibatch
from neural_smt.training.pairs import PhrasePairs
from neural_smt.training.settings import TrainingSettings

VALIDATION_BATCH = 512


class PhraseTask:
    """Minibatches of ``pairs`` in the order of the settings and the seed; ``held_out`` pairs by length."""

    def __init__(
        self, network: EncoderDecoder, pairs: PhrasePairs, held_out: PhrasePairs, settings: TrainingSettings, seed: int
    ):
        self.network = network
        self.pairs = pairs
        conventions = network.config.conventions
        self.mean = conventions.objective == "paper"
        reshuffle = conventions.sampling == "paper"
        self.order = BatchOrder(pairs.lengths, settings.batch, settings.buffer, seed, reshuffle)
        self.updates_per_epoch = self.order.updates_per_epoch
        rows = np.argsort(held_out.lengths, kind="stable")
        chunks = (rows[start : start + VALIDATION_BATCH] for start in range(0, len(rows), VALIDATION_BATCH))
        self.validation = [self._pack(held_out.take(chunk), len(chunk)) for chunk in chunks]

    def minibatch(self, update: int, share: slice = WHOLE) -> Minibatch:
        """That of an update, counted from 0, or a share of it."""
        rows = self.order.rows(update)
        return self._pack(self.pairs.take(rows[share]), len(rows))

    def _pack(self, pairs: PhrasePairs, whole: int) -> Minibatch:
        """Pairs of a minibatch of so many."""
        if len(pairs) == 0:
            return NOTHING
        batch = pack_pairs(pairs.source, pairs.target, self.network.output.weight.device)
        return Minibatch(batch, batch.pairs, batch.predictions, whole if self.mean else 1)
