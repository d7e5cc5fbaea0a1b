"""The decoder that looks at the source (Bahdanau et al. 2015, appendix A.1.2), over whole sentences.

As for the gated unit, the recurrence is one autograd function: the gradient of a matrix is one product over all steps.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from neural_smt.networks.attention.scorer import Memory, look, look_back
from neural_smt.networks.device import product
from neural_smt.networks.recurrence import begin_retreat, end_retreat, kernels_of, move, open_gates


class DecoderWeights(NamedTuple):
    """query: B, ``[K, H]``; energy: v, ``[K]``; context: C of the candidate, update and reset gates, ``[3H, 2H]``;
    gates: U of the update gate, then of the reset gate, ``[2H, H]``; candidate: U, ``[H, H]``.
    """

    query: Tensor
    energy: Tensor
    context: Tensor
    gates: Tensor
    candidate: Tensor


def decode(
    inputs: Tensor,
    offsets: Tensor | None,
    initial: Tensor,
    memory: Memory,
    weights: DecoderWeights,
    sizes: list[int],
    current: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """The decoder over packed target sentences whose words are known.

    inputs: W e of the candidate and both gates for the word before each position, ``[N, 3H]`` (``current``), or before
    each after the first step, ``[N - B, 3H]``; offsets: what the scorer reads of the word before each position, ``[N,
    K]``, or None; initial: s_0, ``[B, H]``; sizes: rows alive at each step. Returns for each position the state that
    predicts its word ``[N, H]``, s_t (``current``) or s_{t-1}, the context c_t ``[N, 2H]``, and alpha ``[N, L]``
    (without gradient).
    """
    arrays = inputs, offsets, initial, memory.annotations, memory.keys, memory.padding, *weights
    return _Decoder.apply(*arrays, sizes, current)


class _Decoder(torch.autograd.Function):
    """See ``decode``: c_t of s_{t-1}, then s_t = GRU(s_{t-1}, y, c_t), y being y_{t-1} (``current``) or y_t.

    ``states`` are s_{t-1} of each position. A step makes s_t of all its rows (``current``), or of those that are alive
    after it, for which ``inputs`` has no rows of the first step. ``factors``, ``[N, 4H]``, are the state, the context,
    and the product of reset gate and state: gates are made of the first three quarters, candidates of the last three.
    """

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, offsets: Tensor | None, initial: Tensor, *rest: Any) -> tuple[Tensor, ...]:
        annotations, keys, padding, *given, sizes, current = rest
        memory, weights = Memory(annotations, keys, padding), DecoderWeights(*given)
        dtype, wide, total, hidden = inputs.dtype, initial.dtype, sum(sizes), initial.shape[1]
        # rounded once for all steps
        of_query = weights.query.to(dtype)
        of_gates = torch.cat((weights.gates, weights.context[hidden:]), 1).to(dtype)
        of_candidate = torch.cat((weights.context[:hidden], weights.candidate), 1).to(dtype)
        widths = hidden, 2 * hidden, len(of_query), padding.shape[1], 2 * hidden, hidden
        states, contexts, queries, alphas, gates, candidates = (initial.new_empty(total, width) for width in widths)
        # where no state follows, there is no product
        factors = inputs.new_empty(total, 4 * hidden) if current else inputs.new_zeros(total, 4 * hidden)
        following = torch.empty_like(states) if current else states
        states[: sizes[0]], factors[: sizes[0], :hidden] = initial, initial
        for here, before, after in _steps(sizes, current):
            asked = product(factors[here, :hidden], of_query.t(), dtype, wide)
            added = None if offsets is None else offsets[here]
            written = queries[here], alphas[here], contexts[here], factors[here, hidden : 3 * hidden]
            look(asked, added, memory, weights.energy, written)
            if before.start == before.stop:
                continue
            terms = inputs[before] if current else inputs[after.start - sizes[0] : after.stop - sizes[0]]
            sums = product(factors[before, : 3 * hidden], of_gates.t(), dtype, wide)
            open_gates(terms, sums, states[before], gates[before], factors[before, 3 * hidden :])
            sums = product(factors[before, hidden:], of_candidate.t(), dtype, wide)
            made = following[before] if current else None
            onward = states[after], factors[after, :hidden]
            move(terms, sums, states[before], gates[before], candidates[before], made, *onward)
        kept = states, queries, alphas, gates, candidates, factors
        ctx.save_for_backward(*memory, of_query, of_gates, of_candidate, weights.energy, *kept)
        ctx.sizes, ctx.current = sizes, current
        ctx.offsets = None if offsets is None else offsets.dtype
        ctx.mark_non_differentiable(alphas)
        return following, contexts, alphas

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_following: Tensor, d_contexts: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        *parts, of_query, of_gates, of_candidate, energy = ctx.saved_tensors[:7]
        states, queries, alphas, gates, candidates, factors = ctx.saved_tensors[7:]
        memory, sizes, current = Memory(*parts), ctx.sizes, ctx.current
        dtype, wide, rows, hidden = factors.dtype, states.dtype, ctx.sizes[0], states.shape[1]
        d_following, d_contexts = d_following.contiguous(), d_contexts.clone()
        d_terms = factors.new_empty(len(states), 3 * hidden) if current else factors.new_zeros(len(states), 3 * hidden)
        d_queries = queries.new_empty(queries.shape, dtype=dtype)
        d_keys = torch.zeros_like(memory.keys)
        d_energy = energy.new_zeros(rows if kernels_of(energy) else 1, len(energy))
        d_old = states.new_empty(rows, hidden)
        sums: Tensor | None = None
        others: Any = None
        for here, before, after in reversed(_steps(sizes, current)):
            added: tuple[Tensor, ...] = ()
            sums_here = None
            if before.start < before.stop:
                kept, d_term = (states[before], gates[before], candidates[before]), d_terms[before]
                begin_retreat(d_following[before if current else after], d_old, sums, others, kept, d_term)
                d_factors = product(d_term[:, :hidden], of_candidate, dtype, wide)
                end_retreat(d_factors[:, 2 * hidden :], *kept[:2], d_term, d_old)
                d_others = product(d_term[:, hidden:], of_gates, dtype, wide)
                added, sums_here = (d_factors[:, : 2 * hidden], d_others[:, hidden:]), d_others[:, :hidden]
            sums, written = sums_here, (d_queries[here], d_keys, d_energy)
            look_back(d_contexts[here], added, alphas[here], queries[here], memory, energy, written)
            others = product(d_queries[here], of_query, dtype, wide)
        d_initial = torch.zeros_like(d_old) if current else d_following[:rows].clone()
        d_initial += others
        if sums is not None:
            d_initial[: len(sums)].add_(d_old[: len(sums)]).add_(sums)
        d_annotations = _outer_over_time(alphas, d_contexts, sizes)
        d_gates = product(d_terms[:, hidden:].t(), factors[:, : 3 * hidden], dtype, wide)
        d_candidate = product(d_terms[:, :hidden].t(), factors[:, hidden:], dtype, wide)
        d_weights = DecoderWeights(
            query=product(d_queries.t(), factors[:, :hidden], dtype, wide),
            energy=d_energy.sum(0),
            context=torch.cat((d_candidate[:, : 2 * hidden], d_gates[:, hidden:])),
            gates=d_gates[:, :hidden],
            candidate=d_candidate[:, 2 * hidden :],
        )
        d_offsets = None if ctx.offsets is None else d_queries.to(ctx.offsets)
        d_inputs = d_terms
        if not current:
            d_inputs = torch.cat([d_terms[before] for _, before, _ in _steps(sizes, current)])
        return d_inputs, d_offsets, d_initial, d_annotations, d_keys, None, *d_weights, None, None


def _steps(sizes: list[int], current: bool) -> list[tuple[slice, slice, slice]]:
    """Of each step its positions, those of them that a transition begins at, and those of the next step."""
    found, start = [], 0
    for size, alive in pairwise([*sizes, 0]):
        stop = start + size
        found.append((slice(start, stop), slice(start, stop if current else start + alive), slice(stop, stop + alive)))
        start = stop
    return found


def _outer_over_time(alphas: Tensor, d_contexts: Tensor, sizes: list[int]) -> Tensor:
    """sum_t alpha_t^T d_c_t of every row: ``[B, L, 2H]``, in one product over the steps."""
    steps, rows = len(sizes), sizes[0]
    if sizes[-1] < rows:
        places = torch.cat([torch.arange(step * rows, step * rows + size) for step, size in enumerate(sizes)])
        places = places.to(alphas.device)
        alphas, d_contexts = (
            part.new_zeros(steps * rows, part.shape[1]).index_copy_(0, places, part) for part in (alphas, d_contexts)
        )
    weights, gradients = (part.view(steps, rows, -1) for part in (alphas, d_contexts))
    return torch.bmm(weights.permute(1, 2, 0), gradients.permute(1, 0, 2))
