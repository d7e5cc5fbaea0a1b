"""Steps of optimisers in one pass over memory; arrays are contiguous, of float32."""

from typing import Any

import triton
import triton.language as tl
from torch import Tensor

from neural_smt.networks.triton_kernels import launching

NUMBERS = 1 << 16 if launching.INTERPRETED else 1024
"""Of a program."""


@triton.jit
def _numbers(count, block: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * block + tl.arange(0, block)
    return index, index < count


@triton.jit(do_not_specialize=["rho", "epsilon"])
def _adadelta(parameter, gradient, squared_gradients, squared_steps, count, rho, epsilon, block: tl.constexpr):
    index, inside = _numbers(count, block)
    slope = tl.load(gradient + index, mask=inside, other=0.0)
    slopes = rho * tl.load(squared_gradients + index, mask=inside, other=0.0) + (1.0 - rho) * slope * slope
    steps = tl.load(squared_steps + index, mask=inside, other=0.0)
    step = tl.sqrt((steps + epsilon) / (slopes + epsilon)) * slope
    tl.store(squared_gradients + index, slopes, mask=inside)
    tl.store(squared_steps + index, rho * steps + (1.0 - rho) * step * step, mask=inside)
    tl.store(parameter + index, tl.load(parameter + index, mask=inside) - step, mask=inside)


@triton.jit(do_not_specialize=["beta1", "beta2", "rate", "correction", "epsilon"])
def _adam(
    parameter, gradient, means, squares, count, beta1, beta2, rate, correction, epsilon, block: tl.constexpr
):  # fmt: skip
    index, inside = _numbers(count, block)
    slope = tl.load(gradient + index, mask=inside, other=0.0)
    mean = tl.load(means + index, mask=inside, other=0.0)
    mean += (1.0 - beta1) * (slope - mean)
    square = beta2 * tl.load(squares + index, mask=inside, other=0.0) + (1.0 - beta2) * slope * slope
    step = rate * mean / (tl.sqrt(square / correction) + epsilon)
    tl.store(means + index, mean, mask=inside)
    tl.store(squares + index, square, mask=inside)
    tl.store(parameter + index, tl.load(parameter + index, mask=inside) - step, mask=inside)


@triton.jit(do_not_specialize=["rate", "decay", "epsilon"])
def _adagrad(parameter, gradient, squares, count, rate, decay, epsilon, whole: tl.constexpr, block: tl.constexpr):
    index, inside = _numbers(count, block)
    slope = tl.load(gradient + index, mask=inside, other=0.0)
    # where nothing was learnt nothing changes, and nothing need be read
    moved = inside & (slope != 0.0)
    square = tl.load(squares + index, mask=moved, other=0.0) + slope * slope
    tl.store(squares + index, square, mask=moved)
    decays = inside if whole else moved
    weight = tl.load(parameter + index, mask=decays, other=0.0)
    step = rate * (slope / (tl.sqrt(square) + epsilon) + decay * weight)
    tl.store(parameter + index, weight - step, mask=decays)


def _launch_step(kernel: Any, arrays: tuple[Tensor, ...], *numbers: float, **constants: Any) -> None:
    """Start a kernel with programs for some numbers of each array."""
    count = arrays[0].numel()
    launching.launch(kernel, (triton.cdiv(count, NUMBERS),), *arrays, count, *numbers, block=NUMBERS, **constants)


def adadelta(arrays: tuple[Tensor, ...], rho: float, epsilon: float) -> None:
    """See ``AdaDelta``; arrays: the parameter, its gradient and both averages."""
    _launch_step(_adadelta, arrays, rho, epsilon)


def adam(
    arrays: tuple[Tensor, ...], betas: tuple[float, float], rate: float, correction: float, epsilon: float
) -> None:
    """See ``Adam``; arrays: the parameter, its gradient and both averages; rate: divided by 1 - b1^t; correction: 1 -
    b2^t.
    """
    _launch_step(_adam, arrays, *betas, rate, correction, epsilon)


def adagrad(arrays: tuple[Tensor, ...], rate: float, decay: float, epsilon: float, whole: bool) -> None:
    """See ``GradientDescent``; arrays: the parameter, its gradient and the sum of squares; decay: l2; whole: whether
    weights decay where the gradient is 0.
    """
    _launch_step(_adagrad, arrays, rate, decay, epsilon, whole=whole and decay > 0)
