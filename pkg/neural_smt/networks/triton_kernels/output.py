"""The softmax over a large vocabulary."""

from typing import Any

import triton
import triton.language as tl
from torch import Tensor

from neural_smt.networks.triton_kernels import launching
from neural_smt.networks.triton_kernels.launching import COUNTS, TOGETHER

LOGITS = 1024
"""Logits of a row that a program computes with at a time."""


@triton.jit
def _predicted(targets, rows, together: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * together + tl.arange(0, together)
    inside = place < rows
    row = tl.where(inside, place, 0)
    return row, inside, tl.load(targets + row)


@triton.jit
def _logits(logits, bias, chances, row, word, start, words, columns, block: tl.constexpr):
    unit = start + tl.arange(0, block)
    known = unit < words
    value = tl.load(logits + row[:, None] * columns + unit[None, :], mask=known[None, :], other=float("-inf"))
    value += tl.load(bias + unit, mask=known, other=0.0)[None, :]
    own = unit[None, :] == word[:, None]
    if chances is not None:
        # a row's own word is among those drawn for certain
        chance = tl.log(tl.load(chances + unit, mask=known, other=1.0))
        value -= tl.where(own, 0.0, chance[None, :])
    return value, own, unit


@triton.jit(do_not_specialize=COUNTS)
def _softmax(
    logits, bias, chances, targets, normalisers, scores, rows, words, columns, together: tl.constexpr,
    block: tl.constexpr,
):  # fmt: skip
    row, inside, word = _predicted(targets, rows, together)
    largest = tl.full([together], float("-inf"), tl.float32)
    total, chosen = tl.zeros([together], tl.float32), tl.zeros([together], tl.float32)
    for start in range(0, words, block):
        value, own, _ = _logits(logits, bias, chances, row, word, start, words, columns, block)
        larger = tl.maximum(largest, tl.max(value, 1))
        total = total * tl.exp(largest - larger) + tl.sum(tl.exp(value - larger[:, None]), 1)
        chosen += tl.sum(tl.where(own, value, 0.0), 1)
        largest = larger
    normaliser = largest + tl.log(total)
    tl.store(normalisers + row, normaliser, mask=inside)
    tl.store(scores + row, chosen - normaliser, mask=inside)


@triton.jit(do_not_specialize=COUNTS)
def _softmax_back(
    logits, bias, chances, targets, normalisers, d_scores, d_logits, rows, words, columns, together: tl.constexpr,
    block: tl.constexpr,
):  # fmt: skip
    row, inside, word = _predicted(targets, rows, together)
    start = tl.program_id(1) * block
    value, own, unit = _logits(logits, bias, chances, row, word, start, words, columns, block)
    share = tl.exp(value - tl.load(normalisers + row)[:, None])
    found = tl.load(d_scores + row)[:, None] * (tl.where(own, 1.0, 0.0) - share)
    spots = row[:, None] * columns + unit[None, :]
    tl.store(d_logits + spots, found, mask=inside[:, None] & (unit < columns)[None, :])


def _launch_softmax(kernel: Any, logits: Tensor, bias: Tensor, *arguments: Any, blocks: tuple[int, ...] = ()) -> None:
    """Start a kernel with programs for some rows of logits each."""
    rows, columns = logits.shape
    counts = {"rows": rows, "words": len(bias), "columns": columns}
    grid = triton.cdiv(rows, TOGETHER), *blocks
    launching.launch(kernel, grid, logits, bias, *arguments, **counts, together=TOGETHER, block=LOGITS)


def softmax(
    logits: Tensor, bias: Tensor, chances: Tensor | None, words: Tensor, normalisers: Tensor, scores: Tensor
) -> None:
    """Write log sum_v e^(logits + bias), ``[N]``, and log p of the words, ``[N]``; see ``word_log_probabilities``.

    logits: ``[N, V]`` or wider, of which ``V`` count.
    """
    _launch_softmax(_softmax, logits, bias, chances, words, normalisers, scores)


def softmax_back(
    logits: Tensor, bias: Tensor, chances: Tensor | None, words: Tensor, normalisers: Tensor, d_scores: Tensor,
    d_logits: Tensor,
) -> None:  # fmt: skip
    """Write the gradient of the logits, 0 of those that do not count."""
    blocks = (triton.cdiv(logits.shape[1], LOGITS),)
    _launch_softmax(_softmax_back, logits, bias, chances, words, normalisers, d_scores, d_logits, blocks=blocks)
