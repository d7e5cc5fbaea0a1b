"""Steps of gated units."""

from typing import Any

import triton
import triton.language as tl
from torch import Tensor

from neural_smt.networks.triton_kernels import launching
from neural_smt.networks.triton_kernels.launching import COUNTS, tanh

BLOCK = 1024
"""Numbers of a program."""


def _launch_step(kernel: Any, state: Tensor, *arguments: Any, **widths: int) -> None:
    """Start a kernel with a program for some of the numbers of a step's state, ``[(units,) n, H]``."""
    rows, hidden = state.shape[-2:]
    units = 1 if state.dim() == 2 else len(state)
    grid = triton.cdiv(rows * hidden, BLOCK), units
    launching.launch(kernel, grid, *arguments, rows=rows, hidden=hidden, block=BLOCK, **widths)


def _apart(array: Tensor) -> int:
    """Rows from one unit to the next."""
    return array.stride(0) // array.stride(1) if array.dim() == 3 else 0


@triton.jit
def _place(rows, hidden: tl.constexpr, block: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * block + tl.arange(0, block)
    return index // hidden, index % hidden, index < rows * hidden


@triton.jit(do_not_specialize=COUNTS)
def _open_gates(
    terms, sums, state, gates, products, rows, total, hidden: tl.constexpr, terms_width: tl.constexpr,
    products_width: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    row, column, inside = _place(rows, hidden, block)
    unit = tl.program_id(1).to(tl.int64)
    here, sums_here = unit * total + row, (unit * rows + row) * 2 * hidden + column
    term = terms + here * terms_width + column
    update = tl.load(term + hidden, mask=inside).to(tl.float32) + tl.load(sums + sums_here, mask=inside)
    reset = tl.load(term + 2 * hidden, mask=inside).to(tl.float32) + tl.load(sums + sums_here + hidden, mask=inside)
    update, reset = tl.sigmoid(update), tl.sigmoid(reset)
    gate = gates + here * 2 * hidden + column
    tl.store(gate, update, mask=inside)
    tl.store(gate + hidden, reset, mask=inside)
    old = tl.load(state + here * hidden + column, mask=inside)
    tl.store(products + here * products_width + column, reset * old, mask=inside)


@triton.jit(do_not_specialize=COUNTS)
def _move(
    terms, sums, state, gates, candidates, states, next_state, next_factor, rows, total, following,
    hidden: tl.constexpr, terms_width: tl.constexpr, factor_width: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    row, column, inside = _place(rows, hidden, block)
    unit = tl.program_id(1).to(tl.int64)
    here = unit * total + row
    candidate = tl.load(terms + here * terms_width + column, mask=inside).to(tl.float32)
    candidate = tanh(candidate + tl.load(sums + (unit * rows + row) * hidden + column, mask=inside))
    place = here * hidden + column
    tl.store(candidates + place, candidate, mask=inside)
    old = tl.load(state + place, mask=inside)
    new = old + tl.load(gates + here * 2 * hidden + column, mask=inside) * (candidate - old)
    if states is not None:
        tl.store(states + place, new, mask=inside)
    goes_on = inside & (row < following)
    tl.store(next_state + place, new, mask=goes_on)
    if next_factor is not None:
        tl.store(next_factor + here * factor_width + column, new, mask=goes_on)


@triton.jit(do_not_specialize=COUNTS)
def _begin_retreat(
    d_states, d_old, sums, others, state, gates, candidates, d_terms, rows, total, moved, alive, capacity,
    hidden: tl.constexpr, sums_width: tl.constexpr, terms_width: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    row, column, inside = _place(rows, hidden, block)
    unit = tl.program_id(1).to(tl.int64)
    here = unit * total + row
    place, kept = here * hidden + column, (unit * capacity + row) * hidden + column
    d_new = tl.load(d_states + place, mask=inside)
    later = inside & (row < moved)
    d_new += tl.load(d_old + kept, mask=later, other=0.0)
    d_new += tl.load(sums + (unit * moved + row) * sums_width + column, mask=later, other=0.0)
    if others is not None:
        d_new += tl.load(others + row * hidden + column, mask=inside & (row < alive), other=0.0)
    old, candidate = tl.load(state + place, mask=inside), tl.load(candidates + place, mask=inside)
    update = tl.load(gates + here * 2 * hidden + column, mask=inside)
    d_term = d_terms + here * terms_width + column
    tl.store(d_term, d_new * update * (1.0 - candidate * candidate), mask=inside)
    tl.store(d_term + hidden, d_new * (candidate - old) * update * (1.0 - update), mask=inside)
    tl.store(d_old + kept, d_new * (1.0 - update), mask=inside)


@triton.jit(do_not_specialize=COUNTS)
def _end_retreat(
    d_products, state, gates, d_terms, d_old, rows, total, capacity,
    hidden: tl.constexpr, sums_width: tl.constexpr, terms_width: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    row, column, inside = _place(rows, hidden, block)
    unit = tl.program_id(1).to(tl.int64)
    here, kept = unit * total + row, (unit * capacity + row) * hidden + column
    d_product = tl.load(d_products + (unit * rows + row) * sums_width + column, mask=inside)
    reset = tl.load(gates + here * 2 * hidden + hidden + column, mask=inside)
    old = tl.load(state + here * hidden + column, mask=inside)
    d_term = d_product * old * reset * (1.0 - reset)
    tl.store(d_terms + here * terms_width + 2 * hidden + column, d_term, mask=inside)
    tl.store(d_old + kept, tl.load(d_old + kept, mask=inside) + d_product * reset, mask=inside)


def open_gates(terms: Tensor, sums: Tensor, state: Tensor, gates: Tensor, products: Tensor) -> None:
    """See ``recurrence.open_gates``."""
    widths = {"terms_width": terms.stride(-2), "products_width": products.stride(-2)}
    _launch_step(_open_gates, state, terms, sums, state, gates, products, total=_apart(state), **widths)


def move(
    terms: Tensor, sums: Tensor, state: Tensor, gates: Tensor, candidates: Tensor, states: Tensor | None,
    next_state: Tensor, next_factor: Tensor | None,
) -> None:  # fmt: skip
    """See ``recurrence.move``."""
    widths = {"terms_width": terms.stride(-2), "factor_width": 0 if next_factor is None else next_factor.stride(-2)}
    arrays = terms, sums, state, gates, candidates, states, next_state, next_factor
    _launch_step(_move, state, *arrays, total=_apart(state), following=next_state.shape[-2], **widths)


def begin_retreat(
    d_states: Tensor, d_old: Tensor, sums: Tensor | None, others: Tensor | None, kept: tuple[Tensor, ...],
    d_terms: Tensor,
) -> None:  # fmt: skip
    """See ``recurrence.begin_retreat``."""
    counts = {"moved": 0 if sums is None else sums.shape[-2], "alive": 0 if others is None else len(others)}
    counts |= {"total": _apart(kept[0]), "capacity": d_old.shape[-2]}
    later = d_old if sums is None else sums
    widths = {"sums_width": later.stride(-2), "terms_width": d_terms.stride(-2)}
    _launch_step(_begin_retreat, kept[0], d_states, d_old, later, others, *kept, d_terms, **counts, **widths)


def end_retreat(d_products: Tensor, state: Tensor, gates: Tensor, d_terms: Tensor, d_old: Tensor) -> None:
    """See ``recurrence.end_retreat``."""
    widths = {"sums_width": d_products.stride(-2), "terms_width": d_terms.stride(-2)}
    counts = {"total": _apart(state), "capacity": d_old.shape[-2]}
    _launch_step(_end_retreat, state, d_products, state, gates, d_terms, d_old, **counts, **widths)
