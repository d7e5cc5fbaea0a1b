"""Recurrences of hidden units over packed sequences, with their gradient (Cho et al. 2014, section 2.3).

A recurrence is one autograd function: the forward pass writes into arrays made once, and the backward pass collects the
gradient of each recurrent matrix in one product over all steps instead of one per step. Factors of products are rounded
where they are written. Between its products a step of gated units is two functions forwards and two backwards, on a GPU
a kernel each.
"""

from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from neural_smt.networks import cpu_kernels
from neural_smt.networks.device import affine, product


@cache
def _kernels() -> Any:
    """The kernels for GPUs, or None without Triton, which comes with PyTorch for CUDA."""
    if find_spec("triton") is None:
        return None
    from neural_smt.networks import triton_kernels

    return triton_kernels


def kernels_of(tensor: Tensor) -> Any:
    """The kernels that compute with an array like this one, or None."""
    return _kernels() if tensor.is_cuda and tensor.dtype == torch.float32 else None


def step_kernels(state: Tensor, *others: Tensor | None) -> Any:
    """The kernels of a step of one unit, or of several side by side on a GPU, or None; others: what may be rounded."""
    if state.device.type == "cpu" and state.dim() == 2:
        exact = all(array is None or array.dtype == torch.float32 for array in (state, *others))
        return cpu_kernels if exact else None
    return kernels_of(state)


def open_gates(terms: Tensor, sums: Tensor, state: Tensor, gates: Tensor, products: Tensor) -> None:
    """Write gates = sigmoid(terms + sums), update before reset, ``[n, 2H]``, and products = reset * state, ``[n, H]``.

    terms: what the inputs add to the candidate and both gates, ``[n, 3H]``; sums: U h of the gates, ``[n, 2H]``; state:
    h, ``[n, H]``. In this module all arrays of a step may have a first dimension more, of units side by side.
    """
    if kernels := step_kernels(state, terms, sums, products):
        return kernels.open_gates(terms, sums, state, gates, products)
    hidden = state.shape[-1]
    torch.add(terms[..., hidden:], sums, out=gates).sigmoid_()
    torch.mul(gates[..., hidden:], state, out=products)


def move(
    terms: Tensor, sums: Tensor, state: Tensor, gates: Tensor, candidates: Tensor, states: Tensor | None,
    next_state: Tensor, next_factor: Tensor | None,
) -> None:  # fmt: skip
    """Write candidates = tanh(terms + sums), ``[n, H]``, and the new states u * candidate + (1 - u) * h.

    sums: U (r * h), ``[n, H]``; states: ``[n, H]``, where all new states go, if anywhere; next_state, next_factor:
    ``[m, H]``, where those go that there is a next step for, the first ones, and what they are as factors (None: the
    same).
    """
    if kernels := step_kernels(state, terms, sums, next_factor):
        return kernels.move(terms, sums, state, gates, candidates, states, next_state, next_factor)
    hidden, following = state.shape[-1], next_state.shape[-2]
    torch.add(terms[..., :hidden], sums, out=candidates).tanh_()
    new = torch.lerp(state, candidates, gates[..., :hidden], out=states)
    _pass_on(new[..., :following, :], next_state, next_factor)


def _pass_on(states: Tensor, next_state: Tensor, next_factor: Tensor | None) -> None:
    next_state.copy_(states)
    if next_factor is not None:
        next_factor.copy_(states)


def begin_retreat(
    d_states: Tensor, d_old: Tensor, sums: Tensor | None, others: Tensor | None, kept: tuple[Tensor, ...],
    d_terms: Tensor,
) -> None:  # fmt: skip
    """From the gradient of new states write those of the candidate's and the update gate's terms, and what the old
    state gets past them.

    d_states: ``[n, H]``, of the states as they are read elsewhere; d_old: ``[B, H]``, what the next step has left there
    of its first rows, and what is written; sums, others: ``[m, H]`` and ``[l, H]``, what its products add to its first
    rows, or None; kept: the state before, the gates, the candidates; d_terms: ``[n, 3H]``.
    """
    if kernels := step_kernels(d_states, sums, others, d_terms):
        return kernels.begin_retreat(d_states, d_old, sums, others, kept, d_terms)
    state, gates, candidates = kept
    rows, hidden = state.shape[-2:]
    d_new = d_states.clone()
    for more in (others, sums, None if sums is None else d_old[..., : sums.shape[-2], :]):
        if more is not None:
            d_new[..., : more.shape[-2], :].add_(more)
    update = gates[..., :hidden]
    d_candidate = d_new * update
    torch.sub(d_new, d_candidate, out=d_old[..., :rows, :])
    _write(torch.ops.aten.tanh_backward, d_candidate, candidates, d_terms[..., :hidden])
    _write(torch.ops.aten.sigmoid_backward, d_new.mul_(candidates - state), update, d_terms[..., hidden : 2 * hidden])


