"""The decoder that looks at the source (Bahdanau et al. 2015, appendix A.1.2): one step, and whole sentences.

As for the gated unit, the recurrence is one autograd function: the gradient of each matrix is one product over all
steps. The hidden layer of the scorer r = v . tanh(A h_j + B s + C y*), the largest array by far, is computed again in
the backward pass instead of being kept for every step: on the CPU in float32 by kernels, in one pass that leaves
padding out; elsewhere a few rows at a time.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from neural_smt.jit import kernel
from neural_smt.networks.beams import places_within
from neural_smt.networks.device import product
from neural_smt.networks.layers import advanced, retreat
from neural_smt.networks.primitives import ANY_ORDER, hyperbolic_tangent


class Groups(NamedTuple):
    """``n`` rows of ``S`` sentences, at most ``B`` of each.

    owner: int64 ``[n]``, rising, the sentence of each row; place: int64 ``[n]``, its place among those of its sentence;
    sentences: S; largest: B.
    """

    owner: Tensor
    place: Tensor
    sentences: int
    largest: int

    @classmethod
    def of(cls, owner: np.ndarray, sentences: int, device: torch.device) -> "Groups":
        """Those of int64 ``[n]``, n of at least 1, rising, below ``sentences``."""
        place = places_within(owner)
        rows, places = (torch.from_numpy(np.ascontiguousarray(part)).to(device) for part in (owner, place))
        return cls(rows, places, sentences, int(place.max()) + 1)

    def times(self, rows: Tensor, matrices: Tensor) -> Tensor:
        """Each row ``[n, X]`` times the matrix of its sentence, ``[S, X, Y]``: ``[n, Y]``.

        A matrix is read once for all rows of its sentence, and none is copied.
        """
        spread = rows.new_zeros(self.sentences, self.largest, rows.shape[1])
        spread[self.owner, self.place] = rows
        return torch.bmm(spread, matrices)[self.owner, self.place]


class Memory(NamedTuple):
    """What the decoder looks at, a row for each target row.

    annotations: h_j, ``[B, L, 2H]``; keys: A h_j, ``[B, L, K]``; padding: bool ``[B, L]``.
    """

    annotations: Tensor
    keys: Tensor
    padding: Tensor

    def take(self, rows: Tensor) -> "Memory":
        """Those of ``rows`` (int64), in that order."""
        return Memory(*(part.index_select(0, rows) for part in self))


class DecoderWeights(NamedTuple):
    """query: B, ``[K, H]``; energy: v, ``[K]``; context: C of the candidate, update and reset gates, ``[3H, 2H]``;
    gates: U of the update gate, then of the reset gate, ``[2H, H]``; candidate: U, ``[H, H]``.
    """

    query: Tensor
    energy: Tensor
    context: Tensor
    gates: Tensor
    candidate: Tensor

    def rounded(self, dtype: torch.dtype) -> "DecoderWeights":
        """The matrices as factors of ``dtype``, rounded once for all steps."""
        query, energy, *matrices = self
        return DecoderWeights(query.to(dtype), energy, *(matrix.to(dtype) for matrix in matrices))


def attend(queries: Tensor, memory: Memory, energy: Tensor, groups: Groups | None = None) -> tuple[Tensor, Tensor]:
    """alpha ``[n, L]`` (0 on padding) and c = sum_j alpha_j h_j ``[n, 2H]`` of the first ``n`` rows of the memory.

    queries: B s + C y*, ``[n, K]``; energy: v; e_j = v . tanh(keys_j + query). Without gradient, nothing rounded.
    groups: which row of the memory each looks at, in place of its own: a row is then not copied for each.
    """
    owner = None if groups is None else groups.owner
    weights = energies(queries, memory, energy, owner).softmax(1)
    with torch.autocast(queries.device.type, enabled=False):
        if groups is not None:
            return weights, groups.times(weights, memory.annotations)
        return weights, torch.bmm(weights[:, None], memory.annotations[: len(queries)])[:, 0]


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
    after it, for which ``inputs`` has no rows of the first step.
    """

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, offsets: Tensor | None, initial: Tensor, *rest: Any) -> tuple[Tensor, ...]:
        annotations, keys, padding, *factors, sizes, current = rest
        memory, weights = Memory(annotations, keys, padding), DecoderWeights(*factors).rounded(inputs.dtype)
        total, rows, hidden = sum(sizes), sizes[0], initial.shape[1]
        states = initial.new_empty(total, hidden)
        following = torch.empty_like(states) if current else states
        contexts = initial.new_empty(total, annotations.shape[2])
        queries = initial.new_empty(total, len(weights.query))
        alphas = initial.new_empty(total, padding.shape[1])
        candidates, products = (initial.new_empty(len(inputs), hidden) for _ in range(2))
        gates = initial.new_empty(len(inputs), 2 * hidden)
        states[:rows] = initial
        start = 0
        for size, alive in zip(sizes, [*sizes[1:], 0], strict=True):
            here = slice(start, start + size)
            query = product(states[here], weights.query.t(), inputs.dtype)
            queries[here] = query if offsets is None else query.add_(offsets[here])
            alphas[here], contexts[here] = attend(queries[here], memory, weights.energy)
            start += size
            before, there = _moved(here, size if current else alive, 0 if current else size - rows)
            if before.start < before.stop:
                added = inputs[there] + product(contexts[before], weights.context.t(), inputs.dtype).to(inputs.dtype)
                parts = advanced(added, states[before], None, (weights.gates, weights.candidate))
                gates[there], products[there], candidates[there], moved = parts
                states[start : start + alive] = moved[:alive]
                if current:
                    following[here] = moved
        ctx.save_for_backward(*memory, *weights, states, contexts, queries, alphas, gates, candidates, products)
        ctx.sizes, ctx.current, ctx.dtype = sizes, current, inputs.dtype
        ctx.offsets = None if offsets is None else offsets.dtype
        ctx.mark_non_differentiable(alphas)
        return following, contexts, alphas

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_following: Tensor, d_contexts: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        saved = ctx.saved_tensors
        memory, weights = Memory(*saved[:3]), DecoderWeights(*saved[3:8])
        states, contexts, queries, alphas, gates, candidates, products = saved[8:]
        sizes, current, dtype, rows, hidden = ctx.sizes, ctx.current, ctx.dtype, ctx.sizes[0], states.shape[1]
        d_following, d_contexts = d_following.clone(), d_contexts.clone()
        d_states = torch.zeros_like(states) if current else d_following
        d_inputs = states.new_empty(len(candidates), 3 * hidden)
        d_queries = torch.empty_like(queries)
        d_keys, d_energy = torch.zeros_like(memory.keys), torch.zeros_like(weights.energy)
        previous = torch.empty_like(candidates)
        previous_contexts = contexts.new_empty(len(candidates), contexts.shape[1])
        start, alive = len(states), 0
        for size in reversed(sizes):
            after = slice(start, start + alive)
            start -= size
            here = slice(start, start + size)
            before, there = _moved(here, size if current else alive, 0 if current else size - rows)
            if current:
                d_following[start : start + alive] += d_states[after]
            if before.start < before.stop:
                previous[there], previous_contexts[there] = states[before], contexts[before]
                kept = states[before], gates[there], candidates[there], products[there]
                d_old = torch.empty_like(states[before])
                factors = weights.gates, weights.candidate
                d_new = d_following[before if current else after]
                retreat(d_new, kept, factors, dtype, (d_inputs[there], None, d_old))
                d_states[before] += d_old
                d_contexts[before] += product(d_inputs[there], weights.context, dtype)
            d_alpha = torch.bmm(memory.annotations[:size], d_contexts[here, :, None])[:, :, 0]
            d_energies = torch.ops.aten._softmax_backward_data(d_alpha, alphas[here], 1, alphas.dtype)
            add_gradients(d_energies, queries[here], memory, weights.energy, d_queries[here], d_keys, d_energy)
            d_states[here] += product(d_queries[here], weights.query, dtype)
            alive = size
        d_annotations = _outer_over_time(alphas, d_contexts, sizes)
        d_weights = DecoderWeights(
            query=product(d_queries.t(), states, dtype),
            energy=d_energy,
            context=product(d_inputs.t(), previous_contexts, dtype),
            gates=product(d_inputs[:, hidden:].t(), previous, dtype),
            candidate=product(d_inputs[:, :hidden].t(), products, dtype),
        )
        d_offsets = None if ctx.offsets is None else d_queries.to(ctx.offsets)
        return d_inputs.to(dtype), d_offsets, d_states[:rows], d_annotations, d_keys, None, *d_weights, None, None


