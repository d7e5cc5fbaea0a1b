"""Cube pruning: of all extensions of the smaller stacks, only the most promising (Huang and Chiang 2007; Moses'
algorithm 1).

A *cube* is a grid of the hypotheses of one coverage, best first, by the options of one span, best first. From the
corner of every cube on, the best cell not yet taken is taken and its two neighbours are scored, ``pop_limit`` times.
"""

from typing import NamedTuple

import numpy as np

from neural_smt.decoding.buffer_primitives import (
    THRESHOLD,
    Buffer,
    add,
    begin_stack,
    has_room,
    keep_best,
    most_kept,
    reserve,
)
from neural_smt.decoding.expansion_primitives import SPAN, most_spans, new_coverage, step, write_spans
from neural_smt.decoding.primitives import Stacks, Task, pop, push, replace_first, score_phrase
from neural_smt.jit import enlarged, kernel, leaf

CUBE = np.dtype(
    [("rest", np.float64)]
    + [(name, np.uint32) for name in ("first", "last", "option", "columns", "start", "stop", "coverage")],
    align=True,
)
"""first, last: the range of its rows; option: its first option; columns: how many there are; start, stop: the source
range of its span; coverage: that its cells lead to, in the buffer; rest: the future cost of that coverage.
"""

ROW = np.dtype([("shared", np.float64), ("parent", np.uint32), ("turn", np.uint32)])
"""parent: a hypothesis; turn: orientation of the span after it; shared: what the scores of its cells share."""

CELL = np.dtype(
    [("score", np.float64), ("fallback", np.float64)] + [(name, np.uint32) for name in ("cube", "row", "column")],
    align=True,
)
"""A scored cell of a cube; fallback: score of the fallback language model, weightless."""

SPANS, CUBES, ROWS, SEEN, CELLS = range(5)


class Cubes(NamedTuple):
    """Room for the spans that extend the coverages of a stack, and for its cubes.

    spans: ``SPAN``; cubes: ``CUBE``; rows: ``ROW``, of all cubes; seen: uint64, bit by column, which cells of a row
    were scored; cells: ``CELL``, as they are scored; states: int32 [cells, models], after each cell; keys, items: the
    cells that wait, a heap by score with future cost; counts: int64 [5], how many ``SPANS``, ``CUBES`` and ``CELLS``
    there are, and numbers of ``SEEN`` a row; needed: int64 [5], the room that the stack needs.
    """

    spans: np.ndarray
    cubes: np.ndarray
    rows: np.ndarray
    seen: np.ndarray
    cells: np.ndarray
    states: np.ndarray
    keys: np.ndarray
    items: np.ndarray
    counts: np.ndarray
    needed: np.ndarray


def new_cubes(models: int) -> Cubes:
    """No room yet; ``models``: how many language models there are."""
    rows = np.empty(0, SPAN), np.empty(0, CUBE), np.empty(0, ROW), np.empty(0, np.uint64), np.empty(0, CELL)
    cells = np.empty((0, models), np.int32), np.empty(0), np.empty(0, np.int32)
    return Cubes(*rows, *cells, np.zeros(5, np.int64), np.zeros(5, np.int64))


@leaf
def find_spans(sentence: int, size: int, task: Task, stacks: Stacks, cubes: Cubes) -> bool:
    """Find all spans that lead to a stack; returns false, where there is no room for them."""
    cubes.needed[:] = 0
    cubes.needed[SPANS] = most_spans(sentence, size, task, stacks)
    if not _have_room(cubes):
        return False
    cubes.counts[SPANS] = write_spans(sentence, size, task, stacks, cubes.spans)
    return True


@leaf
def explore(
    sentence: int, size: int, pop_limit: int, task: Task, stacks: Stacks, buffer: Buffer, cubes: Cubes
) -> bool:  # fmt: skip
    """Take the best cells of the cubes of a stack, up to the pop limit, and add them to the buffer.

    Returns false, with nothing done, where there is no room for that.
    """
    begin_stack(buffer)
    if not find_spans(sentence, size, task, stacks, cubes):
        return False
    _find_needs(pop_limit, task, stacks, cubes)
    if not (has_room(buffer, pop_limit, cubes.counts[SPANS]) and _have_room(cubes)):
        return False
    _write_cubes(sentence, task, stacks, buffer, cubes)
    _take_best(size == task.sentences.lengths[sentence], pop_limit, task, stacks, buffer, cubes)
    if task.search.margin > 1:  # the stateful feature will score what stays
        keep_best(buffer, most_kept(task.search))
    return True


@kernel
def make_room(pop_limit: int, buffer: Buffer, cubes: Cubes) -> tuple[Buffer, Cubes]:
    """A buffer and cubes with the room that ``find_spans`` or ``explore`` missed, and for as much again."""
    spans, count, rows, seen, cells = cubes.needed
    cells = max(2 * cells, len(cubes.cells))
    return reserve(buffer, pop_limit, spans), Cubes(
        enlarged(cubes.spans, max(2 * spans, len(cubes.spans))),
        np.empty(max(2 * count, len(cubes.cubes)), CUBE),
        np.empty(max(2 * rows, len(cubes.rows)), ROW),
        np.empty(max(2 * seen, len(cubes.seen)), np.uint64),
        np.empty(cells, CELL),
        np.empty((cells, cubes.states.shape[1]), np.int32),
        np.empty(cells, np.float64),
        np.empty(cells, np.int32),
        cubes.counts,
        cubes.needed,
    )


