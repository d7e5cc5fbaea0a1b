"""All steps of a recurrent model."""

from functools import cache
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from neural_smt.networks.triton_kernels import launching
from neural_smt.networks.triton_kernels.launching import COUNTS, INTERPRETED

LARGEST = 128
"""Hidden units of a recurrence whose factors a program keeps."""

SENTENCES = 128 if INTERPRETED else 16
"""Sentences that a program follows from step to step."""

WARPS = 8
"""Of a program: so many that all numbers of a step find room in registers."""


@triton.jit(do_not_specialize=COUNTS)
def _recur(
    sums, weight, starts, states, steps, hidden: tl.constexpr, padded: tl.constexpr, together: tl.constexpr
):  # fmt: skip
    row, unit = tl.program_id(0).to(tl.int64) * together + tl.arange(0, together), tl.arange(0, padded)
    known = unit < hidden
    turned = tl.load(weight + unit[None, :] * hidden + unit[:, None], mask=known[:, None] & known[None, :], other=0.0)
    state = tl.zeros([together, padded], tl.float32)
    for step in range(steps):
        start = tl.load(starts + step)
        here = start + row[:, None]
        mask = (here < tl.load(starts + step + 1)) & known[None, :]
        places = here * hidden + unit[None, :]
        given = tl.load(sums + places, mask=mask, other=0.0)
        # three products in tf32 are as precise as one in float32, which here finds no room for its factors
        state = tl.sigmoid(given + tl.dot(state, turned, input_precision="tf32x3"))
        # before the first step the state is 0, which a padding unit would not be
        state = tl.where(mask, state, 0.0)
        tl.store(states + places, state, mask=mask)


@triton.jit(do_not_specialize=COUNTS)
def _recur_back(
    gradient, states, weight, starts, errors, steps, bptt, cutoff, hidden: tl.constexpr, padded: tl.constexpr,
    together: tl.constexpr,
):  # fmt: skip
    row, unit = tl.program_id(0).to(tl.int64) * together + tl.arange(0, together), tl.arange(0, padded)
    known = unit < hidden
    own = tl.load(weight + unit[:, None] * hidden + unit[None, :], mask=known[:, None] & known[None, :], other=0.0)
    error = tl.zeros([together, padded], tl.float32)
    for passed in range(steps):
        step = steps - 1 - passed
        here = tl.load(starts + step) + row[:, None]
        mask = (here < tl.load(starts + step + 1)) & known[None, :]
        places = here * hidden + unit[None, :]
        found = tl.load(gradient + places, mask=mask, other=0.0)
        sent = tl.dot(error, own, input_precision="ieee")
        if (bptt > 0) & ((step + 1) % tl.maximum(bptt, 1) == 0):
            sent = sent * 0.0
        state = tl.load(states + places, mask=mask, other=0.0)
        error = (found + sent) * state * (1.0 - state)
        if cutoff > 0:
            error = tl.minimum(tl.maximum(error, -cutoff), cutoff)
        tl.store(errors + places, error, mask=mask)


def _padded(hidden: int) -> int:
    return max(triton.next_power_of_2(hidden), 16)


@cache
def keeps(hidden: int) -> bool:
    """Whether this GPU has room for what the threads of a program share: nine bytes for each weight of a recurrence. An
    H100 has 227 KB, some GPUs 99.
    """
    if hidden > LARGEST or INTERPRETED:
        return hidden <= LARGEST
    properties = triton.runtime.driver.active.utils.get_device_properties(torch.cuda.current_device())
    return bool(9 * _padded(hidden) ** 2 <= properties["max_shared_mem"])


def _launch_recurrence(kernel: Any, weight: Tensor, rows: int, *arguments: Any) -> None:
    """Start a kernel with programs for some sentences each."""
    hidden = len(weight)
    constants = {"hidden": hidden, "padded": _padded(hidden), "together": SENTENCES}
    launching.launch(kernel, (triton.cdiv(rows, SENTENCES),), *arguments, num_warps=WARPS, **constants)


def recur(sums: Tensor, weight: Tensor, starts: Tensor, states: Tensor, rows: int) -> None:
    """All steps of ``recurrent.network.Recurrence``; rows: sentences."""
    _launch_recurrence(_recur, weight, rows, sums, weight, starts, states, len(starts) - 1)


def recur_back(
    gradient: Tensor,
    states: Tensor,
    weight: Tensor,
    starts: Tensor,
    errors: Tensor,
    rows: int,
    bptt: int,
    cutoff: float,
) -> None:
    """The errors of all states, ``[N, H]``; rows: sentences."""
    arguments = gradient, states, weight, starts, errors, len(starts) - 1, bptt, float(cutoff)
    _launch_recurrence(_recur_back, weight, rows, *arguments)
