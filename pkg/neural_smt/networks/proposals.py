"""Target phrases that an encoder-decoder proposes for source phrases: samples, and beam search.

Samples (Cho et al. 2014, section 4.3, Table 3) follow the sampler of the released program: words are drawn from the
softmax until the end symbol, at most three words for every word of the source phrase; ``[UNK]`` may be drawn. Samples
of one source phrase that agree so far are one row of the network, so the first step costs one row however many samples
are drawn.
The beam search for the most probable ones follows that program too: at most 3 (n + 1) words for a source phrase of n
words, no end symbol before half of n + 1 words, one place of the beam less for every phrase that is finished; a source
phrase without any result is searched again with twice the beam. ``[UNK]`` and the start symbol are not written.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.networks.beams import best_continuations, places_within, top_values
from neural_smt.networks.device import affine, downloaded, precision_context, uploaded
from neural_smt.networks.encoder_decoder import Context, EncoderDecoder, Prefixes, StepDecoder
from neural_smt.networks.packing import pack
from neural_smt.networks.softmax import TILE
from neural_smt.vocabulary import BOS, EOS, UNK


@dataclass(frozen=True)
class Proposals:
    """``N`` target phrases proposed for some source phrases, those of one source phrase together.

    source: int64 ``[N]``, ascending, the source phrase of each; phrases: int32 ``Ragged`` of N phrases of shortlist
    ids; scores: float64 ``[N]``, natural log p(target | source) of the words written, end symbol included; complete:
    bool ``[N]``, whether the phrase ended itself (an end symbol was written before the limit of its length).
    """

    source: np.ndarray
    phrases: Ragged
    scores: np.ndarray
    complete: np.ndarray

    def __len__(self) -> int:
        return len(self.source)

    @classmethod
    def concatenate(cls, parts: list["Proposals"]) -> "Proposals":
        """All parts, in the order of their source phrases, and as they stand within each."""
        parts = [cls(np.zeros(0, np.int64), Ragged.from_lists([]), np.zeros(0), np.zeros(0, bool)), *parts]
        source = np.concatenate([part.source for part in parts])
        order = np.argsort(source, kind="stable")
        return cls(
            source[order],
            Ragged.concatenate([part.phrases for part in parts]).take(order),
            np.concatenate([part.scores for part in parts])[order],
            np.concatenate([part.complete for part in parts])[order],
        )


def _begin(decoder: StepDecoder, source: Ragged) -> tuple[Context, Prefixes]:
    """The contexts of source phrases (shortlist ids) and their empty prefixes."""
    packed, order = pack(source, decoder.inputs.device)
    summaries = decoder.network.encode(packed)
    return decoder.begin(summaries[torch.from_numpy(np.argsort(order)).to(summaries.device)])


def _extend(
    decoder: StepDecoder, context: Context, prefixes: Prefixes, parents: np.ndarray, words: np.ndarray
) -> Prefixes:
    added = uploaded((torch.from_numpy(parents), torch.from_numpy(words)), prefixes.owner.device)
    return decoder.extend(context, prefixes, *added)


def _logits(decoder: StepDecoder, context: Context, prefixes: Prefixes) -> Iterator[tuple[int, Tensor]]:
    """Logits of the next word, a few prefixes at a time: the first of them, and ``[rows, V]``.

    Few enough that what is done with them finds them in the processor's cache.
    """
    output, inner = decoder.network.output, decoder.before_softmax(context, prefixes).to(context.initial.dtype)
    rows = max(1, len(inner) if inner.is_cuda else max(TILE // len(output.weight), 16))
    for start in range(0, len(inner), rows):
        yield start, affine(output.bias, inner[start : start + rows], output.weight, dtype=decoder.inputs.dtype)


WORDS_PER_SOURCE_WORD = 3
"""A sample of a source phrase of n words has at most 3 n words."""

BLOCK = 128
"""Words whose weights are summed up together when a word is drawn."""


@torch.no_grad()
def sample(network: EncoderDecoder, source: Ragged, count: int, seed: int, batch: int = 512) -> Proposals:
    """Draw ``count`` target phrases for each of ``source`` (int32 shortlist ids), with repetitions, in drawing order.

    batch: source phrases that go through the network together; what is drawn does not depend on it. Samples that reach
    the limit of their length without an end symbol are not ``complete`` (and their score has no end symbol).
    """
    decoder = StepDecoder(network)
    starts = range(0, len(source), batch)
    chunks = (np.arange(start, min(start + batch, len(source))) for start in starts)
    return Proposals.concatenate([_sample_chunk(decoder, source, numbers, count, seed) for numbers in chunks])


def _sample_chunk(decoder: StepDecoder, source: Ragged, numbers: np.ndarray, count: int, seed: int) -> Proposals:
    chosen = source.take(numbers)
    limits = WORDS_PER_SOURCE_WORD * chosen.lengths
    longest = int(limits.max(initial=0))
    chance: np.ndarray = np.zeros((len(numbers), count, longest), dtype=np.float32)
    for row, number in enumerate(numbers.tolist()):
        # a generator for each source phrase, so that its samples do not depend on the phrases beside it
        chance[row, :, : limits[row]] = np.random.default_rng([seed, number]).random((count, limits[row]))
    chance = chance.reshape(len(numbers) * count, longest)
    limits = np.repeat(limits, count)
    words = np.full(chance.shape, EOS, dtype=np.int32)
    lengths = np.zeros(len(chance), dtype=np.int64)
    scores, complete = np.zeros(len(chance)), np.zeros(len(chance), dtype=bool)
    context, prefixes = _begin(decoder, chosen)
    alive = np.flatnonzero(limits > 0)
    rows = alive // count
    for step in range(longest):
        drawn, gained = _draw(decoder, context, prefixes, rows, chance[alive, step])
        scores[alive] += gained
        ends = drawn == EOS
        complete[alive[ends]] = True
        words[alive, step] = drawn
        lengths[alive[~ends]] += 1
        goes_on = ~ends & (limits[alive] > step + 1)
        alive, rows, drawn = alive[goes_on], rows[goes_on], drawn[goes_on]
        if len(alive) == 0:
            break
        vocabulary = len(decoder.inputs)
        extended, inverse = np.unique(rows * vocabulary + drawn, return_inverse=True)
        prefixes = _extend(decoder, context, prefixes, extended // vocabulary, extended % vocabulary)
        order = np.argsort(inverse, kind="stable")
        alive, rows = alive[order], inverse[order]
    phrases = Ragged(words[np.arange(longest) < lengths[:, None]], offsets_of(lengths))
    return Proposals(np.repeat(numbers, count), phrases, scores, complete)


def _draw(
    decoder: StepDecoder, context: Context, prefixes: Prefixes, rows: np.ndarray, chance: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """A word after each sample's prefix, int64 ``[n]``, and its log-probability, float64 ``[n]``.

    rows: int64 ``[n]``, ascending, the prefix of each sample; chance: float32 ``[n]`` in [0, 1), where in the
    cumulative distribution its word lies.
    """
    drawn, gained = np.empty(len(rows), dtype=np.int64), np.empty(len(rows))
    for start, logits in _logits(decoder, context, prefixes):
        here = slice(*np.searchsorted(rows, [start, start + len(logits)]))
        own, points = uploaded(tuple(map(torch.from_numpy, (rows[here] - start, chance[here]))), logits.device)
        # exp(logits) up to a factor for each row, filled up with zeros: [n, blocks, BLOCK]
        largest = logits.amax(1, keepdim=True)
        weights = logits.new_zeros(len(logits), -(-logits.shape[1] // BLOCK), BLOCK)
        used = weights.flatten(1)[:, : logits.shape[1]]
        torch.sub(logits, largest, out=used).exp_()
        words = invert(weights, own, points).clamp_(max=logits.shape[1] - 1)
        normalisers = used.sum(1).log_() + largest[:, 0]
        drawn[here], gained[here] = downloaded(words, logits[own, words] - normalisers[own])
    return drawn, gained


def invert(weights: Tensor, rows: Tensor, points: Tensor) -> Tensor:
    """The word at which the cumulative weight of a row passes the share ``points`` of its whole: int64 ``[m]``.

    weights: ``[n, blocks, BLOCK]``; rows: int64 ``[m]``; points: ``[m]`` in [0, 1). First the block is found, then the
    word inside it, so that nothing as long as the vocabulary is cumulated.
    """
    ends = weights.sum(2).cumsum(1)[rows]
    points = (points * ends[:, -1])[:, None]
    block = torch.searchsorted(ends, points, right=True).clamp_(max=ends.shape[1] - 1)
    before = ends.gather(1, block) - weights[rows, block[:, 0]].sum(1, keepdim=True)
    inside = weights[rows, block[:, 0]].cumsum(1)
    place = torch.searchsorted(inside, points - before, right=True).clamp_(max=BLOCK - 1)
    return (block * BLOCK + place)[:, 0]


@torch.no_grad()
def beam_search(
    network: EncoderDecoder,
    source: Ragged,
    size: int = 10,
    largest: int = 500,
    batch: int = 256,
    precision: str = "fp32",
) -> Proposals:
    """The most probable target phrases of each of ``source`` (int32 shortlist ids), best first, at most ``size`` of
    each: as many as the beam has places. All are ``complete``.

    largest: beam at which a source phrase without result is given up; batch: source phrases that go through the network
    together; precision: as in ``precision_context``.
    """
    beam, waiting, parts = size, np.arange(len(source)), []
    with precision_context(network.output.weight.device, precision):
        decoder = StepDecoder(network)
        while len(waiting) and beam <= max(largest, size):
            # short phrases end early: searched with their like, none waits for a long one
            waiting = waiting[np.argsort(source.lengths[waiting], kind="stable")]
            starts = range(0, len(waiting), batch)
            found = [_search_chunk(decoder, source, waiting[start : start + batch], beam, size) for start in starts]
            parts += found
            waiting = np.setdiff1d(waiting, np.concatenate([part.source for part in found]))
            beam *= 2
    return Proposals.concatenate(parts)


def _search_chunk(decoder: StepDecoder, source: Ragged, numbers: np.ndarray, size: int, most: int) -> Proposals:
    """The best ``most`` of what is finished at any step, by source phrase; size: of the beam."""
    chosen = source.take(numbers)
    lengths = chosen.lengths + 1
    context, prefixes = _begin(decoder, chosen)
    places = np.full(len(numbers), size)
    history = np.zeros((len(numbers), 0), dtype=np.int32)
    totals = np.zeros(len(numbers))
    owners, phrases, scores = [], [], []
    owner = np.arange(len(numbers))
    for step in range(3 * int(lengths.max())):
        values, words = _best_words(decoder, context, prefixes, size, lengths[owner] // 2 > step)
        rows, words, totals = best_continuations(owner, totals, values, words, places)
        ends = words == EOS
        ended = rows[ends]
        owners.append(owner[ended])
        phrases += list(history[ended])
        scores.append(totals[ends])
        places -= np.bincount(owner[ended], minlength=len(places))
        goes_on = ~ends & (step + 1 < 3 * lengths[owner[rows]])
        rows, words, totals = rows[goes_on], words[goes_on], totals[goes_on]
        if len(rows) == 0:
            break
        history = np.concatenate((history[rows], words[:, None].astype(np.int32)), axis=1)
        prefixes, owner = _extend(decoder, context, prefixes, rows, words), owner[rows]
    owner, score = np.concatenate(owners), np.concatenate(scores)
    order = np.lexsort((-score, owner))
    order = order[places_within(owner[order]) < most]  # a doubled beam may have found more
    found = Ragged.from_lists(phrases).take(order)
    return Proposals(numbers[owner[order]], found, score[order], np.ones(len(order), dtype=bool))


def _best_words(
    decoder: StepDecoder, context: Context, prefixes: Prefixes, size: int, early: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The ``size`` best next words of each prefix: log-probabilities, float64, and ids, both ``[n, <= size]``.

    early: bool ``[n]``, prefixes that may not end yet. What may not be written has probability 0, without making the
    others more probable.
    """
    values, words = [], []
    too_early = torch.from_numpy(early).to(prefixes.owner.device)
    for start, logits in _logits(decoder, context, prefixes):
        normalisers = logits.logsumexp(1, keepdim=True)
        logits[:, [UNK, BOS]] = -torch.inf
        logits[:, EOS].masked_fill_(too_early[start : start + len(logits)], -torch.inf)
        best, ids = top_values(logits, min(size, logits.shape[1]))
        gained, chosen = downloaded((best - normalisers).double(), ids)
        values.append(gained)
        words.append(chosen)
    return np.concatenate(values), np.concatenate(words)
