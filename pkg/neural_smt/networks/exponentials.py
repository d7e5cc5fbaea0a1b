"""Exponentials of float32 logits with their sums, in one pass over what the processor's cache holds.

A softmax over a large shortlist behind a small rank spends as much time on its exponentials as on its matrix product
when every step (bias, largest, exponential, sum) passes over the logits by itself.
"""

import numpy as np
from torch import Tensor

from neural_smt.jit import kernel
from neural_smt.networks.exponential_primitives import ANY_ORDER, exponential


@kernel(**ANY_ORDER)
def _sums(logits: np.ndarray, bias: np.ndarray, sums: np.ndarray) -> None:
    for row in range(len(logits)):
        total = np.float32(0)
        for column in range(len(bias)):
            total += exponential(logits[row, column] + bias[column])
        sums[row] = total


@kernel(**ANY_ORDER)
def _exponentiate(logits: np.ndarray, shifts: np.ndarray, sums: np.ndarray) -> None:
    for row in range(len(logits)):
        total, shift = np.float32(0), shifts[row]
        for column in range(logits.shape[1]):
            value = exponential(logits[row, column] - shift)
            logits[row, column] = value
            total += value
        sums[row] = total


def sum_exponentials(logits: Tensor, bias: Tensor, sums: Tensor) -> None:
    """``sums[i]`` = sum_v e^(logits[i, v] + bias[v]): ``[N, V]``, ``[V]`` -> ``[N]``, float32 on the CPU, contiguous.

    Exact to 1e-6 as long as every exponent that matters lies within [-87, 88]; the others count as those limits, so
    that a sum beyond e^88 comes out as at least that and one below e^-87 never as less. Not a number counts as 88.
    """
    _sums(logits.detach().numpy(), bias.detach().numpy(), sums.numpy())


def exponentiate(logits: Tensor, shifts: Tensor, sums: Tensor) -> None:
    """Replace ``logits[i, v]`` by e^(logits[i, v] - shifts[i]) and write the sums of rows to ``sums``; as above."""
    _exponentiate(logits.detach().numpy(), shifts.detach().numpy(), sums.numpy())
