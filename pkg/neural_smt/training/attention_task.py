"""Sentence pairs as the minibatches of an attention network."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from neural_smt.io.ragged import Ragged
from neural_smt.networks.attention.batches import membership, pack_batch
from neural_smt.networks.attention.network import AttentionNetwork
from neural_smt.training.attention_settings import AttentionSettings
from neural_smt.training.batches import BatchOrder
from neural_smt.training.loop import NOTHING, WHOLE, Minibatch
from neural_smt.vocabulary import UNK
from neural_smt.vocabulary_selection.candidates import CandidateSets
from neural_smt.vocabulary_selection.partitions import Partitions, partitions

VALIDATION_BATCH = 80

CHUNK = 10_000
"""Pairs whose coverage is counted at a time."""


@dataclass(frozen=True)
class SentencePairs:
    """Pair i is (source i, target i): int32 ids of the network's vocabularies, without end symbols.

    sets: the target words that each pair is predicted from, or None for all words.
    """

    source: Ragged
    target: Ragged
    sets: CandidateSets | None = None

    def __len__(self) -> int:
        return len(self.source)

    @property
    def lengths(self) -> np.ndarray:
        """int64 ``[n]``: words of the longer side of each pair."""
        return np.maximum(self.source.lengths, self.target.lengths)

    def within(self, max_length: int) -> np.ndarray:
        """int64: the pairs to train on, those of 1 to ``max_length`` words on both sides."""
        shorter = np.minimum(self.source.lengths, self.target.lengths)
        return np.flatnonzero((shorter > 0) & (self.lengths <= max_length))

    def uncovered(self) -> int:
        """Target words, running, that are known but not in the set of their pair."""
        if self.sets is None:
            return 0
        return sum(self._uncovered(start, min(start + CHUNK, len(self))) for start in range(0, len(self), CHUNK))

    def _uncovered(self, start: int, stop: int) -> int:
        """Of the pairs from ``start`` to before ``stop``."""
        assert self.sets is not None
        rows = np.arange(start, stop)
        # A number for each word of each pair, so that all pairs are looked up at once.
        target, own = (
            np.repeat(rows - start, part.lengths) * self.sets.size + part.values
            for part in (self.target.take(rows), self.sets.own.take(rows))
        )
        words = target % self.sets.size
        covered = np.isin(target, own) | np.isin(words, self.sets.common) | (words == UNK)
        return int(np.count_nonzero(~covered))


class AttentionTask:
    """Minibatches of the pairs that are short enough, in the order of the settings and the seed; held-out pairs by
    length.

    The words of a minibatch are the union of its pairs' sets (V_B of Mi et al. 2016), made anew in every epoch, or with
    ``settings.tau`` those of the part of the text that it belongs to (V'_i of Jean et al. 2015). A held-out pair keeps
    to its own set, so that its score does not depend on others.
    """

    def __init__(
        self,
        network: AttentionNetwork,
        text: SentencePairs,
        held_out: SentencePairs,
        settings: AttentionSettings,
        seed: int,
    ):
        self.network = network
        self.text = text
        self.usable = text.within(settings.max_length)
        lengths = text.lengths[self.usable]
        self.order = BatchOrder(lengths, settings.batch, settings.buffer, seed, settings.reshuffle)
        self.updates_per_epoch = self.order.updates_per_epoch
        self.reshuffle, self.tau = settings.reshuffle, settings.tau
        self._parts = lru_cache(maxsize=1)(self._cut)
        self.fixed_from = settings.fix_embeddings * self.updates_per_epoch
        rows = np.argsort(held_out.lengths, kind="stable")
        chunks = (rows[start : start + VALIDATION_BATCH] for start in range(0, len(rows), VALIDATION_BATCH))
        self.validation = [self._pack_held_out(held_out, chunk) for chunk in chunks]

    def minibatch(self, update: int, share: slice = WHOLE) -> Minibatch:
        """That of an update, counted from 0, or a share of it, predicted from the words of the whole; fixes the
        embeddings when their time has come, and not before.
        """
        learnt = not 0 < self.fixed_from <= update
        for embedding in (self.network.source_embedding, self.network.target_embedding):
            embedding.requires_grad_(learnt)
        rows = self.usable[self.order.rows(update)]
        return self._pack(self.text, rows[share], self._words(update, rows))

    def _words(self, update: int, rows: np.ndarray) -> np.ndarray | None:
        """int64: the target words of a minibatch, or None for all."""
        if self.tau:
            epoch, position = divmod(update, self.updates_per_epoch)
            return self._parts(epoch if self.reshuffle else 0).of_batch(position)
        return None if self.text.sets is None else self.text.sets.union(rows)

    def _cut(self, epoch: int) -> Partitions:
        first = epoch * self.updates_per_epoch
        batches = [self.usable[self.order.rows(first + position)] for position in range(self.updates_per_epoch)]
        return partitions(self.text.target, batches, self.tau, self.network.config.target_words)

    def _pack_held_out(self, pairs: SentencePairs, rows: np.ndarray) -> Minibatch:
        if pairs.sets is None:
            return self._pack(pairs, rows)
        ids = pairs.sets.union(rows)
        return self._pack(pairs, rows, ids, membership(ids, pairs.sets.own.take(rows), pairs.sets.common))

    def _pack(
        self, pairs: SentencePairs, rows: np.ndarray, ids: np.ndarray | None = None, allowed: np.ndarray | None = None
    ) -> Minibatch:
        if len(rows) == 0:
            return NOTHING
        device = self.network.output.weight.device
        batch = pack_batch(pairs.source.take(rows), pairs.target.take(rows), device, ids, allowed)
        return Minibatch(batch, batch.pairs.pairs, batch.pairs.predictions)
