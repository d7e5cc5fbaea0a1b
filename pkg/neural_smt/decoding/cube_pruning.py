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
    keep_room,
    range_key,
    reserve,
)
from neural_smt.decoding.heap_primitives import pop, push
from neural_smt.decoding.primitives import (
    Coverages,
    Hypotheses,
    Options,
    Search,
    Sentences,
    cover,
    fits,
    jump_limit,
    orientation,
    rest_cost,
    score_end,
    score_phrase,
)
from neural_smt.jit import kernel, mix
from neural_smt.language_model.primitives import Automaton


class Cubes(NamedTuple):
    """The cubes of a stack. Per cube - first: int32 [cubes + 1], its rows; phrase, start, coverage: int32.

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
    """Scored cells. cube, row, column: int32; score: float64; states: int32 [cells, models]; keys, items: a heap by
    score with future cost; seen: int32, hash table of cells."""

    cube: np.ndarray
    row: np.ndarray
    column: np.ndarray
    score: np.ndarray
    states: np.ndarray
    keys: np.ndarray
    items: np.ndarray
    seen: np.ndarray


@kernel
def fill_by_cubes(
    size: int, sentences: Sentences, options: Options, hypotheses: Hypotheses, coverages: Coverages,
    stacks: np.ndarray, models: tuple[Automaton, ...], memo: np.ndarray, search: Search, buffer: Buffer,
) -> tuple[Buffer, np.ndarray]:  # fmt: skip
    """Make the best hypotheses that cover ``size`` words, of every sentence; see ``fill_by_expansion``."""
    offsets = np.zeros((len(sentences.lengths) + 1, 3), dtype=np.int64)
    clear(buffer)
    for sentence in range(len(sentences.lengths)):
        begin_sentence(buffer)
        if size <= sentences.lengths[sentence]:
            buffer = reserve(buffer, search.pop_limit)
            buffer, cubes = _make_cubes(
                sentence, size, sentences, options, hypotheses, coverages, stacks, search, buffer
            )
            final = size == sentences.lengths[sentence]
            _explore(cubes, final, options, hypotheses, models, memo, search, buffer)
        offsets[sentence + 1] = buffer.counts[1]
    return buffer, offsets


@kernel
def _make_cubes(
    sentence: int, size: int, sentences: Sentences, options: Options, hypotheses: Hypotheses, coverages: Coverages,
    stacks: np.ndarray, search: Search, buffer: Buffer,
) -> tuple[Buffer, Cubes]:  # fmt: skip
    """One cube for every coverage of the smaller stacks and every span that makes up ``size``."""
    words = sentences.lengths[sentence]
    limit = jump_limit(search.limit)
    longest = min(size, sentences.spans.shape[1])
    room, rows_room = 0, 0
    for length in range(1, longest + 1):
        for source in range(stacks[sentence, size - length, 0], stacks[sentence, size - length, 1]):
            room += limit + 1
            rows_room += (limit + 1) * (coverages.last[source] - coverages.first[source])
    cubes = Cubes(
        np.zeros(room + 1, np.int32), np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int32),
        np.empty(rows_room, np.int32), np.empty(rows_room, np.int8), np.empty(rows_room),
    )  # fmt: skip
    count = 0
    for length in range(1, longest + 1):
        for source in range(stacks[sentence, size - length, 0], stacks[sentence, size - length, 1]):
            gap, window = np.int64(coverages.gap[source]), coverages.window[source]
            for start in range(gap, min(max(gap, gap + limit - length), words - length) + 1):
                phrase = sentences.spans[sentences.first[sentence] + start, length - 1]
                if phrase < 0 or not fits(gap, window, start, start + length, limit):
                    continue
                cubes.first[count + 1] = _fill_rows(
                    cubes, cubes.first[count], coverages.first[source], coverages.last[source], start, start + length,
                    hypotheses, options, search,
                )  # fmt: skip
                if cubes.first[count + 1] == cubes.first[count]:
                    continue
                buffer = reserve(buffer, search.pop_limit)
                new_gap, new_window = cover(gap, window, start, start + length)
                coverage, fresh = find_coverage(buffer, new_gap, new_window)
                if fresh:
                    buffer.rest[coverage] = rest_cost(sentences, sentence, new_gap, new_window)
                cubes.phrase[count] = phrase
                cubes.start[count] = start
                cubes.coverage[count] = coverage
                count += 1
    return buffer, Cubes(
        cubes.first[: count + 1], cubes.phrase[:count], cubes.start[:count], cubes.coverage[:count], cubes.parent,
        cubes.turn, cubes.base,
    )  # fmt: skip


@kernel
def _fill_rows(
    cubes: Cubes, row: int, first: int, last: int, start: int, stop: int, hypotheses: Hypotheses, options: Options,
    search: Search,
) -> int:  # fmt: skip
    """Write the hypotheses ``first`` to ``last`` that may jump to ``start``, best first; return the row after them."""
    begin = row
    limit = jump_limit(search.limit)
    for parent in range(first, last):
        distance = abs(hypotheses.stop[parent] - start)
        if distance > limit:
            continue
        turn = orientation(hypotheses.start[parent], hypotheses.stop[parent], start, stop)
        base = hypotheses.score[parent] - search.distortion * distance
        if hypotheses.option[parent] >= 0:
            base += options.forward[hypotheses.option[parent], turn]
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
def _explore(
    cubes: Cubes, final: bool, options: Options, hypotheses: Hypotheses, models: tuple[Automaton, ...],
    memo: np.ndarray, search: Search, buffer: Buffer,
) -> None:  # fmt: skip
    """Take the best cells of all cubes, up to the pop limit, and add them to the buffer."""
    room = len(cubes.phrase) + 2 * search.pop_limit
    slots = 64
    while slots < 2 * room:
        slots *= 2
    cells = Cells(
        np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room),
        np.empty((room, len(models)), np.int32), np.empty(room), np.empty(room, np.int32), np.full(slots, -1, np.int32),
    )  # fmt: skip
    made, waiting = 0, 0
    for cube in range(len(cubes.phrase)):
        made, waiting = _score_cell(
            cube, 0, 0, made, waiting, cubes, cells, final, options, hypotheses, models, memo, search, buffer
        )
    pops = 0
    while waiting > 0 and pops < search.pop_limit:
        cell, waiting = pop(cells.keys, cells.items, waiting)
        pops += 1
        cube, row, column = cells.cube[cell], cells.row[cell], cells.column[cell]
        coverage = cubes.coverage[cube]
        option = options.offsets[cubes.phrase[cube]] + column
        if cells.score[cell] + buffer.rest[coverage] < buffer.limits[THRESHOLD]:
            break  # the rest is worse
        parent = cubes.parent[cubes.first[cube] + row]
        start = cubes.start[cube]
        stop = start + options.source_length[option]
        key = np.uint64(0)  # nothing follows a complete translation: all are recombined
        if not final:
            key = group_key(
                range_key(np.int64(coverage), np.int64(start), np.int64(stop)), options.forward_class[option],
                cells.states[cell], hypotheses.history[parent], options, option,
            )  # fmt: skip
        add(
            buffer, key, coverage, cells.states[cell], parent, option, start, stop, cells.score[cell], search.beam,
            search.keep_arcs,
        )  # fmt: skip
        if row + 1 < cubes.first[cube + 1] - cubes.first[cube]:
            made, waiting = _score_cell(
                cube, row + 1, column, made, waiting, cubes, cells, final, options, hypotheses, models, memo, search,
                buffer,
            )  # fmt: skip
        if option + 1 < options.offsets[cubes.phrase[cube] + 1]:
            made, waiting = _score_cell(
                cube, row, column + 1, made, waiting, cubes, cells, final, options, hypotheses, models, memo, search,
                buffer,
            )  # fmt: skip
    keep_room(buffer, search.stack_size * search.margin)


@kernel
def _score_cell(
    cube: int, row: int, column: int, made: int, waiting: int, cubes: Cubes, cells: Cells, final: bool,
    options: Options, hypotheses: Hypotheses, models: tuple[Automaton, ...], memo: np.ndarray, search: Search,
    buffer: Buffer,
) -> tuple[int, int]:  # fmt: skip
    """Score a cell and let it wait for its turn, unless it was scored before."""
    mask = np.uint64(len(cells.seen) - 1)
    slot = mix((np.uint64(cube) << np.uint64(40)) ^ (np.uint64(row) << np.uint64(20)) ^ np.uint64(column)) & mask
    while cells.seen[slot] >= 0:
        other = cells.seen[slot]
        if cells.cube[other] == cube and cells.row[other] == row and cells.column[other] == column:
            return made, waiting
        slot = (slot + np.uint64(1)) & mask
    cells.seen[slot] = made
    option = options.offsets[cubes.phrase[cube]] + column
    grid_row = cubes.first[cube] + row
    parent = cubes.parent[grid_row]
    score = cubes.base[grid_row] + options.score[option] + options.backward[option, cubes.turn[grid_row]]
    states = cells.states[made]
    score += score_phrase(models, search.language, memo, hypotheses.states[parent], options, option, states)
    if final:
        score += score_end(models, search.language, states)
    cells.cube[made] = cube
    cells.row[made] = row
    cells.column[made] = column
    cells.score[made] = score
    waiting = push(cells.keys, cells.items, waiting, score + buffer.rest[cubes.coverage[cube]], made)
    return made + 1, waiting
