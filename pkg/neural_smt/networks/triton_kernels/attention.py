"""What the decoder of an attention network sees at a step."""

from typing import Any

import triton
import triton.language as tl
from torch import Tensor

from neural_smt.networks.triton_kernels import launching
from neural_smt.networks.triton_kernels.launching import COUNTS, INTERPRETED, TOGETHER, tanh

FEW = 132
"""Rows that leave no multiprocessor of an H100 two programs: these had better be wide than small and many."""


def shape_of_programs(rows: int, longest: int) -> tuple[int, int]:
    """Units that a program sees at a time, all of its ``longest`` words together (a power of 2), and its warps: a
    thread has 8 or 16 of these numbers, for which it has registers.
    """
    units, numbers = (128, 8) if rows <= FEW else (32, 16)
    units = max(units * 64 // max(longest, 64), 16)
    return (16, 4) if INTERPRETED else (units, min(max(longest * units // (32 * numbers), 4), 32))


@triton.jit
def _seen(rows, length, together: tl.constexpr, longest: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * together + tl.arange(0, together)
    position, inside = tl.arange(0, longest), row < rows
    place = row[:, None] * length + position[None, :]
    return row, inside, position, place, inside[:, None] & (position < length)[None, :]


@triton.jit
def _columns(row, inside, place, there, start, count, block: tl.constexpr):
    unit = start + tl.arange(0, block)
    known = unit < count
    spot, mask = row[:, None] * count + unit[None, :], inside[:, None] & known[None, :]
    spots, every = place[:, :, None] * count + unit[None, None, :], there[:, :, None] & known[None, None, :]
    return unit, known, spot, mask, spots, every


@triton.jit(do_not_specialize=COUNTS)
def _look(
    queries, offsets, owners, annotations, keys, padding, energy, asked, alphas, contexts, factors, rows, length, units,
    width: tl.constexpr, factors_width: tl.constexpr, together: tl.constexpr, longest: tl.constexpr,
    block: tl.constexpr,
):  # fmt: skip
    row, inside, position, place, there = _seen(rows, length, together, longest)
    owner = row if owners is None else tl.load(owners + row, mask=inside, other=0)
    word = owner[:, None] * length + position[None, :]
    # numbers of a thread are summed first, those of all threads once
    terms = tl.zeros([together, longest, block], tl.float32)
    for start in range(0, units, block):
        unit, known, spot, mask, spots, every = _columns(row, inside, word, there, start, units, block)
        query = tl.load(queries + spot, mask=mask, other=0.0)
        if offsets is not None:
            query += tl.load(offsets + spot, mask=mask, other=0.0).to(tl.float32)
        if asked is not None:
            tl.store(asked + spot, query, mask=mask)
        key = tl.load(keys + spots, mask=every, other=0.0)
        share = tl.load(energy + unit, mask=known, other=0.0)
        terms += share[None, None, :] * tanh(key + query[:, None, :])
    hidden = tl.load(padding + word, mask=there, other=True)
    energies = tl.where(hidden & inside[:, None], float("-inf"), tl.sum(terms, 2))
    shares = tl.exp(energies - tl.max(energies, 1)[:, None])
    alpha = shares / tl.sum(shares, 1)[:, None]
    tl.store(alphas + place, alpha, mask=there)
    for start in range(0, width, block):
        unit, known, spot, mask, spots, every = _columns(row, inside, word, there, start, width, block)
        annotation = tl.load(annotations + spots, mask=every, other=0.0)
        context = tl.sum(alpha[:, :, None] * annotation, 1)
        tl.store(contexts + spot, context, mask=mask)
        if factors is not None:
            tl.store(factors + row[:, None] * factors_width + unit[None, :], context, mask=mask)


@triton.jit(do_not_specialize=COUNTS)
def _look_back(
    d_contexts, first, second, alphas, queries, annotations, keys, energy, d_queries, d_keys, d_energy, rows, moved,
    length, units, width: tl.constexpr, added_width: tl.constexpr, together: tl.constexpr, longest: tl.constexpr,
    block: tl.constexpr,
):  # fmt: skip
    row, inside, _, place, there = _seen(rows, length, together, longest)
    terms = tl.zeros([together, longest, block], tl.float32)
    for start in range(0, width, block):
        unit, known, spot, mask, spots, every = _columns(row, inside, place, there, start, width, block)
        d_context = tl.load(d_contexts + spot, mask=mask, other=0.0)
        if first is not None:
            more, later = row[:, None] * added_width + unit[None, :], mask & (row < moved)[:, None]
            d_context += tl.load(first + more, mask=later, other=0.0) + tl.load(second + more, mask=later, other=0.0)
            tl.store(d_contexts + spot, d_context, mask=mask)
        annotation = tl.load(annotations + spots, mask=every, other=0.0)
        terms += annotation * d_context[:, None, :]
    d_alpha = tl.sum(terms, 2)
    alpha = tl.load(alphas + place, mask=there, other=0.0)
    d_energies = alpha * (d_alpha - tl.sum(alpha * d_alpha, 1)[:, None])
    for start in range(0, units, block):
        unit, known, spot, mask, spots, every = _columns(row, inside, place, there, start, units, block)
        query = tl.load(queries + spot, mask=mask, other=0.0)
        layer = tanh(tl.load(keys + spots, mask=every, other=0.0) + query[:, None, :])
        share = tl.load(energy + unit, mask=known, other=0.0)
        d_share = tl.load(d_energy + spot, mask=mask, other=0.0) + tl.sum(layer * d_energies[:, :, None], 1)
        tl.store(d_energy + spot, d_share, mask=mask)
        d_layer = (1.0 - layer * layer) * share[None, None, :] * d_energies[:, :, None]
        tl.store(d_queries + spot, tl.sum(d_layer, 1), mask=mask)
        tl.store(d_keys + spots, tl.load(d_keys + spots, mask=every, other=0.0) + d_layer, mask=every)


def _launch_look(kernel: Any, keys: Tensor, rows: int, *arguments: Any, **widths: int) -> None:
    """Start a kernel with programs for some rows of the memory each, of which all words are seen together."""
    length, units = keys.shape[1:]
    longest = triton.next_power_of_2(length)
    block, warps = shape_of_programs(rows, longest)
    constants = {"together": TOGETHER, "longest": longest, "block": block, "num_warps": warps, **widths}
    launching.launch(
        kernel, (triton.cdiv(rows, TOGETHER),), *arguments, rows=rows, length=length, units=units, **constants
    )


def look(
    queries: Tensor, offsets: Tensor | None, annotations: Tensor, keys: Tensor, padding: Tensor, energy: Tensor,
    asked: Tensor | None, alphas: Tensor, contexts: Tensor, factors: Tensor | None, owners: Tensor | None = None,
) -> None:  # fmt: skip
    """See ``attention.scorer.look``; of what is None nothing is written. owners: see ``attention.scorer.Groups``."""
    widths = {"width": annotations.shape[2], "factors_width": 0 if factors is None else factors.stride(0)}
    arguments = queries, offsets, owners, annotations, keys, padding, energy, asked, alphas, contexts, factors
    _launch_look(_look, keys, len(queries), *arguments, **widths)


def look_back(
    d_contexts: Tensor, added: tuple[Tensor, ...], alphas: Tensor, queries: Tensor, annotations: Tensor, keys: Tensor,
    padding: Tensor, energy: Tensor, *written: Tensor,
) -> None:  # fmt: skip
    """See ``attention.scorer.look_back``; on padding alpha is 0, and so is its gradient."""
    first, second = added or (None, None)
    counts = {"moved": 0 if first is None else len(first), "added_width": 0 if first is None else first.stride(0)}
    arguments = d_contexts, first, second, alphas, queries, annotations, keys, energy, *written
    _launch_look(_look_back, keys, len(queries), *arguments, width=annotations.shape[2], **counts)