def _write(gradient: Any, d_output: Tensor, output: Tensor, d_input: Tensor) -> None:
    """The gradient of what a function was given, in place where it is not rounded."""
    if d_input.dtype == d_output.dtype:
        gradient.grad_input(d_output, output, grad_input=d_input)
    else:
        d_input.copy_(gradient(d_output, output))


def end_retreat(d_products: Tensor, state: Tensor, gates: Tensor, d_terms: Tensor, d_old: Tensor) -> None:
    """From the gradient of r * h, ``[n, H]``, write that of the reset gate's terms and add to ``d_old``."""
    if kernels := step_kernels(d_products, d_terms):
        return kernels.end_retreat(d_products, state, gates, d_terms, d_old)
    rows, hidden = state.shape[-2:]
    reset = gates[..., hidden:]
    _write(torch.ops.aten.sigmoid_backward, d_products * state, reset, d_terms[..., 2 * hidden :])
    d_old[..., :rows, :].addcmul_(d_products, reset)


def steps_of(sizes: list[int], *arrays: Tensor) -> list[tuple[Tensor, ...]]:
    """Of arrays of packed sequences, ``[N, ...]``, the rows of each step."""
    return list(zip(*(array.split(sizes, -2) for array in arrays), strict=True))


class GatedRecurrence(torch.autograd.Function):
    """h_t = u * tanh(x + U (r * h)) + (1 - u) * h, u and r being sigmoid(x + U h): see ``GatedUnit``.

    Takes inputs ``[N, 3H]``, initial states ``[B, H]``, the weights of the gates ``[2H, H]`` and of the candidate ``[H,
    H]``, all with a first dimension more where units go side by side, and the rows of each step; returns ``[N, H]``.
    """

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, initial: Tensor, *rest: Any) -> Tensor:
        *given, sizes = rest
        dtype, wide, hidden = inputs.dtype, initial.dtype, initial.shape[-1]
        # rounded once for all steps
        gates_weight, candidate_weight = (weight.to(dtype) for weight in given)
        shape = *inputs.shape[:-1], hidden
        previous, candidates, states = (initial.new_empty(shape) for _ in range(3))
        gates, products = initial.new_empty(*shape[:-1], 2 * hidden), inputs.new_empty(shape)
        factors = previous if dtype == wide else inputs.new_empty(shape)
        arrays = inputs, previous, factors, gates, products, candidates, states
        steps = [*steps_of(sizes, *arrays), [array[..., :0, :] for array in arrays]]
        narrow = None if factors is previous else steps[0][2]
        _pass_on(initial[..., : sum(sizes[:1]), :], steps[0][1], narrow)
        for step, following in pairwise(steps):
            terms, state, factor, of_gates, of_products, candidate, new = step
            sums = product(factor, gates_weight.mT, dtype, wide)
            open_gates(terms, sums, state, of_gates, of_products)
            sums = product(of_products, candidate_weight.mT, dtype, wide)
            next_factor = None if factors is previous else following[2]
            move(terms, sums, state, of_gates, candidate, new, following[1], next_factor)
        ctx.save_for_backward(previous, factors, gates, products, candidates, gates_weight, candidate_weight)
        ctx.sizes, ctx.rows = sizes, initial.shape[-2]
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_states: Tensor) -> tuple[Tensor | None, ...]:
        previous, factors, gates, products, candidates, gates_weight, candidate_weight = ctx.saved_tensors
        dtype, wide, hidden = factors.dtype, previous.dtype, previous.shape[-1]
        d_terms = factors.new_empty(*previous.shape[:-1], 3 * hidden)
        d_old = previous.new_zeros(*previous.shape[:-2], ctx.rows, hidden)
        sums = None
        for step in reversed(steps_of(ctx.sizes, d_states.contiguous(), d_terms, previous, gates, candidates)):
            d_step, d_term, *kept = step
            state, of_gates, _ = kept
            begin_retreat(d_step, d_old, sums, None, tuple(kept), d_term)
            d_products = product(d_term[..., :hidden], candidate_weight, dtype, wide)
            end_retreat(d_products, state, of_gates, d_term, d_old)
            sums = product(d_term[..., hidden:], gates_weight, dtype, wide)
        if sums is not None and ctx.needs_input_grad[1]:
            d_old[..., : sums.shape[-2], :].add_(sums)
        d_gates_weight = product(d_terms[..., hidden:].mT, factors, dtype, wide)
        d_candidate_weight = product(d_terms[..., :hidden].mT, products, dtype, wide)
        return d_terms, d_old, d_gates_weight, d_candidate_weight, None


