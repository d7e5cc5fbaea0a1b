"""Filling a stack: by all extensions of the smaller stacks, or by the most promising of them.

Stack decoding extends every hypothesis by every option that may follow it (Koehn 2004; Moses' default). Cube pruning
makes only the most promising extensions (Huang and Chiang 2007; Moses' algorithm 1). A *cube* is a grid of the
hypotheses of one coverage, best first, by the options of one span, best first. From the corner of every cube on, the
best cell not yet taken is taken and its two neighbours are scored, ``pop_limit`` times.
"""

from typing import NamedTuple

import numpy as np

from neural_smt.decoding.buffer_primitives import (
    THRESHOLD,
    Buffer,
    add,
    begin_sentence,
    clear,
    find_coverage,
    group_key,
    index_groups,
    keep_best,
    overfull,
    range_key,
    reserve,
)
from neural_smt.decoding.primitives import (
    Search,
    Stacks,
    Task,
    cover,
    fits,
    jump_limit,
    orientation,
    pop,
    push,
    rest_cost,
    score_end,
    score_phrase,
)
from neural_smt.jit import kernel, leaf, mix

PART = 1 << 14
"""Candidates made before the buffer is looked at again, so that many options need no more room than few."""


class Spans(NamedTuple):
    """Ways to extend the coverages of smaller stacks to one size, n of them.

    source: int32 [n], number of the coverage; start: int32 [n], first word of the span; phrase: int32 [n], its source
    phrase.
    """

    source: np.ndarray
    start: np.ndarray
    phrase: np.ndarray


class Cubes(NamedTuple):
    """The cubes of a stack.

    Per cube - first: int32 [cubes + 1], its rows; phrase, start, coverage: int32.
    Per row - parent: int32; turn: int8, orientation of the span after it; base: float64, what its cells share.
    """

    first: np.ndarray
    phrase: np.ndarray
    start: np.ndarray
    coverage: np.ndarray
    parent: np.ndarray
    turn: np.ndarray
    base: np.ndarray


class Cells(NamedTuple):
    """Scored cells of the cubes of a stack.

    cube, row, column: int32; score: float64; fallback: float64, of the fallback language model, weightless;
    states: int32 [cells, models]; keys, items: the cells that wait, a heap by score with future cost;
    seen: int32, hash table of all cells; counts: int64 [2], cells made, and waiting.
    """

    cube: np.ndarray
    row: np.ndarray
    column: np.ndarray
    score: np.ndarray
    fallback: np.ndarray
    states: np.ndarray
    keys: np.ndarray
    items: np.ndarray
    seen: np.ndarray
    counts: np.ndarray


@kernel
def fill(size: int, task: Task, stacks: Stacks, buffer: Buffer, pop_limit: int | None) -> tuple[Buffer, np.ndarray]:
    """Make the hypotheses that cover ``size`` words, of every sentence of the batch, out of the smaller stacks.

    pop_limit: of cube pruning; None for stack decoding (Numba compiles only the branch that its type takes). Returns
    the buffer (a larger one when it had to grow) and, int64 [B + 1, 3], where each sentence's candidates, groups and
    coverages start in it.
    """
    lengths = task.sentences.lengths
    offsets = np.zeros((len(lengths) + 1, 3), dtype=np.int64)
    clear(buffer)
    for sentence in range(len(lengths)):
        begin_sentence(buffer)
        if size <= lengths[sentence]:
            spans = _find_spans(sentence, size, task, stacks)
            if pop_limit is None:
                buffer = _expand(sentence, size, spans, task, stacks, buffer)
            else:
                buffer, cubes = _make_cubes(sentence, spans, pop_limit, task, stacks, buffer)
                cells = _new_cells(len(cubes.phrase) + 2 * pop_limit, len(task.models))
                _explore(cubes, cells, pop_limit, size == lengths[sentence], task, stacks, buffer)
            if task.search.margin > 1:  # the stateful feature will score what stays
                keep_best(buffer, int(task.search.stack_size * task.search.margin))
        offsets[sentence + 1] = buffer.counts[1]
    return buffer, offsets


