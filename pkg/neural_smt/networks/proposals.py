"""Target phrases that an encoder-decoder proposes for source phrases: decoder steps, samples, and beam search.

Samples (Cho et al. 2014, section 4.3, Table 3) follow the sampler of the released program: words are drawn from the
softmax, whose logits are divided by a temperature, until the end symbol, at most three words for every word of the
source phrase; ``[UNK]`` may be drawn. Samples of one source phrase that agree so far are one row of the network, so the
first step costs one row however many samples are drawn.
The beam search for the most probable ones follows that program too: at most 3 (n + 1) words for a source phrase of n
words, no end symbol before half of n + 1 words, one place of the beam less for every phrase that is finished; a source
phrase without any result is searched again with twice the beam.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from neural_smt.errors import UserError
from neural_smt.io.ragged import Ragged
from neural_smt.networks.beams import best_continuations, places_within, top_values
from neural_smt.networks.device import precision_context
from neural_smt.networks.encoder_decoder import Context, EncoderDecoder
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


@dataclass(frozen=True)
class Prefixes:
    """``n`` target prefixes: state h', ``[n, H]``; readout of the last word, ``[n, 2M]`` (or ``[1, 2M]``, 0, when
    there is none); owner: int64 ``[n]``, ascending, the source phrase of each.
    """

    state: Tensor
    words: Tensor
    owner: Tensor


class StepDecoder:
    """The decoder, one word at a time, over the prefixes of ``S`` source phrases.

    What decoder and readout add for a word is a table with a row per word, made once.
    """

    def __init__(self, network: EncoderDecoder):
        self.network = network
        self.device = network.output.weight.device
        target = network.target_embedding.weight + network.target_embedding.bias
        self._inputs = network.decoder.inputs(target)
        self._readouts = network.word_readout(target)

    def start(self, source: Ragged) -> tuple[Context, Prefixes]:
        """The contexts of ``S`` source phrases (shortlist ids) and their empty prefixes."""
        network = self.network
        packed, order = pack(source, self.device)
        rows = np.empty(len(order), dtype=np.int64)
        rows[order] = np.arange(len(order))
        context = network.decoder_context(network.encode(packed)[self._tensor(rows)])
        state = context.initial
        if network.config.conventions.first_step == "paper":
            nothing = network.decoder.inputs(state.new_zeros(1, network.config.embedding))
            state = network.decoder.step(nothing + context.inputs, state, context.gated)
        nothing = self._readouts.new_zeros(1, self._readouts.shape[1])
        return context, Prefixes(state, nothing, torch.arange(len(source), device=self.device))

    def logits(self, context: Context, prefixes: Prefixes) -> Iterator[tuple[int, Tensor]]:
        """Logits of the next word, a few prefixes at a time: the first of them, and ``[rows, V]``.

        Few enough that what is done with them finds them in the processor's cache.
        """
        network, output = self.network, self.network.output
        inner = network.before_softmax(prefixes.state, prefixes.words, context.readout[prefixes.owner])
        rows = len(inner) if inner.is_cuda else max(TILE // len(output.weight), 16)
        for start in range(0, len(inner), max(rows, 1)):
            yield start, torch.addmm(output.bias, inner[start : start + rows], output.weight.t())

    def extend(self, context: Context, prefixes: Prefixes, parents: np.ndarray, words: np.ndarray) -> Prefixes:
        """The prefixes ``parents`` (int64 ``[m]``, ascending), each with one more of ``words`` (int64 ``[m]``)."""
        chosen, ids = self._tensor(parents), self._tensor(words)
        owner = prefixes.owner[chosen]
        gated = None if context.gated is None else context.gated[owner]
        inputs = self._inputs[ids] + context.inputs[owner]
        state = self.network.decoder.step(inputs, prefixes.state[chosen], gated)
        return Prefixes(state, self._readouts[ids], owner)

    def _tensor(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array, dtype=np.int64)).to(self.device)


WORDS_PER_SOURCE_WORD = 3
"""A sample of a source phrase of n words has at most 3 n words."""

BLOCK = 128
"""Words whose weights are summed up together when a word is drawn."""


def sample(
    network: EncoderDecoder,
    source: Ragged,
    count: int,
    *,
    seed: int,
    temperature: float = 1.0,
    batch: int = 512,
    precision: str = "fp32",
) -> Proposals:
    """Draw ``count`` target phrases for each of ``source`` (int32 shortlist ids), with repetitions, in drawing order.

    temperature: below 1 prefers probable words; scores are log p at temperature 1 whatever it is. batch: source
    phrases that go through the network together; what is drawn does not depend on it. Samples that reach the limit of
    their length without an end symbol are not ``complete`` (and their score has no end symbol).
    """
    if temperature <= 0:
        raise UserError(f"the sampling temperature is {temperature}; set it above 0")
    device = network.output.weight.device
    with torch.no_grad(), precision_context(device, precision):
        decoder = StepDecoder(network)
        parts = [
            _sample_chunk(decoder, source, np.arange(start, min(start + batch, len(source))), count, seed, temperature)
            for start in range(0, len(source), batch)
        ]
    return Proposals.concatenate(parts)


def _sample_chunk(
    decoder: StepDecoder, source: Ragged, numbers: np.ndarray, count: int, seed: int, temperature: float
) -> Proposals:
    chosen = source.take(numbers)
    limits = WORDS_PER_SOURCE_WORD * chosen.lengths
    longest = int(limits.max(initial=0))
    chance = np.zeros((len(numbers), count, longest), dtype=np.float64)
    for row, number in enumerate(numbers.tolist()):
        # a generator for each source phrase, so that its samples do not depend on the phrases beside it
        chance[row, :, : limits[row]] = np.random.default_rng([seed, number]).random((count, limits[row]))
    chance = chance.reshape(len(numbers) * count, longest)
    limits = np.repeat(limits, count)
    words = np.full(chance.shape, EOS, dtype=np.int32)
    lengths = np.zeros(len(chance), dtype=np.int64)
    scores, complete = np.zeros(len(chance)), np.zeros(len(chance), dtype=bool)
    context, prefixes = decoder.start(chosen)
    alive = np.flatnonzero(limits > 0)
    rows = alive // count
    for step in range(longest):
        if len(alive) == 0:
            break
        drawn, gained = _draw(decoder, context, prefixes, rows, chance[alive, step], temperature)
        scores[alive] += gained
        ends = drawn == EOS
        complete[alive[ends]] = True
        words[alive, step] = drawn
        lengths[alive[~ends]] += 1
        goes_on = ~ends & (limits[alive] > step + 1)
        alive, rows, drawn = alive[goes_on], rows[goes_on], drawn[goes_on]
        if len(alive) == 0:
            break
        vocabulary = len(decoder.network.output.weight)
        extended, inverse = np.unique(rows * vocabulary + drawn, return_inverse=True)
        prefixes = decoder.extend(context, prefixes, extended // vocabulary, extended % vocabulary)
        order = np.argsort(inverse, kind="stable")
        alive, rows = alive[order], inverse[order]
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    phrases = Ragged(words[np.arange(longest) < lengths[:, None]], offsets)
    return Proposals(np.repeat(numbers, count), phrases, scores, complete)


def _draw(
    decoder: StepDecoder, context: Context, prefixes: Prefixes, rows: np.ndarray, chance: np.ndarray, temperature: float
) -> tuple[np.ndarray, np.ndarray]:
    """A word after each sample's prefix, int64 ``[n]``, and its log-probability, float64 ``[n]``.

    rows: int64 ``[n]``, ascending, the prefix of each sample; chance: ``[n]`` in [0, 1), where in the cumulative
    distribution its word lies.
    """
    drawn = np.empty(len(rows), dtype=np.int64)
    gained = np.empty(len(rows), dtype=np.float64)
    for start, logits in decoder.logits(context, prefixes):
        here = slice(*np.searchsorted(rows, [start, start + len(logits)]))
        own = torch.from_numpy(rows[here] - start).to(logits.device)
        points = torch.from_numpy(chance[here].astype(np.float32)).to(logits.device)
        weights, normalisers = exponentials(logits, 1.0)
        words = invert(weights if temperature == 1 else exponentials(logits, temperature)[0], own, points)
        words.clamp_(max=logits.shape[1] - 1)
        drawn[here] = words.cpu().numpy()
        gained[here] = (logits[own, words] - normalisers[own]).cpu().numpy()
    return drawn, gained


def exponentials(logits: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """exp(logits / temperature) up to a factor for each row, and the natural log of each row's sum with its factor.

    ``[n, V]`` -> ``[n, blocks, BLOCK]``, filled up with zeros, and ``[n]``.
    """
    largest = logits.amax(1, keepdim=True)
    weights = logits.new_zeros(len(logits), -(-logits.shape[1] // BLOCK), BLOCK)
    used = weights.flatten(1)[:, : logits.shape[1]]
    torch.sub(logits, largest, out=used).div_(temperature).exp_()
    return weights, used.sum(1).log_() + largest[:, 0] / temperature


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
    parts: list[Proposals] = []
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
