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
    find_coverage,
    has_room,
    index_groups,
    keep_best,
    keeps_arcs,
    overfull,
    reserve,
)
from neural_smt.decoding.primitives import Stacks, Task, cover, fits, orientation, pop, push, rest_cost, score_phrase
from neural_smt.jit import assign, kernel, leaf

PART = 1 << 14
"""Candidates made before the buffer is looked at again, so that many options need no more room than few."""

SPAN = np.dtype([(name, np.uint32) for name in ("source", "start", "stop", "phrase")])
"""A way to extend a coverage of a smaller stack. source: number of the coverage; start, stop: source range of the span;
phrase: its source phrase. (An index that Numba knows to be positive is cheaper than one that may count from the end.)
"""

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


class Cubes(NamedTuple):
    """The cubes of a stack.

    cubes: ``CUBE``; rows: ``ROW``, of all cubes; cells: ``CELL``, as they are scored; states: int32 [cells, models],
    after each cell; keys, items: the cells that wait, a heap by score with future cost; seen: uint64 [rows, words], bit
    by column, which cells of a row were scored; counts: int64 [2], cells scored, and waiting.
    """

    cubes: np.ndarray
    rows: np.ndarray
    cells: np.ndarray
    states: np.ndarray
    keys: np.ndarray
    items: np.ndarray
    seen: np.ndarray
    counts: np.ndarray


@kernel
def fill(size: int, task: Task, stacks: Stacks, buffer: Buffer, pop_limit: int | None) -> tuple[Buffer, np.ndarray]:
    """Fill the stacks of ``size`` words of all sentences of the batch, one after the other (see ``fill_stack``).

    Returns the buffer (a larger one when it had to grow) and, int64 [B + 1, 3], where each sentence's candidates,
    groups and coverages start in it.
    """
    lengths = task.sentences.lengths
    offsets = np.zeros((len(lengths) + 1, 3), dtype=np.int64)
    buffer.counts[:] = 0
    for sentence in range(len(lengths)):
        buffer = fill_stack(sentence, size, task, stacks, buffer, pop_limit)
        assign(offsets[sentence + 1], buffer.counts[1])
    return buffer, offsets


@kernel
def fill_stack(
    sentence: int, size: int, task: Task, stacks: Stacks, buffer: Buffer, pop_limit: int | None
) -> Buffer:  # fmt: skip
    """Make the hypotheses of a sentence that cover ``size`` words out of the smaller stacks, after what the buffer
    holds (nothing, where the sentence has fewer words).

    pop_limit: of cube pruning; None for stack decoding (Numba compiles only the branch that its type takes). Returns
    the buffer, a larger one when it had to grow.
    """
    words = task.sentences.lengths[sentence]
    assign(buffer.counts[0], buffer.counts[1])
    buffer.slots[:] = -1
    buffer.coverage_slots[:] = -1
    buffer.limits[:] = -np.inf
    final = size == words
    if size <= words:
        spans = _find_spans(sentence, size, task, stacks)
        if pop_limit is None:
            buffer = _expand(sentence, final, spans, task, stacks, buffer)
        else:
            buffer, cubes = _make_cubes(sentence, spans, pop_limit, task, stacks, buffer)
            _explore(cubes, pop_limit, final, task, stacks, buffer)
        if task.search.margin > 1:  # the stateful feature will score what stays
            keep_best(buffer, int(task.search.stack_size * task.search.margin))
    return buffer


@kernel
def _find_spans(sentence: int, size: int, task: Task, stacks: Stacks) -> np.ndarray:
    """Every ``SPAN`` that extends a coverage of a smaller stack to ``size`` words, by length, coverage and start."""
    longest, coverages = min(size, task.sentences.spans.shape[1]), 0
    for length in range(1, longest + 1):
        coverages += stacks.ranges[sentence, size - length, 1] - stacks.ranges[sentence, size - length, 0]
    spans = np.empty(coverages * (task.search.limit + 1), SPAN)
    return spans[: _write_spans(sentence, size, longest, task, stacks, spans)]


@leaf
def _write_spans(sentence: int, size: int, longest: int, task: Task, stacks: Stacks, spans: np.ndarray) -> int:
    """Write the spans (``_find_spans``) of up to ``longest`` words; returns how many there are."""
    sentences, limit, count = task.sentences, task.search.limit, 0
    words, first = sentences.lengths[sentence], sentences.first[sentence]
    for length in range(1, longest + 1):
        for source in range(stacks.ranges[sentence, size - length, 0], stacks.ranges[sentence, size - length, 1]):
            gap, window = np.int64(stacks.coverages[source].gap), stacks.coverages[source].window
            for start in range(gap, min(max(gap, gap + limit - length), words - length) + 1):
                phrase = sentences.spans[first + start, length - 1]
                if phrase >= 0 and fits(gap, window, start, start + length, limit):
                    spans[count].source = source
                    spans[count].start = start
                    spans[count].stop = start + length
                    spans[count].phrase = phrase
                    count += 1
    return count


