"""The plain tanh unit, h_t = tanh(W e(x_t) + U h_{t-1}), which Cho et al. (2014, section 2.3) gave gates to.

The recurrence is one autograd function, as that of the gated unit is, and for the same reason.
"""

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from neural_smt.networks.precision import affine, product


class PlainUnit(nn.Module):
    """``H`` tanh units fed by embeddings of ``E`` dimensions; the interface is that of ``GatedUnit``.

    input_weight: ``[H, E]``, W; input_bias: ``[H]``; candidate_weight: ``[H, H]``, U.
    """

    blocks = 1
    """Terms of ``H`` numbers that an input adds: there are no gates."""
    reset_after = False

    def __init__(self, embedding: int, hidden: int):
        super().__init__()
        self.hidden = hidden
        self.input_weight = nn.Parameter(torch.empty(hidden, embedding))
        self.input_bias = nn.Parameter(torch.zeros(hidden))
        self.candidate_weight = nn.Parameter(torch.empty(hidden, hidden))

    def inputs(self, embedded: Tensor) -> Tensor:
        """W e with its bias: ``[N, E] -> [N, H]``, all steps in one product."""
        terms = nn.functional.linear(embedded, self.input_weight)
        return terms + self.input_bias.to(terms.dtype)

    def forward(self, inputs: Tensor, initial: Tensor, sizes: list[int], gated: None = None) -> Tensor:
        """States after every step of packed sequences: ``[N, H]``.

        inputs: ``[N, H]``, everything inside the tanh but the recurrent term; initial: ``[B, H]``; sizes: rows alive
        at each step.
        """
        return _Recurrence.apply(inputs, initial, self.candidate_weight, sizes)

    def step(self, inputs: Tensor, state: Tensor, gated: None = None) -> Tensor:
        """The state after one step, without gradient: inputs ``[n, H]``, state ``[n, H]`` -> ``[n, H]``."""
        return affine(inputs, state, self.candidate_weight).tanh_()


class _Recurrence(torch.autograd.Function):
    """h_t = tanh(x_t + U h_{t-1}); the gradient of U is one product over all steps."""

    @staticmethod
    def forward(ctx, inputs, initial, candidate_weight, sizes):
        total = sum(sizes)
        states, previous = (initial.new_empty(total, initial.shape[1]) for _ in range(2))
        state, start = initial, 0
        for size in sizes:
            here = slice(start, start + size)
            previous[here] = state[:size]
            state = affine(inputs[here], state[:size], candidate_weight, out=states[here]).tanh_()
            start += size
        ctx.save_for_backward(states, previous, candidate_weight)
        ctx.sizes, ctx.rows, ctx.dtype = sizes, len(initial), inputs.dtype
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx, d_states):
        states, previous, candidate_weight = ctx.saved_tensors
        d_inputs = torch.empty_like(states)
        d_state = states.new_zeros(ctx.rows, states.shape[1])
        start = len(states)
        for size in reversed(ctx.sizes):
            start -= size
            here = slice(start, start + size)
            d_inputs[here] = torch.ops.aten.tanh_backward(d_states[here] + d_state[:size], states[here])
            d_state[:size] = product(d_inputs[here], candidate_weight, ctx.dtype)
        d_candidate_weight = product(d_inputs.t(), previous, ctx.dtype)
        return d_inputs.to(ctx.dtype), d_state, d_candidate_weight, None