@leaf
def _find_needs(pop_limit: int, task: Task, stacks: Stacks, cubes: Cubes) -> None:
    """Write the most room that the cubes of a stack need into ``needed``."""
    spans, rows, columns, offsets = cubes.counts[SPANS], 0, np.int64(1), task.options.offsets
    for number in range(spans):
        span = cubes.spans[number]
        rows += np.int64(stacks.coverages[span.source].last) - np.int64(stacks.coverages[span.source].first)
        columns = max(columns, offsets[span.phrase + 1] - offsets[span.phrase])
    cubes.counts[SEEN] = (columns + 63) >> 6
    cubes.needed[CUBES] = spans
    cubes.needed[ROWS] = rows
    cubes.needed[SEEN] = rows * cubes.counts[SEEN]
    cubes.needed[CELLS] = spans + 2 * pop_limit


@leaf
def _have_room(cubes: Cubes) -> bool:
    """Whether there is the room that is needed."""
    needed = cubes.needed
    return (
        needed[SPANS] <= len(cubes.spans)
        and needed[CUBES] <= len(cubes.cubes)
        and needed[ROWS] <= len(cubes.rows)
        and needed[SEEN] <= len(cubes.seen)
        and needed[CELLS] <= len(cubes.cells)
    )


@leaf
def _write_cubes(sentence: int, task: Task, stacks: Stacks, buffer: Buffer, cubes: Cubes) -> None:
    """Write one cube for every span that hypotheses have, and its rows, of which no cell is scored."""
    count, row, offsets = 0, 0, task.options.offsets
    for number in range(cubes.counts[SPANS]):
        span = cubes.spans[number]
        first, row = row, _fill_rows(cubes.rows, row, span, task, stacks)
        if row > first:
            cube = cubes.cubes[count]
            cube.first = first
            cube.last = row
            cube.option = offsets[span.phrase]
            cube.columns = offsets[span.phrase + 1] - offsets[span.phrase]
            cube.start = span.start
            cube.stop = span.stop
            cube.coverage = new_coverage(sentence, span, task, stacks, buffer)
            cube.rest = buffer.coverages[cube.coverage].rest
            count += 1
    cubes.seen[: row * cubes.counts[SEEN]] = np.uint64(0)
    cubes.counts[CUBES] = count
    cubes.counts[CELLS] = 0


@leaf
def _fill_rows(rows: np.ndarray, first: int, span: np.void, task: Task, stacks: Stacks) -> int:
    """Write the hypotheses that a span may follow, best first; return the next row."""
    row, source = first, stacks.coverages[span.source]
    for parent in range(source.first, source.last):
        turn, base = step(parent, span, task, stacks)
        if turn < 0:
            continue
        # Hypotheses come best first and distances differ little, so insertion has little to move.
        place = row
        while place > first and rows[place - 1].shared < base:
            rows[place] = rows[place - 1]
            place -= 1
        rows[place].parent = parent
        rows[place].turn = turn
        rows[place].shared = base
        row += 1
    return row


@leaf
def _take_best(final: bool, pop_limit: int, task: Task, stacks: Stacks, buffer: Buffer, cubes: Cubes) -> None:
    """Add the best cells to the buffer; final: they are complete translations."""
    keys, items, waiting, pops = cubes.keys, cubes.items, 0, 0
    for number in range(cubes.counts[CUBES]):
        made = _score_cell(np.uint32(number), 0, 0, cubes, final, task, stacks)
        waiting = push(keys, items, waiting, cubes.cells[made].score + cubes.cubes[number].rest, made)
    while waiting > 0 and pops < pop_limit and keys[0] >= buffer.limits[THRESHOLD]:
        pops += 1
        first, taken = np.uint32(items[0]), True
        cell, states = cubes.cells[first], cubes.states[first]
        cube = cubes.cubes[cell.cube]
        option, parent = np.uint32(cube.option + cell.column), cubes.rows[cube.first + cell.row].parent
        add(parent, option, cube, cube.coverage, cell.score, cell.fallback, states, final, task, stacks, buffer)
        # One call for both neighbours: every further one would be compiled into the kernel once more.
        for down, right in ((1, 0), (0, 1)):
            row, column, made = cell.row + down, cell.column + right, -1
            if cube.first + row < cube.last and column < cube.columns:
                made = _score_cell(cell.cube, row, column, cubes, final, task, stacks)
            if made >= 0:
                key = cubes.cells[made].score + cube.rest
                if taken:  # a neighbour scores much as the cell does, so that it has not far to sink in its place
                    replace_first(keys, items, waiting, key, made)
                    taken = False
                else:
                    waiting = push(keys, items, waiting, key, made)
        if taken:
            waiting = pop(keys, items, waiting)[1]


@leaf(forceinline=True)  # see score_phrase
def _score_cell(number: int, row: int, column: int, cubes: Cubes, final: bool, task: Task, stacks: Stacks) -> int:
    """Score a cell of the cube ``number``; returns its own number, or -1 when it was scored before."""
    cube, options = cubes.cubes[number], task.options
    place, bit = np.uint32(cube.first + row), np.uint64(1) << np.uint64(column & 63)
    word = np.uint64(place) * np.uint64(cubes.counts[SEEN]) + np.uint64(column >> 6)
    if cubes.seen[word] & bit:
        return -1
    cubes.seen[word] |= bit
    made, line, option = np.uint32(cubes.counts[CELLS]), cubes.rows[place], np.uint32(cube.option + column)
    score = line.shared + options.score[option] + options.backward[option, line.turn]
    language, fallback = score_phrase(task, stacks.states[line.parent], option, final, cubes.states[made])
    cell = cubes.cells[made]
    cell.cube = number
    cell.row = row
    cell.column = column
    cell.score = score + language
    cell.fallback = fallback
    cubes.counts[CELLS] += 1
    return np.int64(made)