@leaf
def _new_coverage(sentence: int, span: np.void, task: Task, stacks: Stacks, buffer: Buffer) -> int:
    """The number in the buffer of the coverage that a span leads to."""
    source = stacks.coverages[span.source]
    gap, window = cover(np.int64(source.gap), source.window, np.int64(span.start), np.int64(span.stop))
    coverage, fresh = find_coverage(buffer, gap, window)
    if fresh:
        buffer.coverages[coverage].rest = rest_cost(task.sentences, sentence, gap, window)
    return coverage


@leaf
def _step(parent: int, span: np.void, task: Task, stacks: Stacks) -> tuple[int, float]:
    """Orientation of a span after a hypothesis (-1: too far away), and the score of all its extensions so far."""
    hypothesis = stacks.hypotheses[parent]
    distance = abs(hypothesis.stop - span.start)
    if distance > task.search.limit:
        return -1, 0.0
    turn = orientation(hypothesis.start, hypothesis.stop, span.start, span.stop)
    base = hypothesis.score - task.search.distortion * distance
    if hypothesis.option >= 0:
        base += task.options.forward[hypothesis.option, turn]
    return turn, base


@kernel
def _expand(sentence: int, final: bool, spans: np.ndarray, task: Task, stacks: Stacks, buffer: Buffer) -> Buffer:
    """Extend the hypotheses of the smaller stacks by every option of the spans; final: to complete ones."""
    most, number, parent = int(task.search.stack_size * task.search.margin), 0, -1
    next_states = np.empty(len(task.models), dtype=np.int32)
    while number < len(spans):
        number, parent, needed = _extend_by(
            number, parent, most, sentence, final, spans, task, stacks, buffer, next_states
        )
        if overfull(buffer, most):
            keep_best(buffer, most)
            index_groups(buffer)
        elif needed > 0:
            buffer = reserve(buffer, needed, 1)
    return buffer


