"""Layers of recurrent networks: word embeddings, and hidden units with their gradient (Cho et al. 2014, section 2.3).

The gated unit remembers and forgets (equations 5-8); the plain tanh unit, h_t = tanh(W e(x_t) + U h_{t-1}), is what the
paper gave gates to. A recurrence is one autograd function: the forward pass writes into arrays made once, and the
backward pass collects the gradient of each recurrent matrix in one product over all steps instead of one per step.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from neural_smt.networks.device import Linear, affine, compilable, linear, product, table_rows


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
        terms = linear(embedded, self.input_weight)
        return terms + nn.functional.pad(self.input_bias, (0, (self.blocks - 1) * self.hidden)).to(terms.dtype)

    def forward(self, inputs: Tensor, initial: Tensor, sizes: list[int], gated: Tensor | None = None) -> Tensor:
        """States after every step of packed sequences: ``[N, H]``.

        inputs: ``[N, 3H]``, everything added inside the candidate and the gates but the recurrent terms; initial:
        ``[B, H]``; sizes: rows alive at each step; gated: ``[B, H]``, the context term under the reset gate (only with
        ``reset_after``).
        """
        return _Recurrence.apply(inputs, initial, self.gates_weight, self.candidate_weight, gated, sizes)

    def step(self, inputs: Tensor, state: Tensor, gated: Tensor | None = None) -> Tensor:
        """The state after one step, without gradient: inputs ``[n, 3H]``, state ``[n, H]`` -> ``[n, H]``."""
        return advanced(inputs, state, gated, (self.gates_weight, self.candidate_weight))[-1]


class PlainUnit(GatedUnit):
    """``H`` tanh units fed by embeddings of ``E`` dimensions: ``GatedUnit`` without gates, and without their terms."""

    blocks = 1


def advanced(inputs: Tensor, state: Tensor, gated: Tensor | None, weights: Sequence[Any]) -> list[Tensor]:
    """What ``_advance`` writes, in arrays of its own; of a plain unit (no weights of gates) the new states alone."""
    if weights[0] is None:
        return [affine(inputs, state, weights[1]).tanh_()]
    parts = [state.new_empty(len(state), width * state.shape[1]) for width in (2, 1, 1, 1)]
    _advance(inputs, state, gated, weights, parts)
    return parts


@compilable
def _advance(
    inputs: Tensor, state: Tensor, gated: Tensor | None, weights: Sequence[Tensor], written: Sequence[Tensor]
) -> None:
    """A step of gated units: writes the gates ``[n, 2H]``, r * h or U h + gated, the candidates, and the new states.

    weights: of the gates, of the candidate.
    """
    (gates, products, candidates, states), (gates_weight, candidate_weight) = written, weights
    hidden = state.shape[1]
    affine(inputs[:, hidden:], state, gates_weight, out=gates).sigmoid_()
    update, reset = gates[:, :hidden], gates[:, hidden:]
    if gated is None:
        torch.mul(reset, state, out=products)
        affine(inputs[:, :hidden], products, candidate_weight, out=candidates)
    else:
        affine(gated, state, candidate_weight, out=products)
        torch.addcmul(inputs[:, :hidden], reset, products, out=candidates)
    torch.lerp(state, candidates.tanh_(), update, out=states)


@compilable
def retreat(
    d_new: Tensor, kept: Sequence[Tensor], weights: Sequence[Tensor], dtype: torch.dtype, written: Sequence[Any]
) -> None:
    """The gradient of a step, from that of its state: writes those of the inputs, U h + gated (or None), and the state
    before.

    kept: the state before, the gates, the candidates, r * h or U h + gated; weights: of the gates, of the candidate.
    """
    (state, gates, candidate, products), (gates_weight, candidate_weight) = kept, weights
    d_inputs, d_products, d_state = written
    hidden = state.shape[1]
    update, reset = gates[:, :hidden], gates[:, hidden:]
    d_candidate, d_gate, d_other = d_inputs.split(hidden, 1)
    d_update = d_new * update
    torch.ops.aten.tanh_backward.grad_input(d_update, candidate, grad_input=d_candidate)
    d_old = d_new - d_update
    torch.ops.aten.sigmoid_backward.grad_input(d_new.mul_(candidate - state), update, grad_input=d_gate)
    if d_products is not None:
        torch.mul(d_candidate, reset, out=d_products)
        d_reset = d_candidate * products
        d_old += product(d_products, candidate_weight, dtype)
    else:
        d_product = product(d_candidate, candidate_weight, dtype)
        d_reset = d_product * state
        d_old.addcmul_(d_product, reset)
    torch.ops.aten.sigmoid_backward.grad_input(d_reset, reset, grad_input=d_other)
    torch.add(d_old, product(d_inputs[:, hidden:], gates_weight, dtype), out=d_state)


class _Recurrence(torch.autograd.Function):
    """h_t = u * tanh(x + U (r * h)) + (1 - u) * h, or with ``gated`` tanh(x + r * (U h + gated)); see ``GatedUnit``.

    Without gates h_t = tanh(x + U h): what is kept as r * h and as the candidate are the states before and after.
    """

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, initial: Tensor, *rest: Any) -> Tensor:
        gates_weight, candidate_weight, gated, sizes = rest
        plain, total, hidden = gates_weight is None, sum(sizes), initial.shape[1]
        states, previous, *others = (initial.new_empty(total, hidden) for _ in range(2 if plain else 4))
        # rounded once for all steps
        given = gates_weight, candidate_weight
        weights: list[Any] = [None if weight is None else weight.to(inputs.dtype) for weight in given]
        products, candidates = others or (previous, states)
        gates = None if plain else initial.new_empty(total, 2 * hidden)
        state, start = initial, 0
        for size in sizes:
            here = slice(start, start + size)
            previous[here] = state[:size]
            if gates is None:
                affine(inputs[here], state[:size], weights[1], out=states[here]).tanh_()
            else:
                context = None if gated is None else gated[:size]
                written = gates[here], products[here], candidates[here], states[here]
                _advance(inputs[here], previous[here], context, weights, written)
            state = states[here]
            start += size
        ctx.save_for_backward(previous, gates, candidates, products, *weights)
        ctx.sizes, ctx.rows, ctx.gated, ctx.dtype = sizes, len(initial), gated is not None, inputs.dtype
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_states: Tensor) -> tuple[Tensor | None, ...]:
        previous, gates, candidates, products, *weights = ctx.saved_tensors
        hidden, dtype, plain = previous.shape[1], ctx.dtype, gates is None
        d_inputs = previous.new_empty(len(previous), (1 if plain else 3) * hidden)
        d_products = torch.empty_like(products) if ctx.gated else None
        d_state, start = previous.new_zeros(ctx.rows, hidden), len(previous)
        for size in reversed(ctx.sizes):
            start -= size
            here = slice(start, start + size)
            d_new = d_states[here] + d_state[:size]
            if plain:
                d_inputs[here] = torch.ops.aten.tanh_backward(d_new, candidates[here])
                d_state[:size] = product(d_inputs[here], weights[1], dtype)
            else:
                kept = previous[here], gates[here], candidates[here], products[here]
                written = d_inputs[here], None if d_products is None else d_products[here], d_state[:size]
                retreat(d_new, kept, weights, dtype, written)
        d_gates_weight = None if plain else product(d_inputs[:, hidden:].t(), previous, dtype)
        if d_products is None:
            d_candidate_weight = product(d_inputs[:, :hidden].t(), products, dtype)
            return d_inputs.to(dtype), d_state, d_gates_weight, d_candidate_weight, None, None
        d_candidate_weight = product(d_products.t(), previous, dtype)
        d_gated = torch.zeros_like(d_state)
        start = 0
        for size in ctx.sizes:
            d_gated[:size] += d_products[start : start + size]
            start += size
        return d_inputs.to(dtype), d_state, d_gates_weight, d_candidate_weight, d_gated, None


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
        self.inner = Linear(config.maxout, config.rank, bias=False)

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
        units = torch.maximum(pieces[:, 0::2], pieces[:, 1::2])
        return self.inner(units if mask is None else units * mask).to(states.dtype)
