"""Steps of optimisers in one pass over memory; arrays are contiguous, of float32."""

from collections.abc import Callable

import numpy as np
from torch import Tensor

from neural_smt.jit import leaf
from neural_smt.networks.primitives import EXACT

ONE = np.float32(1)


# Rows are functions of their own, or several numbers at a time would not be worked on.
@leaf(**EXACT)
def _adadelta_row(
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


@leaf
def _adadelta(
    parameter: np.ndarray, gradient: np.ndarray, squared_gradients: np.ndarray, squared_steps: np.ndarray,
    rows: np.ndarray, width: int, rho: np.float32, epsilon: np.float32,
) -> None:  # fmt: skip
    for i in range(len(rows)):
        here, own = slice(rows[i] * width, (rows[i] + 1) * width), slice(i * width, (i + 1) * width)
        _adadelta_row(parameter[here], gradient[own], squared_gradients[here], squared_steps[here], rho, epsilon)


@leaf(**EXACT)
def _adam_row(
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


@leaf
def _adam(
    parameter: np.ndarray, gradient: np.ndarray, means: np.ndarray, squares: np.ndarray, rows: np.ndarray, width: int,
    beta1: np.float32, beta2: np.float32, rate: np.float32, correction: np.float32, epsilon: np.float32,
) -> None:  # fmt: skip
    for i in range(len(rows)):
        here, own = slice(rows[i] * width, (rows[i] + 1) * width), slice(i * width, (i + 1) * width)
        arrays = parameter[here], gradient[own], means[here], squares[here]
        _adam_row(*arrays, beta1, beta2, rate, correction, epsilon)


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
def _shrink(average: np.ndarray, rows: np.ndarray, missed: np.ndarray, width: int, decay: float) -> None:
    for number in range(len(rows)):
        factor = np.float32(decay ** missed[number])
        for i in range(rows[number] * width, (rows[number] + 1) * width):
            average[i] *= factor


def _width(array: Tensor) -> int:
    return array.numel() // max(len(array), 1)


def shrink(average: Tensor, rows: Tensor, missed: Tensor, decay: float) -> None:
    """Multiply rows of an average by decay^missed; rows, missed: int64 ``[n]``."""
    _shrink(average.numpy().reshape(-1), rows.numpy(), missed.numpy(), _width(average), decay)


WHOLE = np.zeros(1, dtype=np.int64)
"""A parameter as one row."""


def _step(step: Callable[..., None], arrays: tuple[Tensor, ...], rows: Tensor | None, *numbers: float) -> None:
    flat = (array.numpy().reshape(-1) for array in arrays)
    chosen = (WHOLE, arrays[0].numel()) if rows is None else (rows.numpy(), _width(arrays[0]))
    step(*flat, *chosen, *map(np.float32, numbers))


def adadelta(arrays: tuple[Tensor, ...], rho: float, epsilon: float, rows: Tensor | None = None) -> None:
    """See ``AdaDelta``; arrays: the parameter, its gradient and both averages; rows: int64 ``[n]``, distinct, those
    that the gradient is of, if not of all.
    """
    _step(_adadelta, arrays, rows, rho, epsilon)


def adam(
    arrays: tuple[Tensor, ...], betas: tuple[float, float], rate: float, correction: float, epsilon: float,
    rows: Tensor | None = None,
) -> None:  # fmt: skip
    """See ``Adam``; arrays, rows: as of ``adadelta``; rate: divided by 1 - b1^t; correction: 1 - b2^t."""
    _step(_adam, arrays, rows, *betas, rate, correction, epsilon)


def adagrad(arrays: tuple[Tensor, ...], rate: float, decay: float, epsilon: float, whole: bool) -> None:
    """See ``GradientDescent``; arrays: the parameter, its gradient and the sum of squares; decay: l2; whole: whether
    weights decay where the gradient is 0.
    """
    flat = (array.numpy().reshape(-1) for array in arrays)
    _adagrad(*flat, *map(np.float32, (rate, decay, epsilon)), whole)
