"""Training of attention networks (Mi et al. 2016; Jean et al. 2015) on parallel text."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch

from neural_smt.errors import UserError
from neural_smt.experiment.settings import Settings
from neural_smt.io.ragged import Ragged
from neural_smt.io.streams import parallel_lines
from neural_smt.networks.attention.network import AttentionConfig, AttentionNetwork, membership, pack_batch
from neural_smt.networks.folder import Trained
from neural_smt.training.loop import Training
from neural_smt.training.noise import NoiseSource
from neural_smt.training.optimisers import optimiser_of
from neural_smt.training.tasks import NOTHING, WHOLE, BatchOrder, Minibatch, TextTask
from neural_smt.training.texts import Pairs
from neural_smt.vocabulary import EOS, RESERVED, UNK, Vocabulary
from neural_smt.vocabulary_selection.candidates import PIECE, CandidateSets, read_sets

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SentencePairs(Pairs):
    """sets: the target words that each pair is predicted from, or None for all words."""

    sets: CandidateSets | None = None

    def within(self, max_length: int) -> np.ndarray:
        """int64: the pairs to train on, those of 1 to ``max_length`` words on both sides."""
        shorter = np.minimum(self.source.lengths, self.target.lengths)
        return np.flatnonzero((shorter > 0) & (self.lengths <= max_length))

    def uncovered(self) -> int:
        """Target words, running, that are known but not in the set of their pair."""
        if self.sets is None:
            return 0
        return int(np.count_nonzero(self.target.values != UNK) - self.sets.covered(self.target).sum())


class AttentionTask(TextTask):
    """Minibatches of the pairs that are short enough, in the order of the settings and the seed; held-out pairs by
    length.

    The words of a minibatch are the union of its pairs' sets (V_B of Mi et al. 2016), made anew in every epoch, or with
    ``settings.tau`` those of the part of the text that it belongs to (V'_i of Jean et al. 2015). A held-out pair keeps
    to its own set, so that its score does not depend on others.
    """

    held_out_batch = 80
    network: AttentionNetwork

    def __init__(
        self, network: AttentionNetwork, text: SentencePairs, held_out: SentencePairs, settings: Settings, seed: int
    ):
        chosen, how = text.within(settings.max_length), (settings.batch, seed, settings.buffer, settings.reshuffle)
        super().__init__(network, text, held_out, BatchOrder(text.lengths[chosen], *how, chosen))
        self.reshuffle, self.tau = settings.reshuffle, settings.tau
        self._parts = lru_cache(maxsize=1)(self._cut)
        self.noise = NoiseSource.of(network, settings, seed)
        self.fixed_from = settings.fix_embeddings * self.updates_per_epoch

    def minibatch(self, update: int, share: slice = WHOLE) -> Minibatch:
        """That of an update, counted from 0, or a share of it, predicted from the words of the whole."""
        rows = self.order.rows(update)
        if not len(rows[share]):
            return NOTHING
        batch = self._pack(self.text, rows[share], self._words(update, rows), filled=self.filled)
        pairs = batch.inputs.pairs
        noise = self.noise.of_batch(pairs, update, share, len(rows))
        return batch._replace(inputs=replace(batch.inputs, pairs=replace(pairs, noise=noise)))

    def begin(self, update: int) -> None:
        """See ``Task``; fixes the embeddings when their time has come, and not before."""
        learnt = not 0 < self.fixed_from <= update
        for embedding in (self.network.source_embedding, self.network.target_embedding):
            embedding.requires_grad_(learnt)

    def _words(self, update: int, rows: np.ndarray) -> np.ndarray | None:
        """int64: the target words of a minibatch, or None for all."""
        if self.tau:
            epoch, position = divmod(update, self.updates_per_epoch)
            return self._parts(epoch if self.reshuffle else 0)[position]
        return None if self.text.sets is None else self.text.sets.union(rows)

    def _cut(self, epoch: int) -> list[np.ndarray]:
        first = epoch * self.updates_per_epoch
        batches = [self.order.rows(first + position) for position in range(self.updates_per_epoch)]
        return partitions(self.text.target, batches, self.tau, self.network.config.target_words)

    def pack(self, text: SentencePairs, rows: np.ndarray, whole: int = 1) -> Minibatch:
        """See ``TextTask``; of held-out pairs."""
        if text.sets is None:
            return self._pack(text, rows)
        ids = text.sets.union(rows)
        return self._pack(text, rows, ids, allowed=membership(ids, text.sets.own.take(rows), text.sets.common))

    def _pack(self, pairs: SentencePairs, rows: np.ndarray, ids: np.ndarray | None = None, **how: Any) -> Minibatch:
        batch = pack_batch(pairs.source.take(rows), pairs.target.take(rows), ids=ids, **how)
        return Minibatch(batch, batch.pairs.pairs, batch.pairs.predictions)


def partitions(sentences: Ragged, batches: Sequence[np.ndarray], tau: int, size: int) -> list[np.ndarray]:
    """Parts of the text with a vocabulary V'_i of ``tau`` words each (Jean et al. 2015, section 3.1): for each batch
    that of its part, int64 ``[tau]``, distinct ids of the network vocabulary in rising order, UNK and EOS among them.

    Walks the batches in training order and begins a new part where the distinct words would become more than ``tau``.
    sentences: int32 network ids of target sentences; batches: rows of ``sentences``, in training order; tau: words of a
    vocabulary, UNK and EOS included; size: words of the network vocabulary, reserved entries included. Places that a
    part does not need keep words of the part before it, at first the most frequent ones; of these the most frequent
    stay. Raises ``UserError`` where a single batch has more than ``tau`` distinct words.
    """
    if not len(RESERVED) <= tau < size:
        raise UserError(
            f"training: tau is {tau}, but the network knows {size - 1} target words, UNK and EOS included; "
            f"set it to {len(RESERVED)} to {size - 1}, or to 0"
        )
    starts: list[int] = []
    distinct, inside = tau, np.zeros(size, dtype=np.bool_)  # the words of the last part
    for number, rows in enumerate(batches):
        words = np.union1d(sentences.take(rows).values, [UNK, EOS])
        if len(words) > tau:
            raise UserError(
                f"training: batch {number + 1} has {len(words)} distinct target words, more than tau ({tau}); "
                "make tau larger or the batches smaller"
            )
        distinct += int(np.count_nonzero(~inside[words]))
        if not starts or distinct > tau:
            starts.append(number)
            inside[:] = False
            distinct = len(words)
        inside[words] = True
    starts.append(len(batches))
    parts: list[np.ndarray] = []
    before = np.concatenate([[UNK, EOS], np.arange(len(RESERVED), len(RESERVED) + tau - 2)])
    for start, stop in pairwise(starts):
        needed = np.union1d(sentences.take(np.concatenate(batches[start:stop])).values, [UNK, EOS])
        kept = np.setdiff1d(before, needed, assume_unique=True)[: tau - len(needed)]
        before = np.sort(np.concatenate([needed, kept]))
        parts += [before] * (stop - start)
    return parts


def _digest_of_sets(text: SentencePairs) -> str | None:
    """Of the target vocabularies of sentences, where they have some of their own."""
    return None if text.sets is None else text.sets.digest


def _read(
    source: Path,
    target: Path,
    vocabularies: tuple[Vocabulary, Vocabulary],
    candidates: Path | None,
    config: AttentionConfig,
) -> SentencePairs:
    """Pairs of sentences as ids, with the target vocabularies that were made for them."""
    lines = parallel_lines(source, target)
    texts = list(map(iter, lines))

    def pieces() -> Iterator[Pairs]:
        for _ in range(0, len(lines[0]), PIECE):
            sides = (known.encode_words(islice(text, PIECE)) for known, text in zip(vocabularies, texts, strict=True))
            yield Pairs(next(sides), config.ordered(next(sides)))

    pairs, sets = Pairs.stored(pieces()), None
    if candidates is not None:
        sets = read_sets(candidates, vocabularies[1], lines[0], source, references=lines[1])
    return SentencePairs(pairs.source, pairs.target, sets)


def prepare(
    *,
    source: Path,
    target: Path,
    source_vocabulary: Path,
    target_vocabulary: Path,
    settings: Settings,
    place: torch.device,
    seed: int,
    candidates: Path | None = None,
    held_out_source: Path | None = None,
    held_out_target: Path | None = None,
    held_out_candidates: Path | None = None,
) -> Training:
    """A network and tokenised parallel text, with all target words or with those of each sentence.

    source_vocabulary, target_vocabulary: the words that the network knows. candidates: the target vocabularies of the
    training sentences (Mi et al. 2016), references among them; without, the softmax is over all target words, or over
    those of a part of the text (``tau``). held_out: sentences to measure perplexity with while training, each under its
    own target vocabulary; words of the references that are not in it count as unknown.
    """
    if (held_out_source is None) != (held_out_target is None):
        raise UserError("held-out text needs both its sides; give held_out_source and held_out_target")
    if settings.tau and candidates is not None:
        raise UserError("training: tau cuts the text into parts with words of their own; leave candidates out")
    # with tau, what is decoded with candidate lists may be validated with them (Jean et al. 2015)
    if held_out_source and not settings.tau and (candidates is None) != (held_out_candidates is None):
        raise UserError("give both candidates and held_out_candidates, or neither: both texts use the same softmax")
    vocabularies = Vocabulary.load(source_vocabulary), Vocabulary.load(target_vocabulary)
    words = [len(vocabulary) for vocabulary in vocabularies]
    config = AttentionConfig.of(settings.as_dict(), source_words=words[0], target_words=words[1])
    text = _read(source, target, vocabularies, candidates, config)
    held_out = SentencePairs(text.source.take([]), text.target.take([]))
    if held_out_source and held_out_target:
        held_out = _read(held_out_source, held_out_target, vocabularies, held_out_candidates, config)
    if len(text.within(settings.max_length)) == 0:
        raise UserError(f"{source}: no sentence pairs of 1 to {settings.max_length} words to train on")
    network = AttentionNetwork(config, seed).to(place)
    task = AttentionTask(network, text, held_out, settings, seed)
    pairs = len(task.order.lengths), len(held_out)
    log.info("%d pairs to train on, %d held out, %d and %d words", *pairs, *words)
    for name, part in (("training", text), ("held-out", held_out)):
        if missing := part.uncovered():
            log.warning("%d words of the %s references are in no set of theirs and count as unknown", missing, name)
    most = settings.epochs * task.updates_per_epoch if settings.epochs else settings.updates
    limited = text.sets is not None or settings.tau > 0
    trained, origin = Trained(network, *vocabularies), {"candidates": _digest_of_sets(text)}
    return Training(
        task=task,
        settings=settings.replace(updates=min(settings.updates, most)),
        decided_by=[[v.digest for v in vocabularies], [_digest_of_sets(part) for part in (text, held_out)]],
        data=[side for part in (text, held_out) for side in (part.source, part.target)],
        optimiser=optimiser_of(network, settings, rows_only=limited),
        save=lambda folder, updates: trained.save(folder, origin | ({"updates": updates} if updates else {})),
    )
