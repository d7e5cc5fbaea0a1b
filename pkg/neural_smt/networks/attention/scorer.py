"""The scorer r = v . tanh(A h_j + B s + C y*), its hidden layer never kept: the largest array of a step by far.

On the CPU in float32 by kernels, in one pass that leaves padding out; elsewhere a few rows at a time.
"""

import numpy as np
import torch
from torch import Tensor

from neural_smt.jit import kernel
from neural_smt.networks.exponential_primitives import ANY_ORDER, hyperbolic_tangent

TILE = 1 << 18
"""Numbers of the hidden layer that a CPU computes at a time without kernels: few enough to stay in its cache."""


def energies(queries: Tensor, keys: Tensor, padding: Tensor, energy: Tensor, owner: Tensor | None = None) -> Tensor:
    """e_j = v . tanh(keys_j + query), ``[n, L]``, -inf on padding; without gradient, nothing rounded.

    queries: B s + C y*, ``[n, K]``; keys: A h_j, ``[B, L, K]``; padding: bool ``[B, L]``; energy: v, ``[K]``; owner:
    int64 ``[n]``, the row of keys and padding that each looks at; None: the first ``n`` in their order.
    """
    found = queries.new_empty(len(queries), keys.shape[1])
    if _by_kernel(queries, keys, energy):
        rows = torch.arange(len(queries)) if owner is None else owner
        _energies(*map(_array, (queries, keys, padding, energy, rows, found)))
        return found
    with torch.autocast(queries.device.type, enabled=False):
        for part in _tiles(queries, keys):
            found[part] = (keys[part if owner is None else owner[part]] + queries[part, None]).tanh_() @ energy
    return found.masked_fill_(padding[: len(queries)] if owner is None else padding[owner], -torch.inf)


def add_gradients(
    d_energies: Tensor,
    queries: Tensor,
    keys: Tensor,
    padding: Tensor,
    energy: Tensor,
    d_queries: Tensor,
    d_keys: Tensor,
    d_energy: Tensor,
) -> None:
    """Write the gradient of the queries; add those of the keys and of v. The hidden layer is computed again.

    d_energies: ``[n, L]``, 0 on padding; the gradients have the shapes of what they belong to.
    """
    if _by_kernel(queries, keys, energy):
        given = (d_energies.contiguous(), queries, keys, padding, energy, d_queries, d_keys, d_energy)
        _add_gradients(*map(_array, given))
        return
    for part in _tiles(queries, keys):
        layer = (keys[part] + queries[part, None]).tanh_()
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
    d_energies: np.ndarray,
    queries: np.ndarray,
    keys: np.ndarray,
    padding: np.ndarray,
    energy: np.ndarray,
    d_queries: np.ndarray,
    d_keys: np.ndarray,
    d_energy: np.ndarray,
) -> None:
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