def _moved(here: slice, count: int, offset: int) -> tuple[slice, slice]:
    """The first ``count`` positions of a step, and their places ``offset`` further on in the arrays of transitions."""
    return slice(here.start, here.start + count), slice(here.start + offset, here.start + offset + count)


def _outer_over_time(alphas: Tensor, d_contexts: Tensor, sizes: list[int]) -> Tensor:
    """sum_t alpha_t^T d_c_t of every row: ``[B, L, 2H]``, in one product over the steps."""
    steps, rows = len(sizes), sizes[0]
    places = torch.cat([torch.arange(step * rows, step * rows + size) for step, size in enumerate(sizes)])
    places = places.to(alphas.device)
    weights, gradients = (
        part.new_zeros(steps * rows, part.shape[1]).index_copy_(0, places, part).view(steps, rows, -1)
        for part in (alphas, d_contexts)
    )
    return torch.bmm(weights.permute(1, 2, 0), gradients.permute(1, 0, 2))


TILE = 1 << 18
"""Numbers of the hidden layer that a CPU computes at a time without kernels: few enough to stay in its cache."""


def energies(queries: Tensor, memory: Memory, energy: Tensor, owner: Tensor | None = None) -> Tensor:
    """e_j = v . tanh(keys_j + query), ``[n, L]``, -inf on padding; without gradient, nothing rounded.

    queries: B s + C y*, ``[n, K]``; energy: v, ``[K]``; owner: int64 ``[n]``, the row of the memory that each looks at;
    None: the first ``n`` in their order.
    """
    keys, padding = memory.keys, memory.padding
    found = queries.new_empty(len(queries), keys.shape[1])
    if _by_kernel(queries, keys, energy):
        rows = torch.arange(len(queries)) if owner is None else owner
        _energies(*map(_array, (queries, keys, padding, energy, rows, found)))
        return found
    with torch.autocast(queries.device.type, enabled=False):
        for part in _tiles(queries, keys):
            found[part] = (keys[part if owner is None else owner[part]] + queries[part, None]).tanh_() @ energy
    return found.masked_fill_(padding[: len(queries)] if owner is None else padding[owner], -torch.inf)


