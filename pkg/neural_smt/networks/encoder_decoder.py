"""The RNN encoder-decoder of Cho et al. (2014): log p(target phrase | source phrase)."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from neural_smt.networks.configuration import EncoderDecoderConfig
from neural_smt.networks.gated_unit import GatedUnit
from neural_smt.networks.packing import Packed, PairBatch
from neural_smt.networks.plain_unit import PlainUnit
from neural_smt.networks.softmax import word_log_probabilities

STANDARD_DEVIATION = 0.01
"""Of the initial weights that are not recurrent (section 4.1.1)."""


@dataclass(frozen=True)
class Context:
    """What the decoder needs of ``B`` source phrases, computed once for each.

    initial: h'_0, ``[B, H]``; inputs: the context terms added to the decoder's inputs, ``[B, 3H]`` (``[B, H]`` of tanh
    units); gated: the term under the reset gate, ``[B, H]``, or None (``Conventions.reset``); readout: O_c c,
    ``[B, 2M]``.
    """

    initial: Tensor
    inputs: Tensor
    gated: Tensor | None
    readout: Tensor

    def take(self, rows: Tensor) -> "Context":
        """The contexts of ``rows`` (int64), in that order."""
        # Several times as fast as indexing.
        initial, inputs, readout = (part.index_select(0, rows) for part in (self.initial, self.inputs, self.readout))
        return Context(initial, inputs, None if self.gated is None else self.gated.index_select(0, rows), readout)


class Embedding(nn.Module):
    """A vector per word plus one learned bias; the gradient of the vectors is sparse."""

    def __init__(self, words: int, dimensions: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(words, dimensions))
        self.bias = nn.Parameter(torch.zeros(dimensions))

    def forward(self, words: Tensor) -> Tensor:
        """``[N]`` ids -> ``[N, dimensions]``."""
        return nn.functional.embedding(words, self.weight, sparse=True) + self.bias


class EncoderDecoder(nn.Module):
    """A recurrent encoder, a recurrent decoder, a maxout readout and a softmax over the shortlist.

    Symbols are those of the paper's supplement. ``H`` hidden units, ``E`` embedding dimensions, ``M`` maxout units of
    two pieces each, rank ``R``, ``V`` target words. Weights are stored as ``[outputs, inputs]``.
    """

    def __init__(self, config: EncoderDecoderConfig, seed: int = 0):
        super().__init__()
        self.config = config
        hidden, embedding, pieces = config.hidden, config.embedding, 2 * config.maxout
        conventions = config.conventions
        self.source_embedding = Embedding(config.source_words, embedding)
        self.target_embedding = Embedding(config.target_words, embedding)
        self.encoder: GatedUnit | PlainUnit
        self.decoder: GatedUnit | PlainUnit
        if config.unit == "gated":
            self.encoder = GatedUnit(embedding, hidden)
            self.decoder = GatedUnit(embedding, hidden, reset_after=conventions.reset == "paper")
        else:
            self.encoder, self.decoder = (PlainUnit(embedding, hidden) for _ in range(2))
        # V
        self.summary = nn.Linear(hidden, hidden) if conventions.summary == "paper" else None
        # V' and its bias
        self.initialiser = nn.Linear(hidden, hidden)
        # C, and C_z, C_r where there are gates
        self.context = nn.Linear(hidden, self.decoder.blocks * hidden, bias=False)
        # O_h and its bias, O_y, O_c
        self.hidden_readout = nn.Linear(hidden, pieces)
        self.word_readout = nn.Linear(embedding, pieces, bias=False)
        self.context_readout = nn.Linear(hidden, pieces, bias=False)
        # G = G_l G_r, and the bias of the softmax
        self.inner = nn.Linear(config.maxout, config.rank, bias=False)
        self.output = nn.Linear(config.rank, config.target_words)
        self._initialise(np.random.default_rng(seed))

    @torch.no_grad()
    def _initialise(self, random: np.random.Generator) -> None:
        """Recurrent matrices: left singular vectors of Gaussian ones; other weights N(0, 0.01^2); biases 0."""
        hidden = self.config.hidden
        for name, parameter in self.named_parameters():
            if name.endswith("bias"):
                values = np.zeros(parameter.shape)
            elif name.endswith(("gates_weight", "candidate_weight")):
                squares = random.standard_normal((len(parameter) // hidden, hidden, hidden))
                values = np.concatenate([np.linalg.svd(square)[0] for square in squares])
            else:
                values = random.normal(0.0, STANDARD_DEVIATION, parameter.shape)
            parameter.copy_(torch.from_numpy(values))

    def encode(self, source: Packed) -> Tensor:
        """c of every row: ``[B, H]``. The encoder starts at 0 and reads the phrase and its end symbol."""
        inputs = self.encoder.inputs(self.source_embedding(source.words))
        initial = self.encoder.candidate_weight.new_zeros(source.sizes[0], self.config.hidden)
        return self.summarise(self.encoder(inputs, initial, source.sizes)[source.last])

    def summarise(self, states: Tensor) -> Tensor:
        """c from the encoder's state after the end symbol, ``[B, H]`` -> ``[B, H]`` (``Conventions.summary``)."""
        return states if self.summary is None else self.summary(states).tanh().to(states.dtype)

    def decoder_context(self, summary: Tensor) -> Context:
        """Everything the decoder reads of c, ``[B, H]``."""
        hidden = self.config.hidden
        terms = self.context(summary)
        gated = None
        if self.decoder.reset_after:
            # Under the reset gate instead of beside it; the sum below must not see it twice.
            gated = terms[:, :hidden].to(summary.dtype)
            terms = nn.functional.pad(terms[:, hidden:], (hidden, 0))
        initial = self.initialiser(summary).tanh().to(summary.dtype)
        return Context(initial, terms, gated, self.context_readout(summary))

    def before_softmax(self, states: Tensor, words: Tensor, context: Tensor) -> Tensor:
        """z = G_r s, where s is the maxout of the readout: ``[N, R]``.

        states: h', ``[N, H]``; words: O_y e(y), ``[N, 2M]``; context: O_c c, ``[N, 2M]``.
        """
        pieces = self.hidden_readout(states) + words + context
        return self.inner(torch.maximum(pieces[:, 0::2], pieces[:, 1::2])).to(states.dtype)

    def forward(self, batch: PairBatch) -> Tensor:
        """Natural log p(target | source), end symbol included, of every pair of the batch: ``[B]``, in pair order."""
        target = batch.target
        context = self.decoder_context(self.encode(batch.source)).take(batch.pairing)
        embedded = self.target_embedding(target.words[target.previous])
        inputs = self.decoder.inputs(embedded) + context.inputs[target.rows[batch.pairs :]]
        sizes = target.sizes[1:]
        initial = context.initial
        if self.config.conventions.first_step == "paper":
            nothing = embedded.new_zeros(batch.pairs, embedded.shape[1])
            inputs = torch.cat((self.decoder.inputs(nothing) + context.inputs, inputs))
            sizes = target.sizes
        states = self.decoder(inputs, initial, sizes, context.gated)
        if self.config.conventions.first_step == "code":
            states = torch.cat((initial, states))
        words = nn.functional.pad(self.word_readout(embedded), (0, 0, batch.pairs, 0))
        inner = self.before_softmax(states, words, context.readout[target.rows])
        scores = word_log_probabilities(inner, self.output.weight, self.output.bias, target.words, words.dtype)
        return torch.zeros_like(initial[:, 0]).index_add(0, batch.order[target.rows], scores)
