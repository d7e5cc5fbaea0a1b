"""Steps of optimisers in one pass over memory; arrays are contiguous, of float32."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from torch import Tensor

from neural_smt.jit import leaf
from neural_smt.networks.primitives import EXACT

ONE = np.float32(1)


@leaf(**EXACT)
def _adadelta(
    parameter: np.ndarray, gradient: np.ndarray, squared_gradients: np.ndarray, squared_steps: np.ndarray,
    rho: np.float32, epsilon: np.float32,
) -> None:  # fmt: skip
    for i in range(len(parameter)):
        slope, steps = gradient[i], squared_steps[i]
        slopes = rho * squared_gradients[i] + (ONE - rho) * slope * slope
        step = np.sqrt((steps + epsilon) / (slopes + epsilon)) * slope
        squared_gradients[i] = slopes
        squared_steps[i] = rho * steps + (ONE - rho) * step * step
        parameter[i] -= step


@leaf(**EXACT)
def _adam(
    parameter: np.ndarray, gradient: np.ndarray, means: np.ndarray, squares: np.ndarray, beta1: np.float32,
    beta2: np.float32, rate: np.float32, correction: np.float32, epsilon: np.float32,
) -> None:  # fmt: skip
    for i in range(len(parameter)):
        slope = gradient[i]
        mean = means[i] + (ONE - beta1) * (slope - means[i])
        square = beta2 * squares[i] + (ONE - beta2) * slope * slope
        means[i] = mean
        squares[i] = square
        parameter[i] -= rate * mean / (np.sqrt(square / correction) + epsilon)


@leaf(**EXACT)
def _adagrad(
    parameter: np.ndarray, gradient: np.ndarray, squares: np.ndarray, rate: np.float32, decay: np.float32,
    epsilon: np.float32, whole: bool,
) -> None:  # fmt: skip
    for i in range(len(parameter)):
        slope = gradient[i]
        square = squares[i] + slope * slope
        squares[i] = square
        decaying = parameter[i] if whole or slope != 0 else np.float32(0)
        parameter[i] -= rate * (slope / (np.sqrt(square) + epsilon) + decay * decaying)


@leaf
def _shrink(average: np.ndarray, decay: float, missed: int) -> None:
    if missed:
        factor = np.float32(decay**missed)
        for i in range(len(average)):
            average[i] *= factor


@leaf
def _adadelta_rows(
    parameter: np.ndarray, gradient: np.ndarray, squared_gradients: np.ndarray, squared_steps: np.ndarray,
    rows: np.ndarray, seen: np.ndarray, updates: int, width: int, rho: np.float32, epsilon: np.float32,
) -> None:  # fmt: skip
    for i in range(len(rows)):
        row, first, last = rows[i], rows[i] * width, (rows[i] + 1) * width
        slopes, steps = squared_gradients[first:last], squared_steps[first:last]
        _shrink(slopes, rho, updates - seen[row])
        _shrink(steps, rho, updates - seen[row])
        seen[row] = updates + 1
        _adadelta(parameter[first:last], gradient[i * width : (i + 1) * width], slopes, steps, rho, epsilon)


@leaf
def _adam_rows(
    parameter: np.ndarray, gradient: np.ndarray, means: np.ndarray, squares: np.ndarray, rows: np.ndarray,
    seen: np.ndarray, updates: int, width: int, beta1: np.float32, beta2: np.float32, rate: np.float32,
    correction: np.float32, epsilon: np.float32,
) -> None:  # fmt: skip
    for i in range(len(rows)):
        row, first, last = rows[i], rows[i] * width, (rows[i] + 1) * width
        mean, square = means[first:last], squares[first:last]
        _shrink(mean, beta1, updates - seen[row])
        _shrink(square, beta2, updates - seen[row])
        seen[row] = updates + 1
        slope = gradient[i * width : (i + 1) * width]
        _adam(parameter[first:last], slope, mean, square, beta1, beta2, rate, correction, epsilon)


class Rows(NamedTuple):
    """The rows of a parameter that a gradient is of. rows: int64 ``[n]``, distinct; seen: int64 ``[V]``, how many
    updates the averages of each row have seen; updates: how many there have been.
    """

    rows: Tensor
    seen: Tensor
    updates: int


def _step(step: Callable[..., None], arrays: tuple[Tensor, ...], *numbers: float) -> None:
    step(*(array.numpy().reshape(-1) for array in arrays), *map(np.float32, numbers))


def _step_rows(step: Callable[..., None], arrays: tuple[Tensor, ...], rows: Rows, *numbers: float) -> None:
    width = arrays[0].numel() // max(len(arrays[0]), 1)
    flat = (array.numpy().reshape(-1) for array in (*arrays, *rows[:2]))
    step(*flat, rows.updates, width, *map(np.float32, numbers))


def adadelta(arrays: tuple[Tensor, ...], rho: float, epsilon: float, rows: Rows | None = None) -> None:
    """See ``AdaDelta``; arrays: the parameter, its gradient and both averages; rows: those that the gradient is of, if
    not of all.
    """
    if rows:
        _step_rows(_adadelta_rows, arrays, rows, rho, epsilon)
    else:
        _step(_adadelta, arrays, rho, epsilon)


def adam(
    arrays: tuple[Tensor, ...], betas: tuple[float, float], rate: float, correction: float, epsilon: float,
    rows: Rows | None = None,
) -> None:  # fmt: skip
    """See ``Adam``; arrays, rows: as of ``adadelta``; rate: divided by 1 - b1^t; correction: 1 - b2^t."""
    if rows:
        _step_rows(_adam_rows, arrays, rows, *betas, rate, correction, epsilon)
    else:
        _step(_adam, arrays, *betas, rate, correction, epsilon)


def adagrad(arrays: tuple[Tensor, ...], rate: float, decay: float, epsilon: float, whole: bool) -> None:
    """See ``GradientDescent``; arrays: the parameter, its gradient and the sum of squares; decay: l2; whole: whether
    weights decay where the gradient is 0.
    """
    _step(partial(_adagrad, whole=whole), arrays, rate, decay, epsilon)