@kernel
def _find_spans(sentence: int, size: int, task: Task, stacks: Stacks) -> Spans:
    """Every span that extends a coverage of a smaller stack to ``size`` words: by its length, coverage and start."""
    sentences, coverages, ranges = task.sentences, stacks.coverages, stacks.ranges
    words = sentences.lengths[sentence]
    limit = jump_limit(task.search.limit)
    longest = min(size, sentences.spans.shape[1])
    most = 0
    for length in range(1, longest + 1):
        most += (limit + 1) * (ranges[sentence, size - length, 1] - ranges[sentence, size - length, 0])
    spans = Spans(np.empty(most, np.int32), np.empty(most, np.int32), np.empty(most, np.int32))
    count = 0
    for length in range(1, longest + 1):
        for source in range(ranges[sentence, size - length, 0], ranges[sentence, size - length, 1]):
            gap, window = np.int64(coverages.gap[source]), coverages.window[source]
            for start in range(gap, min(max(gap, gap + limit - length), words - length) + 1):
                phrase = sentences.spans[sentences.first[sentence] + start, length - 1]
                if phrase >= 0 and fits(gap, window, start, start + length, limit):
                    spans.source[count] = source
                    spans.start[count] = start
                    spans.phrase[count] = phrase
                    count += 1
    return Spans(spans.source[:count], spans.start[:count], spans.phrase[:count])


@leaf
def _new_coverage(sentence: int, source: int, start: int, stop: int, task: Task, stacks: Stacks, buffer: Buffer) -> int:
    """The number in the buffer of the coverage ``source`` with one range more."""
    gap, window = cover(np.int64(stacks.coverages.gap[source]), stacks.coverages.window[source], start, stop)
    coverage, fresh = find_coverage(buffer, gap, window)
    if fresh:
        buffer.rest[coverage] = rest_cost(task.sentences, sentence, gap, window)
    return coverage


@leaf
def _step(parent: int, start: int, stop: int, task: Task, stacks: Stacks) -> tuple[int, float]:
    """Orientation of a range after a hypothesis (-1: too far away), and the score of all its extensions so far."""
    hypotheses, search = stacks.hypotheses, task.search
    distance = abs(hypotheses.stop[parent] - start)
    if distance > jump_limit(search.limit):
        return -1, 0.0
    turn = orientation(hypotheses.start[parent], hypotheses.stop[parent], start, stop)
    base = hypotheses.score[parent] - search.distortion * distance
    if hypotheses.option[parent] >= 0:
        base += task.options.forward[hypotheses.option[parent], turn]
    return turn, base


@leaf
def _score_target(
    parent: int, option: int, final: bool, task: Task, stacks: Stacks, next_states: np.ndarray
) -> tuple[float, float]:
    """See ``score_phrase``; with the end of the sentence where the extension is ``final``."""
    language, fallback = score_phrase(task, stacks.hypotheses.states[parent], option, next_states)
    if final:
        closing, fallback_closing = score_end(task, next_states)
        language, fallback = language + closing, fallback + fallback_closing
    return language, fallback


@leaf
def _keeps_arcs(search: Search, final: bool) -> bool:
    """Whether recombined candidates are kept: complete ones all end alike, but for the stateful feature."""
    return search.keep_arcs or (final and search.margin > 1)


@leaf
def _add(
    parent: int, option: int, start: int, stop: int, coverage: int, score: float, fallback: float, states: np.ndarray,
    final: bool, task: Task, stacks: Stacks, buffer: Buffer,
) -> None:  # fmt: skip
    """Add an extension to the buffer."""
    search = task.search
    key = np.uint64(0)  # nothing follows a complete translation: all are recombined
    if not final:
        base_key = range_key(coverage, start, stop)
        forward, history = task.options.forward_class[option], stacks.hypotheses.history[parent]
        key = group_key(base_key, forward, states, history, task.options, option, search.context)
    keep_arcs = _keeps_arcs(search, final)
    add(buffer, key, coverage, states, parent, option, start, stop, score, fallback, search.beam, keep_arcs)


