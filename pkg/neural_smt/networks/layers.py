"""Layers of recurrent networks: word embeddings, and hidden units with their gradient (Cho et al. 2014, section 2.3).

The gated unit remembers and forgets (equations 5-8); the plain tanh unit, h_t = tanh(W e(x_t) + U h_{t-1}), is what the
paper gave gates to.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from neural_smt.networks.device import ExactLinear, Linear, linear, table_rows
from neural_smt.networks.recurrence import GatedRecurrence, OtherRecurrence, kernels_of


class GatedUnit(nn.Module):
    """``H`` gated hidden units fed by embeddings of ``E`` dimensions.

    input_weight: ``[3H, E]``, W of the candidate, then of the update gate, then of the reset gate; input_bias:
    ``[H]``, of the candidate only; gates_weight: ``[2H, H]``, U of the update gate, then of the reset gate;
    candidate_weight: ``[H, H]``, U. With ``reset_after`` the reset gate multiplies U h and a context term
    (``Conventions.reset = paper``), otherwise it multiplies h.
    """

    blocks = 3
    """Terms of ``H`` numbers that an input adds: to the candidate, the update gate and the reset gate."""
    gates_weight: Any

    def __init__(self, embedding: int, hidden: int, reset_after: bool = False):
        super().__init__()
        self.hidden, self.reset_after = hidden, reset_after
        self.input_weight = nn.Parameter(torch.empty(self.blocks * hidden, embedding))
        self.input_bias = nn.Parameter(torch.zeros(hidden))
        gates = nn.Parameter(torch.empty((self.blocks - 1) * hidden, hidden)) if self.blocks > 1 else None
        self.register_parameter("gates_weight", gates)
        self.candidate_weight = nn.Parameter(torch.empty(hidden, hidden))

    def inputs(self, embedded: Tensor) -> Tensor:
        """W e for the candidate (bias added) and both gates: ``[N, E] -> [N, 3H]``, all steps in one product."""
        bias = nn.functional.pad(self.input_bias, (0, (self.blocks - 1) * self.hidden))
        return linear(embedded, self.input_weight, bias)

    def forward(self, inputs: Tensor, initial: Tensor, sizes: list[int], gated: Tensor | None = None) -> Tensor:
        """States after every step of packed sequences: ``[N, H]``.

        inputs: ``[N, 3H]``, everything added inside the candidate and the gates but the recurrent terms; initial:
        ``[B, H]``; sizes: rows alive at each step; gated: ``[B, H]``, the context term under the reset gate (only with
        ``reset_after``).
        """
        weights = self.gates_weight, self.candidate_weight
        if self.blocks == 1 or gated is not None:
            return OtherRecurrence.apply(inputs, initial, *weights, gated, sizes)
        return GatedRecurrence.apply(inputs, initial, *weights, sizes)

    def step(self, inputs: Tensor, state: Tensor, gated: Tensor | None = None) -> Tensor:
        """The state after one step, without gradient: inputs ``[n, 3H]``, state ``[n, H]`` -> ``[n, H]``."""
        return self(inputs, state, [len(state)], gated)


class PlainUnit(GatedUnit):
    """``H`` tanh units fed by embeddings of ``E`` dimensions: ``GatedUnit`` without gates, and without their terms."""

    blocks = 1


def side_by_side(
    units: Sequence[GatedUnit], inputs: Sequence[Tensor], initial: Tensor, sizes: list[int]
) -> list[Tensor]:
    """What each of several units makes of its own inputs, as ``GatedUnit.forward``; on a GPU in the same kernels."""
    if not kernels_of(initial):
        return [unit(terms, initial, sizes) for unit, terms in zip(units, inputs, strict=True)]
    weights = (torch.stack(part) for part in zip(*((u.gates_weight, u.candidate_weight) for u in units), strict=True))
    start = initial.expand(len(units), *initial.shape)
    return list(GatedRecurrence.apply(torch.stack(list(inputs)), start, *weights, sizes))


STANDARD_DEVIATION = 0.01
"""Of the initial weights that are not recurrent (section 4.1.1)."""


def orthogonal(random: np.random.Generator, parameter: Tensor) -> np.ndarray:
    """Initial values of recurrent matrices ``[k H, H]`` one above the other: left singular vectors of Gaussian ones."""
    hidden = parameter.shape[1]
    squares = random.standard_normal((len(parameter) // hidden, hidden, hidden))
    return np.concatenate([np.linalg.svd(square)[0] for square in squares])


class Embedding(nn.Module):
    """A vector per word plus one learned bias; the gradient of the vectors is that of ``table_rows``."""

    def __init__(self, words: int, dimensions: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(words, dimensions))
        self.bias = nn.Parameter(torch.zeros(dimensions))

    def forward(self, words: Tensor, mask: Tensor | None = None) -> Tensor:
        """``[N]`` ids -> ``[N, dimensions]``, multiplied by a mask of that shape."""
        vectors = table_rows(self.weight, words) + self.bias
        return vectors if mask is None else vectors * mask


class _Maxout(torch.autograd.Function):
    """The larger of every two neighbours, ``[N, 2M]`` -> ``[N, M]``; of equal ones the first gets the gradient."""

    @staticmethod
    def forward(ctx: Any, pieces: Tensor) -> Tensor:
        one, other = pieces[:, 0::2], pieces[:, 1::2]
        ctx.save_for_backward(one >= other)
        return torch.maximum(one, other)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_units: Tensor) -> Tensor:
        (first,) = ctx.saved_tensors
        d_pieces = d_units.new_empty(len(d_units), 2 * d_units.shape[1])
        torch.mul(d_units, first, out=d_pieces[:, 0::2])
        torch.sub(d_units, d_pieces[:, 0::2], out=d_pieces[:, 1::2])
        return d_pieces


class MaxoutNetwork(nn.Module):
    """What networks that read a source have in common: words of both sides, and a maxout readout before the softmax.

    ``H`` hidden units, ``E`` embedding dimensions, ``M`` maxout units of two pieces each, rank ``R``, as the
    configuration names them.
    """

    tables: ClassVar[tuple[str, ...]] = (
        "source_embedding.weight",
        "target_embedding.weight",
        "output.weight",
        "output.bias",
    )

    def __init__(self, config: Any):
        super().__init__()
        self.config = config
        self.source_embedding = Embedding(config.source_words, config.embedding)
        self.target_embedding = Embedding(config.target_words, config.embedding)

    def add_readout(self, context: int) -> None:
        """The layers of the readout; context: dimensions of c."""
        config, pieces = self.config, 2 * self.config.maxout
        # O_h and its bias, O_y, O_c, G_r
        self.hidden_readout = Linear(config.hidden, pieces)
        self.word_readout = Linear(config.embedding, pieces, bias=False)
        self.context_readout = Linear(context, pieces, bias=False)
        self.inner = ExactLinear(config.maxout, config.rank, bias=False)

    @torch.no_grad()
    def _initialise(self, random: np.random.Generator) -> None:
        """Recurrent matrices: left singular vectors of Gaussian ones; biases and v: 0; other weights: ``_draw``."""
        for name, parameter in self.named_parameters():
            if name.endswith(("bias", "energy")):
                parameter.zero_()
            elif name.endswith(("gates_weight", "candidate_weight")):
                parameter.copy_(torch.from_numpy(orthogonal(random, parameter)))
            else:
                self._draw(random, name, parameter)

    def _draw(self, random: np.random.Generator, name: str, parameter: Tensor) -> None:
        """Initial values of other weights: N(0, 0.01^2)."""
        parameter.copy_(torch.from_numpy(random.normal(0.0, STANDARD_DEVIATION, parameter.shape)))

    def before_softmax(self, states: Tensor, words: Tensor, context: Tensor, mask: Tensor | None = None) -> Tensor:
        """z = G_r s, where s is the maxout of the readout: ``[N, R]``.

        states: of the decoder, ``[N, H]``; words: O_y e(y), ``[N, 2M]``; context: O_c c, ``[N, 2M]``; mask: ``[N, M]``,
        what s is multiplied by.
        """
        pieces = self.hidden_readout(states) + words + context
        units = _Maxout.apply(pieces)
        return self.inner(units if mask is None else units * mask)
