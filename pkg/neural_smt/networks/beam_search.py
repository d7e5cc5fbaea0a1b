"""Beam search for the most probable target phrases of many source phrases at once.

Follows the search of the released program of Cho et al. (2014): at most 3 (n + 1) words for a source phrase of n
words, no end symbol before half of n + 1 words, one place of the beam less for every phrase that is finished; a source
phrase without any result is searched again with twice the beam.
"""

from dataclasses import dataclass

import numpy as np
import torch

from neural_smt.errors import UserError
from neural_smt.io.ragged import Ragged
from neural_smt.networks.beams import best_continuations, places_within, top_values
from neural_smt.networks.device import precision_context
from neural_smt.networks.encoder_decoder import Context, EncoderDecoder
from neural_smt.networks.proposals import Prefixes, Proposals, StepDecoder
from neural_smt.vocabulary import BOS, EOS, UNK


@dataclass(frozen=True)
class BeamSettings:
    """size: places of the beam, and so the most phrases found for a source phrase; unknown: whether ``[UNK]`` (and the
    start symbol) may be written; normalise: whether phrases are ordered by log p over their length, end symbol
    included, in place of log p; largest: beam at which a source phrase without result is given up; batch: source
    phrases that go through the network together.
    """

    size: int = 10
    unknown: bool = False
    normalise: bool = False
    largest: int = 500
    batch: int = 256

    def __post_init__(self) -> None:
        if self.size < 1 or self.batch < 1:
            raise UserError(f"the beam has size {self.size} and batch {self.batch}; set both to 1 or more")


def beam_search(
    network: EncoderDecoder, source: Ragged, settings: BeamSettings | None = None, precision: str = "fp32"
) -> Proposals:
    """The best target phrases of each of ``source`` (int32 shortlist ids), best first, at most ``size`` of each.

    All are ``complete``. A source phrase may have none when ``largest`` is too small for it to end.
    """
    settings = settings or BeamSettings()
    size, waiting = settings.size, np.arange(len(source))
    parts = [Proposals(np.zeros(0, np.int64), Ragged.from_lists([]), np.zeros(0), np.zeros(0, bool))]
    with torch.no_grad(), precision_context(network.output.weight.device, precision):
        decoder = StepDecoder(network)
        while len(waiting):
            # short phrases end early: searched with their like, none waits for a long one
            waiting = waiting[np.argsort(source.lengths[waiting], kind="stable")]
            found = [
                _search_chunk(decoder, source, waiting[start : start + settings.batch], size, settings)
                for start in range(0, len(waiting), settings.batch)
            ]
            parts += found
            waiting = np.setdiff1d(waiting, np.concatenate([part.source for part in found]))
            size *= 2
            if size > settings.largest:
                break
    return Proposals.concatenate(parts)


def _search_chunk(
    decoder: StepDecoder, source: Ragged, numbers: np.ndarray, size: int, settings: BeamSettings
) -> Proposals:
    chosen = source.take(numbers)
    lengths = chosen.lengths + 1
    context, prefixes = decoder.start(chosen)
    places = np.full(len(numbers), size)
    history = np.zeros((len(numbers), 0), dtype=np.int32)
    totals = np.zeros(len(numbers))
    finished: list[tuple[np.ndarray, list[np.ndarray], np.ndarray]] = []
    for step in range(3 * int(lengths.max(initial=0))):
        owner = prefixes.owner.cpu().numpy()
        values, words = _best_words(decoder, context, prefixes, size, settings.unknown, lengths[owner] // 2 > step)
        rows, words, totals = best_continuations(owner, totals, values, words, places)
        ends = words == EOS
        ended = rows[ends]
        finished.append((owner[ended], list(history[ended]), totals[ends]))
        places -= np.bincount(owner[ended], minlength=len(places))
        goes_on = ~ends & (step + 1 < 3 * lengths[owner[rows]])
        rows, words, totals = rows[goes_on], words[goes_on], totals[goes_on]
        if len(rows) == 0:
            break
        history = np.concatenate((history[rows], words[:, None].astype(np.int32)), axis=1)
        prefixes = decoder.extend(context, prefixes, rows, words)
    return _gather(numbers, finished, settings)


def _gather(
    numbers: np.ndarray, finished: list[tuple[np.ndarray, list[np.ndarray], np.ndarray]], settings: BeamSettings
) -> Proposals:
    """The best of what was finished at any step, by source phrase and then best first."""
    owner = np.concatenate([item[0] for item in finished]).astype(np.int64)
    phrases = Ragged.from_lists([words for item in finished for words in item[1]])
    scores = np.concatenate([item[2] for item in finished])
    ranked = scores / (phrases.lengths + 1) if settings.normalise else scores
    order = np.lexsort((-ranked, owner))
    order = order[places_within(owner[order]) < settings.size]  # a doubled beam may have found more
    return Proposals(numbers[owner[order]], phrases.take(order), scores[order], np.ones(len(order), dtype=bool))


def _best_words(
    decoder: StepDecoder, context: Context, prefixes: Prefixes, size: int, unknown: bool, early: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The ``size`` best next words of each prefix: log-probabilities, float64, and ids, both ``[n, <= size]``.

    early: bool ``[n]``, prefixes that may not end yet. What may not be written has probability 0, without making the
    others more probable.
    """
    values, words = [], []
    too_early = torch.from_numpy(early).to(prefixes.owner.device)
    for start, logits in decoder.logits(context, prefixes):
        normalisers = logits.logsumexp(1, keepdim=True)
        if not unknown:
            logits[:, [UNK, BOS]] = -torch.inf
        logits[:, EOS].masked_fill_(too_early[start : start + len(logits)], -torch.inf)
        best, ids = top_values(logits, min(size, logits.shape[1]))
        values.append((best - normalisers).double().cpu().numpy())
        words.append(ids.cpu().numpy())
    return np.concatenate(values), np.concatenate(words)
