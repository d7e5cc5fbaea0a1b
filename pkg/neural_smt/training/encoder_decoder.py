"""Training of the RNN encoder-decoder of Cho et al. (2014) on the distinct phrase pairs of a table."""

import logging
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from neural_smt.errors import UserError
from neural_smt.experiment.settings import Settings
from neural_smt.io.ragged import Ragged
from neural_smt.jit import kernel, mix
from neural_smt.networks.encoder_decoder import (
    Conventions,
    EncoderDecoder,
    EncoderDecoderConfig,
    TrainedModel,
    save_model,
)
from neural_smt.networks.packing import pack_pairs
from neural_smt.phrases.table import PhraseTable
from neural_smt.shortlist import shortlist_ids
from neural_smt.training.loop import NOTHING, WHOLE, BatchOrder, Minibatch, Training
from neural_smt.vocabulary import Vocabulary

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PhrasePairs:
    """Pair i is (source i, target i): int32 shortlist ids, without end symbols."""

    source: Ragged
    target: Ragged

    def __len__(self) -> int:
        return len(self.source)

    def take(self, rows: np.ndarray) -> "PhrasePairs":
        """The pairs at ``rows``, in that order."""
        return PhrasePairs(self.source.take(rows), self.target.take(rows))

    def swapped(self) -> "PhrasePairs":
        """The same pairs with their sides exchanged."""
        return PhrasePairs(self.target, self.source)

    @property
    def lengths(self) -> np.ndarray:
        """int64 ``[n]``: words of the longer side of each pair."""
        return np.maximum(self.source.lengths, self.target.lengths)


def table_pairs(table: PhraseTable, source_ids: np.ndarray, target_ids: np.ndarray, max_length: int) -> PhrasePairs:
    """Every row of the table once, however often it was extracted (Cho et al. 2014, section 3.1).

    source_ids, target_ids: shortlist id of each id of the experiment's vocabularies. Words outside the shortlist
    become ``[UNK]`` and their pairs stay, as in the program: pairs that then look alike stay too. Pairs with more than
    ``max_length`` words on a side are left out.
    """
    source = Ragged(source_ids[table.source.values], np.asarray(table.source.offsets))
    source = source.take(table.entry_source)
    target = Ragged(target_ids[table.target.values], np.asarray(table.target.offsets))
    pairs = PhrasePairs(source, target)
    return pairs.take(np.flatnonzero(pairs.lengths <= max_length))


def split_pairs(pairs: PhrasePairs, held_out: int, seed: int) -> tuple[PhrasePairs, PhrasePairs]:
    """Training pairs and about ``held_out`` validation pairs.

    A pair's side depends on its words and the seed alone: pairs that look alike fall on the same side, and the split
    does not move when rows are added to the table.
    """
    share = held_out / max(len(pairs), 1)
    if share > 0.5:
        raise UserError(
            f"training: validation_pairs is {held_out}, but the phrase table has {len(pairs)} usable pairs; "
            "hold out fewer than half of them"
        )
    hashes = hash_pairs(
        pairs.source.values, pairs.source.offsets, pairs.target.values, pairs.target.offsets, np.uint64(seed)
    )
    chosen = hashes < np.uint64(share * 2.0**64)
    return pairs.take(np.flatnonzero(~chosen)), pairs.take(np.flatnonzero(chosen))


@kernel
def hash_pairs(
    source_values: np.ndarray,
    source_offsets: np.ndarray,
    target_values: np.ndarray,
    target_offsets: np.ndarray,
    seed: np.uint64,
) -> np.ndarray:
    """uint64 ``[n]``: a hash of the words of each pair."""
    count = len(source_offsets) - 1
    hashes = np.empty(count, dtype=np.uint64)
    for pair in range(count):
        state = mix(seed)
        for position in range(source_offsets[pair], source_offsets[pair + 1]):
            state = mix(state ^ np.uint64(source_values[position]))
        state = mix(~state)
        for position in range(target_offsets[pair], target_offsets[pair + 1]):
            state = mix(state ^ np.uint64(target_values[position]))
        hashes[pair] = state
    return hashes


VALIDATION_BATCH = 512


class PhraseTask:
    """Minibatches of ``pairs`` in the order of the settings and the seed; ``held_out`` pairs by length."""

    def __init__(
        self, network: EncoderDecoder, pairs: PhrasePairs, held_out: PhrasePairs, settings: Settings, seed: int
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
    if settings.validation_pairs < 1 and (settings.patience > 0 or settings.keep == "best"):
        raise UserError("training: patience and keep: best need held-out pairs; set validation_pairs to 1 or more")
    shortlists = Vocabulary.load(source_shortlist), Vocabulary.load(target_shortlist)
    vocabularies = Vocabulary.load(source_vocabulary), Vocabulary.load(target_vocabulary)
    table = PhraseTable.load(phrase_table)
    table.check_vocabularies(*vocabularies)
    ids = [shortlist_ids(vocabulary, shortlist) for vocabulary, shortlist in zip(vocabularies, shortlists, strict=True)]
    pairs = table_pairs(table, *ids, settings.max_length)
    pairs, held_out = split_pairs(pairs, settings.validation_pairs, seed)
    if len(pairs) == 0:
        raise UserError(f"{phrase_table}: no phrase pairs of at most {settings.max_length} words to train on")
    if settings.direction == "backward":
        # after the split: both directions hold out the same pairs
        pairs, held_out, shortlists = pairs.swapped(), held_out.swapped(), shortlists[::-1]
    config = EncoderDecoderConfig(
        source_words=len(shortlists[0]),
        target_words=len(shortlists[1]),
        hidden=settings.hidden,
        embedding=settings.embedding,
        maxout=settings.maxout,
        rank=settings.rank,
        conventions=Conventions.following(settings.conventions),
        unit=settings.unit,
        direction=settings.direction,
    )
    log.info("%d pairs to train on, %d held out", len(pairs), len(held_out))
    network = EncoderDecoder(config, seed).to(place)
    return Training(
        task=PhraseTask(network, pairs, held_out, settings, seed),
        settings=settings,
        decided_by=[shortlist.digest for shortlist in shortlists],
        data=[side for part in (pairs, held_out) for side in (part.source, part.target)],
        save=lambda folder, updates: save_model(folder, TrainedModel(network, *shortlists)),
    )
