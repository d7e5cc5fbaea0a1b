"""Steps of recurrent networks on a GPU, each a kernel for Triton in place of a dozen of PyTorch's.

Arrays are those of whole sequences, seen from the first row of a step on: ``rows`` rows of ``H`` numbers and more, that
lie ``..._width`` numbers apart; further units side by side lie ``total`` rows apart. What was multiplied (``sums``) is
packed. Numbers are computed in float32 and rounded where an array is narrower.
"""

from typing import Any

import triton
import triton.language as tl
from torch import Tensor

BLOCK = 1024
"""Numbers of a program."""

TOGETHER, UNITS = (128, 16) if triton.knobs.runtime.interpret else (1, 32)
"""Rows of the memory of a program, and units at a time; Triton's interpreter takes as long for many as for one."""

SENTENCES = 128 if triton.knobs.runtime.interpret else 16
"""Sentences that a program follows from step to step."""

LOGITS = 1024
"""Logits of a row that a program computes with at a time."""

COUNTS = ["steps", "words", "columns", "rows", "total", "following", "moved", "alive", "capacity"]
"""Arguments that differ at every step, for which nothing is compiled again."""


def launch(kernel: Any, grid: tuple[int, ...], *arguments: Any, **constants: Any) -> None:
    """Start a kernel."""
    kernel[grid](*arguments, **constants)


def _launch_step(kernel: Any, state: Tensor, *arguments: Any, **widths: int) -> None:
    """Start a kernel with a program for some of the numbers of a step's state, ``[(units,) n, H]``."""
    rows, hidden = state.shape[-2:]
    units = 1 if state.dim() == 2 else len(state)
    grid = triton.cdiv(rows * hidden, BLOCK), units
    launch(kernel, grid, *arguments, rows=rows, hidden=hidden, block=BLOCK, **widths)


def _apart(array: Tensor) -> int:
    """Rows from one unit to the next."""
    return array.stride(0) // array.stride(1) if array.dim() == 3 else 0


