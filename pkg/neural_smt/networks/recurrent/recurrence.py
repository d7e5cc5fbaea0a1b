"""The hidden layer over time, forward and backward: the only part of the recurrent model that goes step by step."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


class Recurrence(torch.autograd.Function):
    """h_t = s(x_t + W h_{t-1}) over packed steps, with h_{-1} = 0; one product a step for W, one in all for its
    gradient.

    Backpropagation through time is truncated by cutting sentences into chunks of ``bptt`` steps: the state goes on from
    chunk to chunk, the gradient does not (0: sentences stay whole). So a sentence of up to ``bptt`` predictions is
    trained in full, and of a longer one each state sees errors of at least one and at most ``bptt`` steps. ``cutoff``
    limits every number of the error that reaches the sums of the hidden layer, as the RNNLM toolkit does (0: no limit).
    """

    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any, sums: Tensor, weight: Tensor, sizes: list[int], bptt: int, cutoff: float
    ) -> Tensor:
        """sums: x, ``[N, H]``; weight: W, ``[H, H]``, outputs first; sizes: rows of each step. Returns ``[N, H]``."""
        states = torch.empty_like(sums)
        turned, start, before = weight.t(), 0, None
        for size in sizes:
            here = slice(start, start + size)
            if before is None:
                torch.sigmoid(sums[here], out=states[here])
            else:
                torch.addmm(sums[here], before[:size], turned, out=states[here]).sigmoid_()
            before, start = states[here], start + size
        ctx.save_for_backward(states, weight)
        ctx.sizes, ctx.bptt, ctx.cutoff = sizes, bptt, cutoff
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        states, weight = ctx.saved_tensors
        sizes, bptt, cutoff = ctx.sizes, ctx.bptt, ctx.cutoff
        errors = torch.empty_like(states)
        later, start = None, len(states)
        for step in range(len(sizes) - 1, -1, -1):
            size = sizes[step]
            start -= size
            here = slice(start, start + size)
            reached = gradient[here]
            if later is not None and not (bptt and (step + 1) % bptt == 0):
                reached = reached.clone()
                reached[: len(later)].addmm_(later, weight)
            torch.ops.aten.sigmoid_backward.grad_input(reached, states[here], grad_input=errors[here])
            if cutoff:
                errors[here].clamp_(-cutoff, cutoff)
            later = errors[here]
        # row i of the later steps follows row i of the step before
        before = [states[sum(sizes[:step]) :][:size] for step, size in enumerate(sizes[1:])]
        if not before:
            return errors, torch.zeros_like(weight), None, None, None
        return errors, errors[sizes[0] :].t() @ torch.cat(before), None, None, None
