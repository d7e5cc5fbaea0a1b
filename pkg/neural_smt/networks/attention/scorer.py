"""The scorer of an attention network, r = v . tanh(A h_j + B s + C y*), and what the decoder sees through it.

The hidden layer of the scorer, the largest array by far, is computed again in the backward pass instead of being kept
for every step: on a GPU and on the CPU in float32 by kernels, in one pass that leaves padding out; elsewhere a few rows
at a time.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from neural_smt.jit import kernel
from neural_smt.networks.beams import places_within
from neural_smt.networks.primitives import ANY_ORDER, hyperbolic_tangent
from neural_smt.networks.recurrence import kernels_of


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
    def of(cls, owner: np.ndarray, sentences: int) -> "Groups":
        """Those of int64 ``[n]``, n of at least 1, rising, below ``sentences``, on the CPU."""
        place = places_within(owner)
        return cls(torch.from_numpy(owner), torch.from_numpy(place), sentences, int(place.max()) + 1)

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


def attend(queries: Tensor, memory: Memory, energy: Tensor, groups: Groups | None = None) -> tuple[Tensor, Tensor]:
    """alpha ``[n, L]`` (0 on padding) and c = sum_j alpha_j h_j ``[n, 2H]`` of the first ``n`` rows of the memory.

    queries: B s + C y*, ``[n, K]``; energy: v; e_j = v . tanh(keys_j + query). Without gradient, nothing rounded.
    groups: which row of the memory each looks at, in place of its own: a row is then not copied for each.
    """
    owner = None if groups is None else groups.owner
    if kernels := kernels_of(queries):
        alphas = queries.new_empty(len(queries), memory.padding.shape[1])
        contexts = queries.new_empty(len(queries), memory.annotations.shape[2])
        kernels.look(queries, None, *memory, energy, None, alphas, contexts, None, owner)
        return alphas, contexts
    weights = energies(queries, memory, energy, owner).softmax(1)
    with torch.autocast(queries.device.type, enabled=False):
        if groups is not None:
            return weights, groups.times(weights, memory.annotations)
        return weights, torch.bmm(weights[:, None], memory.annotations[: len(queries)])[:, 0]


def look(queries: Tensor, offsets: Tensor | None, memory: Memory, energy: Tensor, written: tuple[Tensor, ...]) -> None:
    """What the first ``n`` rows of the memory show, as ``attend``: write queries + offsets ``[n, K]``, alpha ``[n,
    L]``, c ``[n, 2H]``, and c as a factor ``[n, 2H]``.
    """
    if kernels := kernels_of(queries):
        return kernels.look(queries, offsets, *memory, energy, *written)
    asked, alphas, contexts, factors = written
    asked.copy_(queries if offsets is None else queries.add_(offsets))
    alphas[:], contexts[:] = attend(asked, memory, energy)
    factors.copy_(contexts)


def look_back(
    d_contexts: Tensor, added: tuple[Tensor, ...], alphas: Tensor, queries: Tensor, memory: Memory, energy: Tensor,
    written: tuple[Tensor, ...],
) -> None:  # fmt: skip
    """The gradient of ``look``: add to that of c what is ``added`` to its first rows, write that of the queries, ``[n,
    K]``, and add those of the keys, ``[B, L, K]``, and of v, in parts that sum up to it, ``[1, K]``, on a GPU ``[B,
    K]``.
    """
    if kernels := kernels_of(d_contexts):
        return kernels.look_back(d_contexts, added, alphas, queries, *memory, energy, *written)
    d_queries, d_keys, d_energy = written
    for more in added:
        d_contexts[: len(more)].add_(more)
    d_alpha = torch.bmm(memory.annotations[: len(queries)], d_contexts[:, :, None])[:, :, 0]
    d_energies = torch.ops.aten._softmax_backward_data(d_alpha, alphas, 1, alphas.dtype)
    add_gradients(d_energies, queries, memory, energy, d_queries, d_keys, d_energy[0])


TILE, LARGE_TILE = 1 << 18, 1 << 26
"""Numbers of the hidden layer that are computed at a time without kernels: on a CPU few enough to stay in its cache, on
a GPU 256 MiB.
"""


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
    if _by_kernel(queries, memory.keys, energy, *gradients):
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
        d_queries[part] = d_layer.sum(1)
        d_keys[part] += d_layer


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().numpy()


def _by_kernel(*tensors: Tensor) -> bool:
    return all(tensor.dtype == torch.float32 and not tensor.is_cuda and tensor.is_contiguous() for tensor in tensors)


def _tiles(queries: Tensor, keys: Tensor) -> list[slice]:
    """Slices of a few rows each."""
    count = len(queries)
    rows = max((LARGE_TILE if queries.is_cuda else TILE) // keys[0].numel(), 1)
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