@triton.jit
def _place(rows, hidden: tl.constexpr, block: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * block + tl.arange(0, block)
    return index // hidden, index % hidden, index < rows * hidden


@triton.jit
def _tanh(value):
    smaller = tl.exp(-2.0 * tl.abs(value))
    found = (1.0 - smaller) / (1.0 + smaller)
    return tl.where(value < 0, -found, found)


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
    candidate = _tanh(candidate + tl.load(sums + (unit * rows + row) * hidden + column, mask=inside))
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


@triton.jit
def _seen(rows, length, together: tl.constexpr, longest: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * together + tl.arange(0, together)
    position, inside = tl.arange(0, longest), row < rows
    place = row[:, None] * length + position[None, :]
    return row, inside, position, place, inside[:, None] & (position < length)[None, :]


@triton.jit(do_not_specialize=COUNTS)
def _look(
    queries, offsets, owners, annotations, keys, padding, energy, asked, alphas, contexts, factors, rows, length, units,
    width: tl.constexpr, factors_width: tl.constexpr, together: tl.constexpr, longest: tl.constexpr,
    block: tl.constexpr,
):  # fmt: skip
    row, inside, position, place, there = _seen(rows, length, together, longest)
    owner = row if owners is None else tl.load(owners + row, mask=inside, other=0)
    word = owner[:, None] * length + position[None, :]
    energies = tl.zeros([together, longest], tl.float32)
    for start in range(0, units, block):
        unit = start + tl.arange(0, block)
        known = unit < units
        spot, mask = row[:, None] * units + unit[None, :], inside[:, None] & known[None, :]
        query = tl.load(queries + spot, mask=mask, other=0.0)
        if offsets is not None:
            query += tl.load(offsets + spot, mask=mask, other=0.0).to(tl.float32)
        if asked is not None:
            tl.store(asked + spot, query, mask=mask)
        spots = word[:, :, None] * units + unit[None, None, :]
        key = tl.load(keys + spots, mask=there[:, :, None] & known[None, None, :], other=0.0)
        share = tl.load(energy + unit, mask=known, other=0.0)
        energies += tl.sum(share[None, None, :] * _tanh(key + query[:, None, :]), 2)
    hidden = tl.load(padding + word, mask=there, other=True)
    energies = tl.where(hidden & inside[:, None], float("-inf"), energies)
    shares = tl.exp(energies - tl.max(energies, 1)[:, None])
    alpha = shares / tl.sum(shares, 1)[:, None]
    tl.store(alphas + place, alpha, mask=there)
    for start in range(0, width, block):
        unit = start + tl.arange(0, block)
        known = unit < width
        spots = word[:, :, None] * width + unit[None, None, :]
        annotation = tl.load(annotations + spots, mask=there[:, :, None] & known[None, None, :], other=0.0)
        context = tl.sum(alpha[:, :, None] * annotation, 1)
        mask = inside[:, None] & known[None, :]
        tl.store(contexts + row[:, None] * width + unit[None, :], context, mask=mask)
        if factors is not None:
            tl.store(factors + row[:, None] * factors_width + unit[None, :], context, mask=mask)


@triton.jit(do_not_specialize=COUNTS)
def _look_back(
    d_contexts, first, second, alphas, queries, annotations, keys, energy, d_queries, d_keys, d_energy, rows, moved,
    length, units, width: tl.constexpr, added_width: tl.constexpr, together: tl.constexpr, longest: tl.constexpr,
    block: tl.constexpr,
):  # fmt: skip
    row, inside, _, place, there = _seen(rows, length, together, longest)
    d_alpha = tl.zeros([together, longest], tl.float32)
    for start in range(0, width, block):
        unit = start + tl.arange(0, block)
        known = unit < width
        spot, mask = row[:, None] * width + unit[None, :], inside[:, None] & known[None, :]
        d_context = tl.load(d_contexts + spot, mask=mask, other=0.0)
        if first is not None:
            more, later = row[:, None] * added_width + unit[None, :], mask & (row < moved)[:, None]
            d_context += tl.load(first + more, mask=later, other=0.0) + tl.load(second + more, mask=later, other=0.0)
            tl.store(d_contexts + spot, d_context, mask=mask)
        spots = place[:, :, None] * width + unit[None, None, :]
        annotation = tl.load(annotations + spots, mask=there[:, :, None] & known[None, None, :], other=0.0)
        d_alpha += tl.sum(annotation * d_context[:, None, :], 2)
    alpha = tl.load(alphas + place, mask=there, other=0.0)
    d_energies = alpha * (d_alpha - tl.sum(alpha * d_alpha, 1)[:, None])
    for start in range(0, units, block):
        unit = start + tl.arange(0, block)
        known = unit < units
        spot, mask = row[:, None] * units + unit[None, :], inside[:, None] & known[None, :]
        spots, every = place[:, :, None] * units + unit[None, None, :], there[:, :, None] & known[None, None, :]
        query = tl.load(queries + spot, mask=mask, other=0.0)
        layer = _tanh(tl.load(keys + spots, mask=every, other=0.0) + query[:, None, :])
        share = tl.load(energy + unit, mask=known, other=0.0)
        d_share = tl.load(d_energy + spot, mask=mask, other=0.0) + tl.sum(layer * d_energies[:, :, None], 1)
        tl.store(d_energy + spot, d_share, mask=mask)
        d_layer = (1.0 - layer * layer) * share[None, None, :] * d_energies[:, :, None]
        tl.store(d_queries + spot, tl.sum(d_layer, 1), mask=mask)
        tl.store(d_keys + spots, tl.load(d_keys + spots, mask=every, other=0.0) + d_layer, mask=every)


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
        state = tl.sigmoid(given + tl.dot(state, turned, input_precision="ieee"))
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


def _launch_look(kernel: Any, keys: Tensor, rows: int, *arguments: Any, **widths: int) -> None:
    """Start a kernel with programs for some rows of the memory each, of which all words are seen together."""
    length, units = keys.shape[1:]
    constants = {"together": TOGETHER, "longest": triton.next_power_of_2(length), "block": UNITS, **widths}
    grid = (triton.cdiv(rows, TOGETHER),)
    launch(kernel, grid, *arguments, rows=rows, length=length, units=units, **constants)


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


def _launch_recurrence(kernel: Any, weight: Tensor, starts: Tensor, rows: int, *arguments: Any) -> None:
    """Start a kernel with programs for some sentences each."""
    hidden = len(weight)
    constants = {"hidden": hidden, "padded": max(triton.next_power_of_2(hidden), 16), "together": SENTENCES}
    launch(kernel, (triton.cdiv(rows, SENTENCES),), *arguments, **constants)


def recur(sums: Tensor, weight: Tensor, starts: Tensor, states: Tensor, rows: int) -> None:
    """All steps of ``recurrent.network.Recurrence``; rows: sentences."""
    _launch_recurrence(_recur, weight, starts, rows, sums, weight, starts, states, len(starts) - 1)


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
    _launch_recurrence(_recur_back, weight, starts, rows, *arguments)


def _launch_softmax(kernel: Any, logits: Tensor, bias: Tensor, *arguments: Any, blocks: tuple[int, ...] = ()) -> None:
    """Start a kernel with programs for some rows of logits each."""
    rows, columns = logits.shape
    counts = {"rows": rows, "words": len(bias), "columns": columns}
    grid = triton.cdiv(rows, TOGETHER), *blocks
    launch(kernel, grid, logits, bias, *arguments, **counts, together=TOGETHER, block=LOGITS)


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
