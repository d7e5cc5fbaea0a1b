"""Cube pruning: only the most promising extensions of a stack are made (Huang and Chiang 2007; Moses' algorithm 1).

A *cube* is a grid of the hypotheses of one coverage, best first, by the options of one span, best first. From the
corner of every cube on, the best cell not yet taken is taken and its two neighbours are scored, ``pop_limit`` times.
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
    keep_best,
    range_key,
    reserve,
)
from neural_smt.decoding.heap_primitives import pop, push
from neural_smt.decoding.primitives import (
    Stacks,
    Task,
    cover,
    fits,
    jump_limit,
    orientation,
    rest_cost,
    score_end,
    score_phrase,
)
from neural_smt.jit import kernel, leaf, mix


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

    cube, row, column: int32; score: float64; led: float64, of the model that stands in for a hook, weightless;
    states: int32 [cells, models]; keys, items: the cells that wait, a heap by score with future cost;
    seen: int32, hash table of all cells; counts: int64 [2], cells made, and waiting.
    """

    cube: np.ndarray
    row: np.ndarray
    column: np.ndarray
    score: np.ndarray
    led: np.ndarray
    states: np.ndarray
    keys: np.ndarray
    items: np.ndarray
    seen: np.ndarray
    counts: np.ndarray


@kernel
def fill_by_cubes(size: int, task: Task, stacks: Stacks, buffer: Buffer) -> tuple[Buffer, np.ndarray]:
    """Make the best hypotheses that cover ``size`` words, of every sentence; see ``fill_by_expansion``."""
    lengths = task.sentences.lengths
    offsets = np.zeros((len(lengths) + 1, 3), dtype=np.int64)
    clear(buffer)
    for sentence in range(len(lengths)):
        begin_sentence(buffer)
        if size <= lengths[sentence]:
            buffer, cubes = _make_cubes(sentence, size, task, stacks, buffer)
            cells = _new_cells(len(cubes.phrase) + 2 * task.search.pop_limit, len(task.models))
            _explore(cubes, cells, size == lengths[sentence], task, stacks, buffer)
            if task.search.margin > 1:  # a hook is to score what stays
                keep_best(buffer, int(task.search.stack_size * task.search.margin))
        offsets[sentence + 1] = buffer.counts[1]
    return buffer, offsets


@kernel
def _make_cubes(sentence: int, size: int, task: Task, stacks: Stacks, buffer: Buffer) -> tuple[Buffer, Cubes]:
    """One cube for every coverage of the smaller stacks and every span that makes up ``size``."""
    sentences, coverages, ranges = task.sentences, stacks.coverages, stacks.ranges
    words = sentences.lengths[sentence]
    limit = jump_limit(task.search.limit)
    longest = min(size, sentences.spans.shape[1])
    most, most_rows = 0, 0
    for length in range(1, longest + 1):
        for source in range(ranges[sentence, size - length, 0], ranges[sentence, size - length, 1]):
            most += limit + 1
            most_rows += (limit + 1) * (coverages.last[source] - coverages.first[source])
    first, phrases = np.zeros(most + 1, np.int32), np.empty(most, np.int32)
    starts, targets = np.empty(most, np.int32), np.empty(most, np.int32)
    cubes = Cubes(
        first,
        phrases,
        starts,
        targets,
        np.empty(most_rows, np.int32),
        np.empty(most_rows, np.int8),
        np.empty(most_rows, np.float64),
    )
    count = 0
    for length in range(1, longest + 1):
        for source in range(ranges[sentence, size - length, 0], ranges[sentence, size - length, 1]):
            gap, window = np.int64(coverages.gap[source]), coverages.window[source]
            for start in range(gap, min(max(gap, gap + limit - length), words - length) + 1):
                phrase = sentences.spans[sentences.first[sentence] + start, length - 1]
                if phrase < 0 or not fits(gap, window, start, start + length, limit):
                    continue
                first[count + 1] = _fill_rows(cubes, first[count], source, start, start + length, task, stacks)
                if first[count + 1] == first[count]:
                    continue
                buffer = reserve(buffer, task.search.pop_limit)
                new_gap, new_window = cover(gap, window, start, start + length)
                coverage, fresh = find_coverage(buffer, new_gap, new_window)
                if fresh:
                    buffer.rest[coverage] = rest_cost(sentences, sentence, new_gap, new_window)
                phrases[count] = phrase
                starts[count] = start
                targets[count] = coverage
                count += 1
    return buffer, Cubes(
        first[: count + 1],
        phrases[:count],
        starts[:count],
        targets[:count],
        cubes.parent,
        cubes.turn,
        cubes.base,
    )