def add_gradients(d_energies: Tensor, queries: Tensor, memory: Memory, energy: Tensor, *gradients: Tensor) -> None:
    """Write the gradient of the queries; add those of the keys and of v. The hidden layer is computed again.

    d_energies: ``[n, L]``, 0 on padding; gradients: of queries, keys and v, in their shapes.
    """
    if _by_kernel(queries, memory.keys, energy):
        arrays = d_energies.contiguous(), queries, memory.keys, memory.padding, energy, *gradients
        _add_gradients(*map(_array, arrays))
        return
    d_queries, d_keys, d_energy = gradients
    for part in _tiles(queries, memory.keys):
        layer = (memory.keys[part] + queries[part, None]).tanh_()
        outer = d_energies[part, :, None]
        d_energy += layer.flatten(0, 1).t() @ outer.flatten()
        # d tanh: 1 - tanh^2
        d_layer = layer.square_().neg_().add_(1).mul_(energy).mul_(outer)
        torch.sum(d_layer, 1, out=d_queries[part])
        d_keys[part] += d_layer


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().numpy()


def _by_kernel(*tensors: Tensor) -> bool:
    return all(tensor.dtype == torch.float32 and not tensor.is_cuda and tensor.is_contiguous() for tensor in tensors)


def _tiles(queries: Tensor, keys: Tensor) -> list[slice]:
    """Slices of a few rows each; of all rows on a GPU."""
    count = len(queries)
    rows = count if queries.is_cuda else max(TILE // keys[0].numel(), 1)
    return [slice(start, min(start + rows, count)) for start in range(0, count, rows)]


@kernel(**ANY_ORDER)
def _energies(
    queries: np.ndarray, keys: np.ndarray, padding: np.ndarray, energy: np.ndarray, owner: np.ndarray, found: np.ndarray
) -> None:
    for row in range(len(queries)):
        place = owner[row]
        for position in range(keys.shape[1]):
            if padding[place, position]:
                found[row, position] = -np.inf
                continue
            total = np.float32(0)
            for unit in range(len(energy)):
                total += energy[unit] * hyperbolic_tangent(keys[place, position, unit] + queries[row, unit])
            found[row, position] = total


@kernel(**ANY_ORDER)
def _add_gradients(
    d_energies: np.ndarray, queries: np.ndarray, keys: np.ndarray, padding: np.ndarray, energy: np.ndarray,
    d_queries: np.ndarray, d_keys: np.ndarray, d_energy: np.ndarray,
) -> None:  # fmt: skip
    one = np.float32(1)
    for row in range(len(queries)):
        d_queries[row] = 0
        for position in range(keys.shape[1]):
            if padding[row, position]:
                continue
            outer = d_energies[row, position]
            for unit in range(len(energy)):
                value = hyperbolic_tangent(keys[row, position, unit] + queries[row, unit])
                d_energy[unit] += value * outer
                change = (one - value * value) * energy[unit] * outer
                d_queries[row, unit] += change
                d_keys[row, position, unit] += change
