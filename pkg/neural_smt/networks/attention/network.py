"""The attention network: log p(target sentence | source sentence) over all words or over those of a batch."""

import numpy as np
import torch
from torch import Tensor, nn

from neural_smt.networks.attention.batches import AttentionBatch, SourceLayout
from neural_smt.networks.attention.configuration import AttentionConfig
from neural_smt.networks.attention.decoder_step import DecoderWeights, Memory, attend, transition
from neural_smt.networks.attention.groups import Groups
from neural_smt.networks.attention.recurrence import decode
from neural_smt.networks.attention.softmax import LimitedOutput
from neural_smt.networks.encoder_decoder import STANDARD_DEVIATION, Embedding
from neural_smt.networks.gated_unit import GatedUnit
from neural_smt.networks.packing import Packed
from neural_smt.networks.precision import product

SCORER_DEVIATION = 0.001
"""Of the initial weights A, B and C of the scorer; v starts at 0 (GroundHog)."""

BLOCK = 1 << 14
"""Rows of weights drawn at a time: no second copy of a large vocabulary's."""


class AttentionNetwork(nn.Module):
    """Encoders that read forwards and backwards, a scorer, a decoder, a maxout readout and a softmax.

    Conventions are those of GroundHog's ``prototype_search_state``: the word y_t is predicted from s_{t-1}, c_t and
    y_{t-1} (nothing at the first step), then s_t = GRU(s_{t-1}, y_t, c_t), where Mi et al. (2016, equations 1 and 2)
    write s_t and s_{t-1}; s_0 = tanh(W h<-_1 + b); no bias in the scorer. ``H`` hidden units, ``E`` embedding
    dimensions, ``K`` units of the scorer, ``M`` maxout units of two pieces each, rank ``R``, ``V`` target words.
    Weights are stored as ``[outputs, inputs]``.
    """

    def __init__(self, config: AttentionConfig, seed: int = 0):
        super().__init__()
        self.config = config
        hidden, embedding, pieces = config.hidden, config.embedding, 2 * config.maxout
        self.source_embedding = Embedding(config.source_words, embedding)
        self.target_embedding = Embedding(config.target_words, embedding)
        self.forward_encoder = GatedUnit(embedding, hidden)
        self.backward_encoder = GatedUnit(embedding, hidden)
        # W and b of s_0
        self.initialiser = nn.Linear(hidden, hidden)
        # A, B, C and v of r(s_{t-1}, h_j, y*_{t-1}) = v . tanh(A h_j + B s_{t-1} + C y*_{t-1})
        self.scorer_keys = nn.Linear(2 * hidden, config.attention, bias=False)
        self.scorer_state = nn.Linear(hidden, config.attention, bias=False)
        self.scorer_word = nn.Linear(embedding, config.attention, bias=False) if config.word_in_scorer else None
        self.scorer_energy = nn.Parameter(torch.zeros(config.attention))
        self.decoder = GatedUnit(embedding, hidden)
        # C, C_z, C_r
        self.context = nn.Linear(2 * hidden, 3 * hidden, bias=False)
        # O_h and its bias, O_y, O_c
        self.hidden_readout = nn.Linear(hidden, pieces)
        self.word_readout = nn.Linear(embedding, pieces, bias=False)
        self.context_readout = nn.Linear(2 * hidden, pieces, bias=False)
        # G = G_l G_r, and the bias of the softmax
        self.inner = nn.Linear(config.maxout, config.rank, bias=False)
        self.output = LimitedOutput(config.rank, config.target_words)
        self._initialise(np.random.default_rng(seed))

    @torch.no_grad()
    def _initialise(self, random: np.random.Generator) -> None:
        """Recurrent matrices: left singular vectors of Gaussian ones; A, B, C: N(0, 0.001^2); v and biases: 0; other
        weights: N(0, 0.01^2).
        """
        hidden = self.config.hidden
        for name, parameter in self.named_parameters():
            if name.endswith(("bias", "energy")):
                parameter.zero_()
            elif name.endswith(("gates_weight", "candidate_weight")):
                squares = random.standard_normal((len(parameter) // hidden, hidden, hidden))
                parameter.copy_(torch.from_numpy(np.concatenate([np.linalg.svd(square)[0] for square in squares])))
            else:
                deviation = SCORER_DEVIATION if name.startswith("scorer") else STANDARD_DEVIATION
                for block in parameter.split(BLOCK):
                    block.copy_(torch.from_numpy(random.standard_normal(block.shape, np.float32))).mul_(deviation)

    def encode(self, source: Packed, layout: SourceLayout) -> tuple[Tensor, Memory]:
        """s_0 of every row of ``source``, ``[B, H]``, and the memory of every row of ``layout``."""
        embedded = self.source_embedding(source.words)
        initial = self.decoder.candidate_weight.new_zeros(source.sizes[0], self.config.hidden)
        forward = self.forward_encoder(self.forward_encoder.inputs(embedded), initial, source.sizes)
        inputs = self.backward_encoder.inputs(embedded)[layout.mirror]
        backward = self.backward_encoder(inputs, initial, source.sizes)
        # The backward encoder has read a whole row where the forward one reads its end symbol.
        start = self.initialiser(backward[source.last]).tanh().to(backward.dtype)
        annotations = torch.cat((forward, backward[layout.mirror]), 1)
        keys = self.scorer_keys(annotations).to(annotations.dtype)
        shape = *layout.positions.shape, -1
        positions = layout.positions.flatten()
        parts = (part.index_select(0, positions).view(shape) for part in (annotations, keys))
        return start, Memory(*parts, layout.padding)

    def weights(self) -> DecoderWeights:
        """The matrices that every step of the decoder uses."""
        unit = self.decoder
        return DecoderWeights(
            self.scorer_state.weight, self.scorer_energy, self.context.weight, unit.gates_weight, unit.candidate_weight
        )

    def _decoded(self, batch: AttentionBatch) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Of every target position: the state, context and alpha of ``decode``, and O_y e(y) of the word before."""
        target, first = batch.pairs.target, (0, 0, batch.pairs.pairs, 0)
        start, memory = self.encode(batch.pairs.source, batch.layout)
        embedded = self.target_embedding(target.words[target.previous])
        # At the first step there is no word before.
        offsets = None if self.scorer_word is None else nn.functional.pad(self.scorer_word(embedded), first)
        initial = start.index_select(0, batch.pairs.pairing)
        found = decode(self.decoder.inputs(embedded), offsets, initial, memory, self.weights(), target.sizes)
        return *found, nn.functional.pad(self.word_readout(embedded), first)

    def before_softmax(self, states: Tensor, contexts: Tensor, words: Tensor) -> Tensor:
        """z = G_r s, where s is the maxout of the readout: ``[N, R]``.

        states: s_{t-1}, ``[N, H]``; contexts: c_t, ``[N, 2H]``; words: O_y e(y_{t-1}), ``[N, 2M]``.
        """
        pieces = self.hidden_readout(states) + words + self.context_readout(contexts)
        return self.inner(torch.maximum(pieces[:, 0::2], pieces[:, 1::2])).to(states.dtype)

    def forward(self, batch: AttentionBatch) -> Tensor:
        """Natural log p(target | source), end symbol included, of every pair: ``[B]``, in pair order."""
        target = batch.pairs.target
        states, contexts, _, words = self._decoded(batch)
        inner = self.before_softmax(states, contexts, words)
        scores = self.output(inner, target.words, target.rows, batch.vocabulary, words.dtype)
        return torch.zeros_like(states[: batch.pairs.pairs, 0]).index_add(0, batch.pairs.order[target.rows], scores)

    @torch.no_grad()
    def alignments(self, batch: AttentionBatch) -> list[np.ndarray]:
        """alpha of every pair, in pair order: float32 ``[target words + 1, source words + 1]``, end symbols last."""
        target, order = batch.pairs.target, batch.pairs.order.cpu().numpy()
        alphas, rows = (part.cpu().numpy() for part in (self._decoded(batch)[2], target.rows))
        lengths = (~batch.layout.padding).sum(1).cpu().numpy()
        by_row = np.split(alphas[np.argsort(rows, kind="stable")], np.cumsum(np.bincount(rows))[:-1])
        found = [np.empty(0)] * len(order)
        for row, pair in enumerate(order):
            found[pair] = by_row[row][:, : lengths[row]]
        return found

    @torch.no_grad()
    def look(
        self, states: Tensor, words: Tensor | None, memory: Memory, groups: Groups | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """z ``[n, R]`` of the words that may come next, c ``[n, 2H]`` and alpha ``[n, L]``, a row per hypothesis.

        states: s_{t-1}, ``[n, H]``; words: int64 ``[n]``, y_{t-1}, or None at the first step; memory: ``n`` rows, or
        those that ``groups`` names.
        """
        embedded = states.new_zeros(len(states), self.config.embedding)
        if words is not None:
            embedded = self.target_embedding(words)
        dtype = self.decoder.inputs(embedded).dtype
        queries = product(states, self.scorer_state.weight.t(), dtype)
        if self.scorer_word is not None:
            queries = queries + self.scorer_word(embedded)
        alphas, contexts = attend(queries, memory, self.scorer_energy, groups)
        return self.before_softmax(states, contexts, self.word_readout(embedded)), contexts, alphas

    @torch.no_grad()
    def advance(self, states: Tensor, words: Tensor, contexts: Tensor) -> Tensor:
        """s_t ``[n, H]`` after y_t = words (int64 ``[n]``), of s_{t-1} and the c_t that ``look`` gave."""
        inputs = self.decoder.inputs(self.target_embedding(words))
        added = inputs + product(contexts, self.context.weight.t(), inputs.dtype).to(inputs.dtype)
        return transition(added, states, self.weights())[0]