class OtherRecurrence(torch.autograd.Function):
    """Of plain units h_t = tanh(x + U h); of gated ones whose context is under the reset gate: their candidate is
    tanh(x + r * (U h + gated)).

    As ``GatedRecurrence``, of one unit; the weight of the gates is None of plain units, and behind the weights comes
    gated, ``[B, H]``.
    """

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, initial: Tensor, *rest: Any) -> Tensor:
        *given, gated, sizes = rest
        dtype, hidden = inputs.dtype, initial.shape[1]
        weights: list[Any] = [None if weight is None else weight.to(dtype) for weight in given]
        gates_weight, candidate_weight = weights
        previous, states = (initial.new_empty(len(inputs), hidden) for _ in range(2))
        products, candidates, gates = previous, states, None
        if gates_weight is not None:
            products, candidates = (initial.new_empty(len(inputs), hidden) for _ in range(2))
            gates = initial.new_empty(len(inputs), 2 * hidden)
        state, start = initial, 0
        for size in sizes:
            here = slice(start, start + size)
            previous[here] = state[:size]
            sums = product(previous[here], candidate_weight.t(), dtype)
            if gates is None:
                torch.add(inputs[here], sums, out=states[here]).tanh_()
            else:
                affine(inputs[here, hidden:], previous[here], gates_weight, out=gates[here]).sigmoid_()
                torch.add(gated[:size], sums, out=products[here])
                update, reset = gates[here].split(hidden, 1)
                torch.addcmul(inputs[here, :hidden], reset, products[here], out=candidates[here]).tanh_()
                torch.lerp(previous[here], candidates[here], update, out=states[here])
            state = states[here]
            start += size
        ctx.save_for_backward(previous, gates, candidates, products, gates_weight, candidate_weight)
        ctx.sizes, ctx.rows, ctx.dtype = sizes, len(initial), dtype
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_states: Tensor) -> tuple[Tensor | None, ...]:
        previous, gates, candidates, products, gates_weight, candidate_weight = ctx.saved_tensors
        hidden, dtype = previous.shape[1], ctx.dtype
        d_inputs = previous.new_empty(len(previous), (1 if gates is None else 3) * hidden)
        d_products = d_inputs if gates is None else torch.empty_like(products)
        d_state, d_gated = (previous.new_zeros(ctx.rows, hidden) for _ in range(2))
        start = len(previous)
        for size in reversed(ctx.sizes):
            start -= size
            here = slice(start, start + size)
            d_new = d_states[here] + d_state[:size]
            if gates is None:
                d_inputs[here] = torch.ops.aten.tanh_backward(d_new, candidates[here])
                d_state[:size] = product(d_inputs[here], candidate_weight, dtype)
                continue
            update, reset = gates[here].split(hidden, 1)
            d_candidate, d_update, d_reset = d_inputs[here].split(hidden, 1)
            d_candidate.copy_(torch.ops.aten.tanh_backward(d_new * update, candidates[here]))
            change = d_new * (candidates[here] - previous[here])
            d_update.copy_(torch.ops.aten.sigmoid_backward(change, update))
            torch.mul(d_candidate, reset, out=d_products[here])
            d_reset.copy_(torch.ops.aten.sigmoid_backward(d_candidate * products[here], reset))
            d_gated[:size] += d_products[here]
            d_old = d_new * (1 - update) + product(d_products[here], candidate_weight, dtype)
            d_state[:size] = d_old + product(d_inputs[here, hidden:], gates_weight, dtype)
        d_gates_weight = None if gates is None else product(d_inputs[:, hidden:].t(), previous, dtype)
        d_candidate_weight = product(d_products.t(), previous, dtype)
        return d_inputs.to(dtype), d_state, d_gates_weight, d_candidate_weight, None if gates is None else d_gated, None
