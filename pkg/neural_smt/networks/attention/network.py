"""The attention network of Mi et al. (2016): minibatches, log p(target sentence | source sentence)."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from neural_smt.io.ragged import Ragged
from neural_smt.networks.attention.decoder import DecoderWeights, decode
from neural_smt.networks.attention.scorer import Groups, Memory, attend
from neural_smt.networks.device import CPU, MULTIPLE, ExactLinear, Linear, exact_linear, product, rounded, uploaded
from neural_smt.networks.folder import DrawnNetwork, NetworkConfig
from neural_smt.networks.layers import STANDARD_DEVIATION, GatedUnit, MaxoutNetwork, side_by_side
from neural_smt.networks.packing import UNMASKED, Filling, Masks, Packed, PairBatch, pack, pack_pairs
from neural_smt.networks.softmax import OutputLayer
from neural_smt.vocabulary import EOS, UNK


@dataclass(frozen=True)
class SourceLayout:
    """Where the words of packed source sentences stand when read backwards, and in rows of equal width.

    mirror: int64 ``[N]``, for each packed position the one at the same distance from the other end of its sentence,
    itself if it only fills up;
    positions: int64 ``[B, L]``, the packed position of each word of each row, 0 on padding; padding: bool ``[B, L]``.
    """

    mirror: Tensor
    positions: Tensor
    padding: Tensor

    @classmethod
    def of(cls, source: Packed, pairing: Tensor | None = None) -> "SourceLayout":
        """Of packed sentences; pairing: int64, the row of ``source`` that each row shall hold (as they are if None)."""
        sizes = torch.tensor(source.sizes)
        starts = torch.cumsum(sizes, 0) - sizes
        lengths, rows = torch.searchsorted(starts, source.last, right=True), source.rows
        steps = torch.repeat_interleave(torch.arange(len(sizes)), sizes)
        other = lengths[rows] - 1 - steps
        mirror = starts[torch.where(other < 0, steps, other)] + rows
        chosen = torch.arange(source.sizes[0]) if pairing is None else pairing
        padding = torch.arange(len(sizes)) >= lengths[chosen, None]
        positions = (starts + chosen[:, None]).masked_fill(padding, 0)
        return cls(mirror, positions, padding)


@dataclass(frozen=True)
class BatchVocabulary:
    """The target words ``V_o`` that a minibatch is predicted from (Mi et al. 2016, section 3).

    ids: int64 ``[n]``, distinct and rising, UNK and EOS among them; words: int64 ``[N]``, the position in ``ids`` of
    the word to predict at each target position; allowed: bool ``[B, n]``, the words of each target row's own set, or
    None where the rows share them all. A word to predict that is outside counts as UNK: nothing else can be written.
    offsets: float32 ``[n]`` where ``ids`` are filled up, added to the biases: 0, and minus infinity of what fills up.
    """

    ids: Tensor
    words: Tensor
    allowed: Tensor | None = None
    offsets: Tensor | None = None


@dataclass(frozen=True)
class AttentionBatch:
    """Sentence pairs, each side in its own order of falling length; layout: of the sources, a row for each target row;
    vocabulary: None for all target words.
    """

    pairs: PairBatch
    layout: SourceLayout
    vocabulary: BatchVocabulary | None = None


def pack_sentences(source: Ragged, device: torch.device) -> tuple[Packed, SourceLayout, np.ndarray]:
    """Source sentences alone (to translate): packed, their layout, and int64 ``[B]``, the sentence in each row."""
    packed, order = pack(source)
    return *uploaded((packed, SourceLayout.of(packed)), device), order


def pack_batch(
    source: Ragged,
    target: Ragged,
    device: torch.device = CPU,
    ids: np.ndarray | None = None,
    allowed: np.ndarray | None = None,
    filled: Filling = "",
) -> AttentionBatch:
    """Pack pair i = (source i, target i) of ids without end symbols.

    ids: int ``[n]``, distinct and rising, the words to predict from, UNK and EOS among them; None: all target words;
    allowed: bool ``[pairs, n]``, those of each pair alone (``membership``), None: all of ``ids``; filled: up, to few
    shapes, the words to predict from too if all pairs share them.
    """
    pairs = pack_pairs(source, target, filled=filled)
    layout = SourceLayout.of(pairs.source, pairs.pairing)
    vocabulary = None if ids is None else _vocabulary(pairs, ids, allowed)
    if filled and vocabulary is not None and allowed is None:
        further = -len(vocabulary.ids) % (MANY if filled == "rows" else MULTIPLE)
        offsets = nn.functional.pad(torch.zeros(len(vocabulary.ids)), (0, further), value=-torch.inf)
        vocabulary = replace(vocabulary, ids=nn.functional.pad(vocabulary.ids, (0, further)), offsets=offsets)
    return uploaded(AttentionBatch(pairs, layout, vocabulary), device)


MANY = 1024
"""Words to predict from that they are filled up to a multiple of for CUDA graphs."""


def _vocabulary(pairs: PairBatch, ids: np.ndarray, allowed: np.ndarray | None) -> BatchVocabulary:
    if not np.isin((UNK, EOS), ids).all():
        raise ValueError("the unknown word and the end symbol must be among the words to predict from")
    if allowed is not None:
        allowed = allowed[pairs.order.numpy()]
    wanted = pairs.target.words.numpy()
    places = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    found = ids[places] == wanted
    if allowed is not None:
        found &= allowed[pairs.target.rows.numpy(), places]
    # UNK is the smallest id, so it stands first.
    arrays = ids.astype(np.int64), np.where(found, places, 0)
    known, places_of = map(torch.from_numpy, arrays)
    return BatchVocabulary(known, places_of, None if allowed is None else torch.from_numpy(allowed))


def membership(ids: np.ndarray, own: Ragged, common: np.ndarray) -> np.ndarray:
    """bool ``[sentences, n]``: which of ``ids`` (distinct and rising) each sentence may be predicted from.

    own: lists of ids, one for each sentence; common: ids that all sentences have besides. All must be among ``ids``.
    """
    allowed = np.zeros((len(own), len(ids)), dtype=bool)
    allowed[np.repeat(np.arange(len(own)), own.lengths), np.searchsorted(ids, own.values)] = True
    allowed[:, np.searchsorted(ids, common)] = True
    return allowed


@dataclass(frozen=True)
class AttentionConfig(NetworkConfig):
    """Sizes of an attention network; the defaults are those of GroundHog's ``prototype_search_state``.

    source_words, target_words: entries of the vocabularies, reserved ones included; hidden: units of each encoder and
    of the decoder; embedding: dimensions of a word; attention: hidden units of the scorer r; maxout: units of the
    readout, each the larger of two; rank: numbers between maxout and softmax.
    word_in_scorer: the scorer reads y*_{t-1} too (Mi et al. 2016, equation 4); GroundHog's does not. readout: whether
    y_t is predicted from s_t, ``current`` (equation 1), or from s_{t-1}, ``previous`` (GroundHog). order: of the target
    words, from first to last or from last to first.
    """

    kind, title = "attention", "an attention network"

    source_words: int
    target_words: int
    hidden: int = 1000
    embedding: int = 620
    attention: int = 1000
    maxout: int = 500
    rank: int = 620
    word_in_scorer: bool = True
    readout: Literal["current", "previous"] = "current"
    order: Literal["left_to_right", "right_to_left"] = "left_to_right"

    def ordered(self, targets: Ragged) -> Ragged:
        """Target sentences (ids, without end symbols) with their words as the network goes through them."""
        return targets if self.order == "left_to_right" else targets.mirrored()

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "AttentionConfig":
        """See ``NetworkConfig``; files that were written before there was a choice of the readout are ``previous``."""
        return super().from_json({"readout": "previous", **values})


class LimitedOutput(OutputLayer):
    """An output layer of which a batch is predicted from its vocabulary."""

    def forward(
        self, inner: Tensor, words: Tensor, rows: Tensor, vocabulary: BatchVocabulary | None, dtype: torch.dtype,
        smoothing: float = 0.0,
    ) -> Tensor:  # fmt: skip
        """Natural log p of one word per row: ``[N]``.

        inner: z, ``[N, R]``; words: int64 ``[N]``, ids; rows: int64 ``[N]``, the sentence of each (for
        ``BatchVocabulary.allowed``); dtype: what the factors of matrix products are rounded to; smoothing: see
        ``Noise``; of held-out sentences there is none.
        """
        if vocabulary is None:
            return self.scores(inner, None, words, dtype, smoothing=smoothing)
        if vocabulary.allowed is None:
            arguments = inner, vocabulary.ids, vocabulary.words, dtype
            return self.scores(*arguments, smoothing=smoothing, offsets=vocabulary.offsets)
        logits = exact_linear(inner, *self.rows(vocabulary.ids)).masked_fill(~vocabulary.allowed[rows], -torch.inf)
        return logits.gather(1, vocabulary.words[:, None])[:, 0] - logits.logsumexp(1)


SCORER_DEVIATION = 0.001
"""Of the initial weights A, B and C of the scorer; v starts at 0 (GroundHog)."""

BLOCK = 1 << 14
"""Rows of weights drawn at a time: no second copy of a large vocabulary's."""


