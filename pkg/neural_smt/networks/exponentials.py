"""Exponentials of float32 logits with their sums, in one pass over what the processor's cache holds.

A softmax over a large shortlist behind a small rank spends as much time on its exponentials as on its matrix product
when every step (bias, largest, exponential, sum) passes over the logits by itself.
"""

import numpy as np
from torch import Tensor

from neural_smt.jit import kernel, leaf

# Sums may be taken in any order, or several numbers at a time could not be; nothing else may be rearranged, and nothing
# is assumed of numbers that are not finite.
_EXACT = {"fastmath": {"contract"}, "error_model": "numpy"}
_ANY_ORDER = {"fastmath": {"reassoc", "contract", "nsz"}, "error_model": "numpy"}

_SMALLEST, _LARGEST = np.float32(-87.0), np.float32(88.0)
_LOG2_E = np.float32(1.4426950408889634)
# ln 2 in two parts: the first has so few digits that its multiples are exact.
_LN_2_HIGH, _LN_2_LOW = np.float32(0.693359375), np.float32(-2.12194440054690582e-4)
# (e^y - 1 - y) / y^2 for |y| <= ln(2) / 2, by least squares at Chebyshev nodes: wrong by 1e-8 of e^y.
_C0, _C1, _C2 = np.float32(0.5000000013), np.float32(0.1666657697), np.float32(0.0416664649)
_C3, _C4 = np.float32(0.008363181545), np.float32(0.001393365249)
_ONE, _BIAS, _DIGITS = np.float32(1), np.int32(127), np.int32(23)


@leaf(**_EXACT)
def _exponential(value: np.float32) -> np.float32:
    """e^value to 2e-7 of itself within [-87, 88]; what lies outside counts as that limit, and nan as 88."""
    value = value if value < _LARGEST else _LARGEST
    value = value if value > _SMALLEST else _SMALLEST
    power = np.int32(np.rint(value * _LOG2_E))
    whole = np.float32(power)
    y = (value - whole * _LN_2_HIGH) - whole * _LN_2_LOW
    series = (((_C4 * y + _C3) * y + _C2) * y + _C1) * y + _C0
    # 2^power by its bits.
    scale = np.int32((power + _BIAS) << _DIGITS).view(np.float32)
    return (series * (y * y) + y + _ONE) * scale


@kernel(**_ANY_ORDER)
def _sums(logits: np.ndarray, bias: np.ndarray, sums: np.ndarray) -> None:
    for row in range(len(logits)):
        total = np.float32(0)
        for column in range(len(bias)):
            total += _exponential(logits[row, column] + bias[column])
        sums[row] = total


@kernel(**_ANY_ORDER)
def _exponentiate(logits: np.ndarray, shifts: np.ndarray, sums: np.ndarray) -> None:
    for row in range(len(logits)):
        total, shift = np.float32(0), shifts[row]
        for column in range(logits.shape[1]):
            value = _exponential(logits[row, column] - shift)
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