@leaf
def _extend_by(
    number: int, parent: int, most: int, sentence: int, final: bool, spans: np.ndarray, task: Task, stacks: Stacks,
    buffer: Buffer, next_states: np.ndarray,
) -> tuple[int, int, int]:  # fmt: skip
    """Extend hypotheses by the options of one span after the other, from a hypothesis (-1: the first one) of the span
    ``number`` on, while the buffer has room and at most twice ``most`` groups.

    Returns where to go on, and how many candidates need room for that.
    """
    offsets = task.options.offsets
    while number < len(spans):
        span = spans[number]
        source, choices = stacks.coverages[span.source], offsets[span.phrase + 1] - offsets[span.phrase]
        last = np.int64(source.last)
        parent = np.int64(source.first) if parent < 0 else parent
        while parent < last:
            until = min(last, parent + max(1, PART // choices))
            needed = (until - parent) * choices
            if not has_room(buffer, needed, 1):
                return number, parent, needed
            coverage = _new_coverage(sentence, span, task, stacks, buffer)
            parent = _extend(parent, until, span, coverage, final, task, stacks, buffer, next_states)
            if overfull(buffer, most):
                return number, parent, 0
        number, parent = number + 1, -1
    return number, parent, 0


@leaf
def _extend(
    first: int, last: int, span: np.void, coverage: int, final: bool, task: Task, stacks: Stacks, buffer: Buffer,
    next_states: np.ndarray,
) -> int:  # fmt: skip
    """Extend the hypotheses from ``first`` to ``last``, all of one coverage, by the options of one span.

    Stops early when the buffer has too many groups; returns the first hypothesis not extended. ``next_states`` (int32
    [models]) is room to work in.
    """
    options, search = task.options, task.search
    rest = buffer.coverages[coverage].rest
    bounded = True  # log p <= 0, so under weights of the usual sign a score without language model is a bound
    for m in range(len(search.language)):
        bounded = bounded and search.language[m] >= 0
    for parent in range(first, last):
        turn, base = _step(parent, span, task, stacks)
        if turn < 0:
            continue
        for option in range(options.offsets[span.phrase], options.offsets[span.phrase + 1]):
            score = base + options.score[option] + options.backward[option, turn]
            if bounded and score + rest < buffer.limits[THRESHOLD]:
                continue
            language, fallback = score_phrase(task, stacks.states[parent], option, final, next_states)
            score += language
            if score + rest >= buffer.limits[THRESHOLD]:
                add(parent, option, span, coverage, score, fallback, next_states, final, task, stacks, buffer)
        if overfull(buffer, int(search.stack_size * search.margin)):
            return parent + 1
    return last


@kernel
def _make_cubes(
    sentence: int, spans: np.ndarray, pop_limit: int, task: Task, stacks: Stacks, buffer: Buffer
) -> tuple[Buffer, Cubes]:
    """One cube for every span, and room for the cells that ``pop_limit`` allows."""
    buffer = reserve(buffer, pop_limit, len(spans))
    cubes, rows = np.empty(len(spans), CUBE), np.empty(_count_rows(spans, stacks), ROW)
    count, row, columns = _write_cubes(sentence, spans, task, stacks, buffer, cubes, rows)
    most = count + 2 * pop_limit
    cells, states = np.empty(most, CELL), np.empty((most, len(task.models)), np.int32)
    keys, items = np.empty(most, np.float64), np.empty(most, np.int32)
    seen = np.zeros((row, (columns + 63) >> 6), np.uint64)
    return buffer, Cubes(cubes[:count], rows, cells, states, keys, items, seen, np.zeros(2, np.int64))


@leaf
def _count_rows(spans: np.ndarray, stacks: Stacks) -> int:
    """The most rows that the cubes of the spans have."""
    count = 0
    for number in range(len(spans)):
        source = stacks.coverages[spans[number].source]
        count += np.int64(source.last) - np.int64(source.first)
    return count


@leaf
def _write_cubes(
    sentence: int, spans: np.ndarray, task: Task, stacks: Stacks, buffer: Buffer, cubes: np.ndarray, rows: np.ndarray
) -> tuple[int, int, int]:
    """Write the cubes and their rows; returns how many cubes and rows there are, and the most columns of a cube."""
    count, row, columns, offsets = 0, 0, np.int64(1), task.options.offsets
    for number in range(len(spans)):
        span = spans[number]
        first, row = row, _fill_rows(rows, row, span, task, stacks)
        if row > first:
            cube = cubes[count]
            cube.first = first
            cube.last = row
            cube.option = offsets[span.phrase]
            cube.columns = offsets[span.phrase + 1] - offsets[span.phrase]
            cube.start = span.start
            cube.stop = span.stop
            cube.coverage = _new_coverage(sentence, span, task, stacks, buffer)
            cube.rest = buffer.coverages[cube.coverage].rest
            columns = max(columns, np.int64(cube.columns))
            count += 1
    return count, row, columns


@leaf
def _fill_rows(rows: np.ndarray, first: int, span: np.void, task: Task, stacks: Stacks) -> int:
    """Write the hypotheses that a span may follow, best first; return the next row."""
    row, source = first, stacks.coverages[span.source]
    for parent in range(source.first, source.last):
        turn, base = _step(parent, span, task, stacks)
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
def _explore(cubes: Cubes, pop_limit: int, final: bool, task: Task, stacks: Stacks, buffer: Buffer) -> None:
    """Take the best cells of all cubes, up to the pop limit, and add them to the buffer."""
    search = task.search
    for number in range(len(cubes.cubes)):
        _score_cell(number, 0, 0, cubes, final, task, stacks)
    if keeps_arcs(search, final) and not search.keep_arcs:
        pop_limit = min(pop_limit, (search.stack_size + 1) // 2)  # one of them will be the translation
    pops = 0
    while cubes.counts[1] > 0 and pops < pop_limit and cubes.keys[0] >= buffer.limits[THRESHOLD]:
        taken, cubes.counts[1] = pop(cubes.keys, cubes.items, cubes.counts[1])
        pops += 1
        cell, states = cubes.cells[taken], cubes.states[taken]
        cube = cubes.cubes[cell.cube]
        option, parent = cube.option + cell.column, cubes.rows[cube.first + cell.row].parent
        add(parent, option, cube, cube.coverage, cell.score, cell.fallback, states, final, task, stacks, buffer)
        # One call for both neighbours: every further one would be compiled into the kernel once more.
        for down, right in ((1, 0), (0, 1)):
            row, column = cell.row + down, cell.column + right
            if cube.first + row < cube.last and column < cube.columns:
                _score_cell(np.int64(cell.cube), row, column, cubes, final, task, stacks)


@leaf(forceinline=True)  # see score_phrase
def _score_cell(number: int, row: int, column: int, cubes: Cubes, final: bool, task: Task, stacks: Stacks) -> None:
    """Score a cell of the cube ``number`` and let it wait for its turn, unless it was scored before."""
    cube, options = cubes.cubes[number], task.options
    place, word, bit = cube.first + row, column >> 6, np.uint64(1) << np.uint64(column & 63)
    if cubes.seen[place, word] & bit:
        return
    cubes.seen[place, word] |= bit
    made, line, option = cubes.counts[0], cubes.rows[place], cube.option + column
    score = line.shared + options.score[option] + options.backward[option, line.turn]
    language, fallback = score_phrase(task, stacks.states[line.parent], option, final, cubes.states[made])
    cell = cubes.cells[made]
    cell.cube = number
    cell.row = row
    cell.column = column
    cell.score = score + language
    cell.fallback = fallback
    cubes.counts[1] = push(cubes.keys, cubes.items, cubes.counts[1], cell.score + cube.rest, made)
    cubes.counts[0] = made + 1
