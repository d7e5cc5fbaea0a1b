"""How kernels are started, and what several of them have in common."""

from typing import Any

import triton
import triton.language as tl

COUNTS = ["steps", "words", "columns", "rows", "total", "following", "moved", "alive", "capacity"]
"""Arguments that differ at every step, for which nothing is compiled again."""

INTERPRETED = triton.knobs.runtime.interpret
"""Whether Triton's interpreter computes, on a CPU."""

TOGETHER = 128 if INTERPRETED else 1
"""Rows of a program that goes through long ones; Triton's interpreter takes as long for many as for one."""


def launch(kernel: Any, grid: tuple[int, ...], *arguments: Any, **constants: Any) -> None:
    """Start a kernel."""
    kernel[grid](*arguments, **constants)


@triton.jit
def tanh(value):
    smaller = tl.exp(-2.0 * tl.abs(value))
    found = (1.0 - smaller) / (1.0 + smaller)
    return tl.where(value < 0, -found, found)