@leaf
def _fill_rows(cubes: Cubes, row: int, source: int, start: int, stop: int, task: Task, stacks: Stacks) -> int:
    """Write the hypotheses of the coverage ``source`` that may jump to ``start``, best first; return the next row."""
    hypotheses, coverages = stacks.hypotheses, stacks.coverages
    begin = np.int64(row)
    row = begin
    limit = jump_limit(task.search.limit)
    for parent in range(coverages.first[source], coverages.last[source]):
        distance = abs(hypotheses.stop[parent] - start)
        if distance > limit:
            continue
        turn = orientation(hypotheses.start[parent], hypotheses.stop[parent], start, stop)
        base = hypotheses.score[parent] - task.search.distortion * distance
        if hypotheses.option[parent] >= 0:
            base += task.options.forward[hypotheses.option[parent], turn]
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
def _explore(cubes: Cubes, cells: Cells, final: bool, task: Task, stacks: Stacks, buffer: Buffer) -> None:
    """Take the best cells of all cubes, up to the pop limit, and add them to the buffer."""
    options, search = task.options, task.search
    for cube in range(len(cubes.phrase)):
        _score_cell(cube, 0, 0, cubes, cells, final, task, stacks, buffer)
    keep_arcs = search.keep_arcs or (final and search.margin > 1)  # all end alike, but for what a hook will say
    limit = search.pop_limit
    if keep_arcs and not search.keep_arcs:
        limit = min(limit, (search.stack_size + 1) // 2)  # one of them will be the translation
    pops = 0
    while cells.counts[1] > 0 and pops < limit:
        cell, cells.counts[1] = pop(cells.keys, cells.items, cells.counts[1])
        pops += 1
        cube, row, column = np.int64(cells.cube[cell]), np.int64(cells.row[cell]), np.int64(cells.column[cell])
        coverage = np.int64(cubes.coverage[cube])
        if cells.score[cell] + buffer.rest[coverage] < buffer.limits[THRESHOLD]:
            continue
        option = options.offsets[cubes.phrase[cube]] + column
        parent = np.int64(cubes.parent[cubes.first[cube] + row])
        start = np.int64(cubes.start[cube])
        stop = start + np.int64(options.source_length[option])
        states = cells.states[cell]
        key = np.uint64(0)  # nothing follows a complete translation: all are recombined
        if not final:
            base_key = range_key(coverage, start, stop)
            history = stacks.hypotheses.history[parent]
            forward = options.forward_class[option]
            key = group_key(base_key, forward, states, history, options, option, search.context)
        score = cells.score[cell]
        led = cells.led[cell]
        add(buffer, key, coverage, states, parent, option, start, stop, score, led, search.beam, keep_arcs)
        # One call for both neighbours: every further one would be compiled into the kernel once more.
        rows = cubes.first[cube + 1] - cubes.first[cube]
        columns = options.offsets[cubes.phrase[cube] + 1] - options.offsets[cubes.phrase[cube]]
        for next_row, next_column in ((row + 1, column), (row, column + 1)):
            if next_row < rows and next_column < columns:
                _score_cell(cube, next_row, next_column, cubes, cells, final, task, stacks, buffer)


@leaf
def _score_cell(
    cube: int,
    row: int,
    column: int,
    cubes: Cubes,
    cells: Cells,
    final: bool,
    task: Task,
    stacks: Stacks,
    buffer: Buffer,
) -> None:
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
    states = cells.states[made]
    score = cubes.base[grid_row] + task.options.score[option] + task.options.backward[option, cubes.turn[grid_row]]
    language, led = score_phrase(task, stacks.hypotheses.states[cubes.parent[grid_row]], option, states)
    if final:
        closing, led_closing = score_end(task, states)
        language, led = language + closing, led + led_closing
    score += language
    cells.cube[made] = cube
    cells.row[made] = row
    cells.column[made] = column
    cells.score[made] = score
    cells.led[made] = led
    total = score + buffer.rest[cubes.coverage[cube]]
    cells.counts[1] = push(cells.keys, cells.items, cells.counts[1], total, made)
    cells.counts[0] = made + 1