@kernel
def _expand(sentence: int, size: int, spans: Spans, task: Task, stacks: Stacks, buffer: Buffer) -> Buffer:
    """Extend the hypotheses of the smaller stacks by every option of the spans."""
    options, coverages = task.options, stacks.coverages
    final = size == task.sentences.lengths[sentence]
    most = int(task.search.stack_size * task.search.margin)
    next_states = np.empty(len(task.models), dtype=np.int32)
    for i in range(len(spans.source)):
        source, start, phrase = np.int64(spans.source[i]), np.int64(spans.start[i]), np.int64(spans.phrase[i])
        stop = start + np.int64(options.source_length[options.offsets[phrase]])
        parent, last = np.int64(coverages.first[source]), np.int64(coverages.last[source])
        choices = options.offsets[phrase + 1] - options.offsets[phrase]
        while parent < last:
            until = min(last, parent + max(1, PART // choices))
            buffer = reserve(buffer, (until - parent) * choices)
            coverage = _new_coverage(sentence, source, start, stop, task, stacks, buffer)
            parent = _extend(parent, until, phrase, start, stop, coverage, final, task, stacks, buffer, next_states)
            if overfull(buffer, most):
                keep_best(buffer, most)
                index_groups(buffer)
    return buffer


@leaf
def _extend(
    first: int, last: int, phrase: int, start: int, stop: int, coverage: int, final: bool,
    task: Task, stacks: Stacks, buffer: Buffer, next_states: np.ndarray,
) -> int:  # fmt: skip
    """Extend the hypotheses from ``first`` to ``last``, all of one coverage, by the options of one span.

    Stops early when the buffer has too many groups; returns the first hypothesis not extended. ``next_states`` (int32
    [models]) is room to work in.
    """
    options, search = task.options, task.search
    rest = buffer.rest[coverage]
    bounded = True  # log p <= 0, so under weights of the usual sign a score without language model is a bound
    for m in range(len(search.language)):
        bounded = bounded and search.language[m] >= 0
    for parent in range(first, last):
        turn, base = _step(parent, start, stop, task, stacks)
        if turn < 0:
            continue
        for option in range(options.offsets[phrase], options.offsets[phrase + 1]):
            score = base + options.score[option] + options.backward[option, turn]
            if bounded and score + rest < buffer.limits[THRESHOLD]:
                continue
            language, fallback = _score_target(parent, option, final, task, stacks, next_states)
            score += language
            if score + rest >= buffer.limits[THRESHOLD]:
                _add(parent, option, start, stop, coverage, score, fallback, next_states, final, task, stacks, buffer)
        if overfull(buffer, int(search.stack_size * search.margin)):
            return parent + 1
    return last


@kernel
def _make_cubes(
    sentence: int, spans: Spans, pop_limit: int, task: Task, stacks: Stacks, buffer: Buffer
) -> tuple[Buffer, Cubes]:
    """One cube for every span."""
    options, coverages = task.options, stacks.coverages
    most, rows = len(spans.source), 0
    for i in range(most):
        rows += coverages.last[spans.source[i]] - coverages.first[spans.source[i]]
    first, phrases = np.zeros(most + 1, np.int32), np.empty(most, np.int32)
    starts, targets = np.empty(most, np.int32), np.empty(most, np.int32)
    parents, turns, bases = np.empty(rows, np.int32), np.empty(rows, np.int8), np.empty(rows, np.float64)
    cubes = Cubes(first, phrases, starts, targets, parents, turns, bases)
    count = 0
    for i in range(most):
        source, start, phrase = np.int64(spans.source[i]), np.int64(spans.start[i]), np.int64(spans.phrase[i])
        stop = start + np.int64(options.source_length[options.offsets[phrase]])
        first[count + 1] = _fill_rows(cubes, first[count], source, start, stop, task, stacks)
        if first[count + 1] == first[count]:
            continue
        buffer = reserve(buffer, pop_limit)
        phrases[count] = phrase
        starts[count] = start
        targets[count] = _new_coverage(sentence, source, start, stop, task, stacks, buffer)
        count += 1
    return buffer, Cubes(first[: count + 1], phrases[:count], starts[:count], targets[:count], parents, turns, bases)


@leaf
def _fill_rows(cubes: Cubes, row: int, source: int, start: int, stop: int, task: Task, stacks: Stacks) -> int:
    """Write the hypotheses of the coverage ``source`` that may jump to ``start``, best first; return the next row."""
    begin = np.int64(row)
    row = begin
    for parent in range(stacks.coverages.first[source], stacks.coverages.last[source]):
        turn, base = _step(parent, start, stop, task, stacks)
        if turn < 0:
            continue
        # Hypotheses come best first and distances differ little, so insertion has little to move.
        place = row
        while place > begin and cubes.base[place - 1] < base:
            cubes.parent[place] = cubes.parent[place - 1]
            cubes.turn[place] = cubes.turn[place - 1]
            cubes.base[place] = cubes.base[place - 1]
            place -= 1
        cubes.parent[place] = parent
        cubes.turn[place] = turn
        cubes.base[place] = base
        row += 1
    return row


@kernel
def _new_cells(most: int, models: int) -> Cells:
    """Room for ``most`` cells."""
    slots = 64
    while slots < 2 * most:
        slots *= 2
    return Cells(
        np.empty(most, np.int32),
        np.empty(most, np.int32),
        np.empty(most, np.int32),
        np.empty(most, np.float64),
        np.empty(most, np.float64),
        np.empty((most, models), np.int32),
        np.empty(most, np.float64),
        np.empty(most, np.int32),
        np.full(slots, -1, np.int32),
        np.zeros(2, np.int64),
    )


@leaf
def _explore(
    cubes: Cubes, cells: Cells, pop_limit: int, final: bool, task: Task, stacks: Stacks, buffer: Buffer
) -> None:
    """Take the best cells of all cubes, up to the pop limit, and add them to the buffer."""
    options, search = task.options, task.search
    for cube in range(len(cubes.phrase)):
        _score_cell(cube, 0, 0, cubes, cells, final, task, stacks, buffer)
    if _keeps_arcs(search, final) and not search.keep_arcs:
        pop_limit = min(pop_limit, (search.stack_size + 1) // 2)  # one of them will be the translation
    pops = 0
    while cells.counts[1] > 0 and pops < pop_limit:
        cell, cells.counts[1] = pop(cells.keys, cells.items, cells.counts[1])
        pops += 1
        cube, row, column = np.int64(cells.cube[cell]), np.int64(cells.row[cell]), np.int64(cells.column[cell])
        coverage, score = np.int64(cubes.coverage[cube]), cells.score[cell]
        if score + buffer.rest[coverage] < buffer.limits[THRESHOLD]:
            continue
        first_option = options.offsets[cubes.phrase[cube]]
        option, parent = first_option + column, np.int64(cubes.parent[cubes.first[cube] + row])
        start = np.int64(cubes.start[cube])
        stop = start + np.int64(options.source_length[option])
        states, fallback = cells.states[cell], cells.fallback[cell]
        _add(parent, option, start, stop, coverage, score, fallback, states, final, task, stacks, buffer)
        # One call for both neighbours: every further one would be compiled into the kernel once more.
        rows = cubes.first[cube + 1] - cubes.first[cube]
        columns = options.offsets[cubes.phrase[cube] + 1] - first_option
        for next_row, next_column in ((row + 1, column), (row, column + 1)):
            if next_row < rows and next_column < columns:
                _score_cell(cube, next_row, next_column, cubes, cells, final, task, stacks, buffer)


@leaf
def _score_cell(
    cube: int, row: int, column: int, cubes: Cubes, cells: Cells, final: bool, task: Task, stacks: Stacks,
    buffer: Buffer,
) -> None:  # fmt: skip
    """Score a cell and let it wait for its turn, unless it was scored before."""
    mask = np.uint64(len(cells.seen) - 1)
    slot = mix((np.uint64(cube) << np.uint64(40)) ^ (np.uint64(row) << np.uint64(20)) ^ np.uint64(column)) & mask
    while cells.seen[slot] >= 0:
        other = cells.seen[slot]
        if cells.cube[other] == cube and cells.row[other] == row and cells.column[other] == column:
            return
        slot = (slot + np.uint64(1)) & mask
    made = cells.counts[0]
    cells.seen[slot] = made
    option = task.options.offsets[cubes.phrase[cube]] + column
    grid_row = cubes.first[cube] + row
    score = cubes.base[grid_row] + task.options.score[option] + task.options.backward[option, cubes.turn[grid_row]]
    language, fallback = _score_target(cubes.parent[grid_row], option, final, task, stacks, cells.states[made])
    score += language
    cells.cube[made] = cube
    cells.row[made] = row
    cells.column[made] = column
    cells.score[made] = score
    cells.fallback[made] = fallback
    total = score + buffer.rest[cubes.coverage[cube]]
    cells.counts[1] = push(cells.keys, cells.items, cells.counts[1], total, made)
    cells.counts[0] = made + 1
