"""Training of the RNN encoder-decoder of Cho et al. (2014) on the distinct phrase pairs of a table."""

import logging
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from neural_smt.errors import UserError
from neural_smt.experiment.settings import Settings
from neural_smt.io.files import release
from neural_smt.io.ragged import PIECE, Ragged
from neural_smt.networks.encoder_decoder import EncoderDecoder, EncoderDecoderConfig
from neural_smt.networks.folder import Trained
from neural_smt.networks.packing import close, pack_pairs
from neural_smt.phrases.table import PhraseTable
from neural_smt.shortlist import shortlist_ids
from neural_smt.training.loop import Training
from neural_smt.training.noise import NoiseSource
from neural_smt.training.optimisers import optimiser_of
from neural_smt.training.sampled_words import WordSampler
from neural_smt.training.tasks import WHOLE, BatchOrder, Minibatch, TextTask
from neural_smt.training.texts import NO_PAIRS, Pairs, hash_rows
from neural_smt.vocabulary import Vocabulary

log = logging.getLogger(__name__)


def table_pairs(table: PhraseTable, source_ids: np.ndarray, target_ids: np.ndarray, max_length: int) -> Iterator[Pairs]:
    """Every row of the table once, however often it was extracted (Cho et al. 2014, section 3.1); ``PIECE`` at a time.

    source_ids, target_ids: shortlist id of each id of the experiment's vocabularies. Words outside the shortlist
    become ``[UNK]`` and their pairs stay, as in the program: pairs that then look alike stay too. Pairs with more than
    ``max_length`` words on a side are left out.
    """
    for first in range(0, len(table), PIECE):
        rows = np.arange(first, min(first + PIECE, len(table)))
        source = table.source.take(np.searchsorted(table.entry_offsets, rows, side="right") - 1)
        target = table.target.part(first, first + len(rows))
        sides = [Ragged(ids[side.values], side.offsets) for ids, side in ((source_ids, source), (target_ids, target))]
        pairs = Pairs(*sides)
        release(table.target.values)
        yield pairs.take(np.flatnonzero(pairs.lengths <= max_length))


def split_pairs(parts: Iterable[Pairs], usable: int, held_out: int, seed: int) -> tuple[Pairs, Pairs]:
    """Training pairs, which lie on disk where they are many, and about ``held_out`` of the ``usable`` for validation.

    A pair's side depends on its words and the seed alone: pairs that look alike fall on the same side, and the split
    does not move when rows are added to the table.
    """
    fraction = held_out / max(usable, 1)
    if fraction > 0.5:
        raise UserError(
            f"training: validation_pairs is {held_out}, but the phrase table has {usable} usable pairs; "
            "hold out fewer than half of them"
        )
    chosen_pairs = [NO_PAIRS]

    def others() -> Iterator[Pairs]:
        for pairs in parts:
            chosen = hash_rows(seed, pairs.source, pairs.target) < np.uint64(fraction * 2.0**64)
            chosen_pairs.append(pairs.take(np.flatnonzero(chosen)))
            yield pairs.take(np.flatnonzero(~chosen))

    return Pairs.stored(others()), Pairs.joined(chosen_pairs)


class PhraseTask(TextTask):
    """Minibatches of ``pairs`` in an order; ``held_out`` pairs by length."""

    held_out_batch = 512
    network: EncoderDecoder

    def __init__(self, *arguments: Any, sampler: WordSampler | None = None, noise: NoiseSource | None = None):
        super().__init__(*arguments)
        self.sampler, self.noise = sampler, noise

    def minibatch(self, update: int, share: slice = WHOLE) -> Minibatch:
        """See ``TextTask``; with a sampler words are predicted from a sample, the same for all shares."""
        batch, rows = super().minibatch(update, share), self.order.rows(update)
        if not batch.examples:
            return batch
        inputs, sample = batch.inputs, None
        if self.sampler is not None:
            sample = self.sampler.sample(update, close(self.text.target.take(rows)), inputs.target.words)
        noise = self.noise and self.noise.of_batch(inputs, update, share, len(rows))
        return batch._replace(inputs=replace(inputs, sample=sample, noise=noise))

    def pack(self, text: Pairs, rows: np.ndarray, whole: int = 1) -> Minibatch:
        """See ``TextTask``."""
        pairs = text.take(rows)
        batch = pack_pairs(pairs.source, pairs.target, filled=self.filled)
        mean = self.network.config.conventions.objective == "paper"
        return Minibatch(batch, batch.pairs, batch.predictions, whole if mean else 1)


def prepare(
    *,
    phrase_table: Path,
    source_vocabulary: Path,
    target_vocabulary: Path,
    source_shortlist: Path,
    target_shortlist: Path,
    settings: Settings,
    place: torch.device,
    seed: int,
) -> Training:
    """A network and the distinct pairs of a phrase table; ``unit`` and ``direction`` make variants of it."""
    shortlists = Vocabulary.load(source_shortlist), Vocabulary.load(target_shortlist)
    table, vocabularies = PhraseTable.load_checked(phrase_table, source_vocabulary, target_vocabulary)
    source_ids, target_ids = map(shortlist_ids, vocabularies, shortlists)
    parts = partial(table_pairs, table, source_ids, target_ids, settings.max_length)
    pairs, held_out = split_pairs(parts(), sum(map(len, parts())), settings.validation_pairs, seed)
    if len(pairs) == 0:
        raise UserError(f"{phrase_table}: no phrase pairs of at most {settings.max_length} words to train on")
    if settings.direction == "backward":
        # after the split: both directions hold out the same pairs
        pairs, held_out, shortlists = pairs.swapped(), held_out.swapped(), shortlists[::-1]
    words = {"source_words": len(shortlists[0]), "target_words": len(shortlists[1])}
    config = EncoderDecoderConfig.of(settings.as_dict(), **words)
    log.info("%d pairs to train on, %d held out", len(pairs), len(held_out))
    network = EncoderDecoder(config, seed).to(place)
    sampler = WordSampler.of(pairs.target, config.target_words, settings.samples, seed)
    order = BatchOrder(pairs.lengths, settings.batch, seed, settings.buffer, config.conventions.sampling == "paper")
    return Training(
        task=PhraseTask(
            network, pairs, held_out, order, sampler=sampler, noise=NoiseSource.of(network, settings, seed)
        ),
        optimiser=optimiser_of(network, settings),
        settings=settings,
        decided_by=[shortlist.digest for shortlist in shortlists],
        data=[side for part in (pairs, held_out) for side in (part.source, part.target)],
        save=lambda folder, updates: Trained(network, *shortlists).save(folder),
    )