class AttentionNetwork(DrawnNetwork, MaxoutNetwork):
    """Encoders that read forwards and backwards, a scorer, a decoder, a maxout readout and a softmax.

    c_t is what s_{t-1} and y_{t-1} look at (y_0 is nothing). With the readout ``current`` s_t = GRU(s_{t-1}, y_{t-1},
    c_t), and the word y_t is predicted from s_t, c_t and y_{t-1} (Mi et al. 2016, equations 1 to 4). With ``previous``
    it is predicted from s_{t-1}, c_t and y_{t-1}, then s_t = GRU(s_{t-1}, y_t, c_t), as GroundHog's
    ``prototype_search_state`` does. Other conventions are GroundHog's: s_0 = tanh(W h<-_1 + b); no bias in the scorer.
    ``H`` hidden units, ``E`` embedding dimensions, ``K`` units of the scorer, ``M`` maxout units of two pieces each,
    rank ``R``, ``V`` target words. Weights are stored as ``[outputs, inputs]``.
    """

    Config = AttentionConfig

    def __init__(self, config: AttentionConfig, seed: int | None = 0):
        super().__init__(config)
        self.current = config.readout == "current"
        hidden, embedding = config.hidden, config.embedding
        self.forward_encoder = GatedUnit(embedding, hidden)
        self.backward_encoder = GatedUnit(embedding, hidden)
        # W and b of s_0
        self.initialiser = ExactLinear(hidden, hidden)
        # A, B, C and v of r(s_{t-1}, h_j, y*_{t-1}) = v . tanh(A h_j + B s_{t-1} + C y*_{t-1})
        self.scorer_keys = Linear(2 * hidden, config.attention, bias=False)
        self.scorer_state = Linear(hidden, config.attention, bias=False)
        self.scorer_word = Linear(embedding, config.attention, bias=False) if config.word_in_scorer else None
        self.scorer_energy = nn.Parameter(torch.zeros(config.attention))
        self.decoder = GatedUnit(embedding, hidden)
        # C, C_z, C_r
        self.context = Linear(2 * hidden, 3 * hidden, bias=False)
        self.add_readout(2 * hidden)
        # G_l of G = G_l G_r, and the bias of the softmax
        self.output = LimitedOutput(config.rank, config.target_words)
        if seed is not None:  # else weights will be loaded
            self._initialise(np.random.default_rng(seed))

    def _draw(self, random: np.random.Generator, name: str, parameter: Tensor) -> None:
        """A, B, C: N(0, 0.001^2); other weights: N(0, 0.01^2)."""
        deviation = SCORER_DEVIATION if name.startswith("scorer") else STANDARD_DEVIATION
        for block in parameter.split(BLOCK):
            block.copy_(torch.from_numpy(random.standard_normal(block.shape, np.float32))).mul_(deviation)

    def encode(self, source: Packed, layout: SourceLayout, mask: Tensor | None = None) -> tuple[Tensor, Memory]:
        """s_0 of every row of ``source``, ``[B, H]``, and the memory of every row of ``layout``.

        mask: ``[N, E]``, what the embeddings are multiplied by.
        """
        embedded = self.source_embedding(source.words, mask)
        initial = self.decoder.candidate_weight.new_zeros(source.sizes[0], self.config.hidden)
        units = self.forward_encoder, self.backward_encoder
        inputs = units[0].inputs(embedded), units[1].inputs(embedded)[layout.mirror]
        forward, backward = side_by_side(units, inputs, initial, source.sizes)
        # The backward encoder has read a whole row where the forward one reads its end symbol.
        start = self.initialiser(backward[source.last]).tanh()
        annotations = torch.cat((forward, backward[layout.mirror]), 1)
        keys = self.scorer_keys(annotations).to(annotations.dtype)
        shape = *layout.positions.shape, -1
        positions = layout.positions.flatten()
        annotations, keys = (part.index_select(0, positions).view(shape) for part in (annotations, keys))
        return start, Memory(annotations, keys, layout.padding)

    def weights(self) -> DecoderWeights:
        """The matrices that every step of the decoder uses."""
        unit = self.decoder
        return DecoderWeights(
            self.scorer_state.weight, self.scorer_energy, self.context.weight, unit.gates_weight, unit.candidate_weight
        )

    def _decoded(self, batch: AttentionBatch, masks: Masks = UNMASKED) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Of every target position: the state, context and alpha of ``decode``, and O_y e(y) of the word before."""
        target, first = batch.pairs.target, (0, 0, batch.pairs.pairs, 0)
        start, memory = self.encode(batch.pairs.source, batch.layout, masks.source)
        embedded = rounded(self.target_embedding(target.before, masks.target))
        # At the first step there is no word before.
        offsets = None if self.scorer_word is None else nn.functional.pad(self.scorer_word(embedded), first)
        initial = start.index_select(0, batch.pairs.pairing)
        inputs = self.decoder.inputs(nn.functional.pad(embedded, first) if self.current else embedded)
        found = decode(inputs, offsets, initial, memory, self.weights(), target.sizes, self.current)
        return *found, nn.functional.pad(self.word_readout(embedded), first)

    def forward(self, batch: AttentionBatch) -> Tensor:
        """Natural log p(target | source), end symbol included, of every pair: ``[B]``, in pair order."""
        target, masks = batch.pairs.target, batch.pairs.masks()
        states, contexts, _, words = self._decoded(batch, masks)
        inner = self.before_softmax(states, words, self.context_readout(contexts), masks.readout)
        scores = self.output(inner, target.words, target.rows, batch.vocabulary, words.dtype, batch.pairs.smoothing)
        return batch.pairs.of_pairs(scores)

    @torch.no_grad()
    def alignments(self, batch: AttentionBatch) -> list[np.ndarray]:
        """alpha of every pair, in pair order: float32 ``[target words + 1, source words + 1]``, end symbols last."""
        target, order = batch.pairs.target, batch.pairs.order.cpu().numpy()
        alphas, rows = (part.cpu().numpy() for part in (self._decoded(batch)[2], target.rows))
        lengths = (~batch.layout.padding).sum(1).cpu().numpy()
        by_row = np.split(alphas[np.argsort(rows, kind="stable")], np.cumsum(np.bincount(rows))[:-1])
        return [by_row[row][:, : lengths[row]] for row in np.argsort(order)]

    @torch.no_grad()
    def look(
        self, states: Tensor, words: Tensor | None, memory: Memory, groups: Groups | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """z ``[n, R]`` of the words that may come next, what ``advance`` takes (s_t ``[n, H]``, with the readout
        ``previous`` c_t ``[n, 2H]``) and alpha ``[n, L]``, a row per hypothesis.

        states: s_{t-1}, ``[n, H]``; words: int64 ``[n]``, y_{t-1}, or None at the first step; memory: ``n`` rows, or
        those that ``groups`` names.
        """
        nothing = states.new_zeros(len(states), self.config.embedding)
        embedded = rounded(nothing if words is None else self.target_embedding(words))
        queries = product(states, self.scorer_state.weight.t(), embedded.dtype)
        if self.scorer_word is not None:
            queries = queries + self.scorer_word(embedded)
        alphas, contexts = attend(queries, memory, self.scorer_energy, groups)
        read = self._step(self.decoder.inputs(embedded), contexts, states) if self.current else states
        inner = self.before_softmax(read, self.word_readout(embedded), self.context_readout(contexts))
        return inner, read if self.current else contexts, alphas

    @torch.no_grad()
    def advance(self, states: Tensor, words: Tensor, kept: Tensor) -> Tensor:
        """s_t ``[n, H]`` after y_t = words (int64 ``[n]``), of s_{t-1} and what ``look`` kept."""
        return kept if self.current else self._step(self.decoder.inputs(self.target_embedding(words)), kept, states)

    def _step(self, inputs: Tensor, contexts: Tensor, states: Tensor) -> Tensor:
        """The next states of W e ``[n, 3H]``, c ``[n, 2H]`` and states ``[n, H]``."""
        added = inputs + product(contexts, self.context.weight.t(), inputs.dtype).to(inputs.dtype)
        return self.decoder.step(added, states)
