"""Extending hypotheses: the spans that may follow the coverages of smaller stacks, and stack decoding, which extends
every hypothesis by every option of them (Koehn 2004; Moses' default).
"""

import numpy as np

from neural_smt.decoding.buffer_primitives import (
    THRESHOLD,
    Buffer,
    add,
    find_coverage,
    has_room,
    index_groups,
    keep_best,
    most_kept,
    overfull,
    reserve,
)
from neural_smt.decoding.primitives import Stacks, Task, cover, fits, orientation, rest_cost, score_phrase
from neural_smt.jit import kernel, leaf

PART = 1 << 14
"""Candidates made before the buffer is looked at again, so that many options need no more room than few."""

SPAN = np.dtype([(name, np.uint32) for name in ("source", "start", "stop", "phrase")])
"""A way to extend a coverage of a smaller stack. source: number of the coverage; start, stop: source range of the span;
phrase: its source phrase. (An index that Numba knows to be positive is cheaper than one that may count from the end.)
"""


@leaf
def most_spans(sentence: int, size: int, task: Task, stacks: Stacks) -> int:
    """No fewer spans than extend the coverages of smaller stacks to ``size`` words."""
    coverages = 0
    for length in range(1, min(size, task.sentences.spans.shape[1]) + 1):
        coverages += stacks.ranges[sentence, size - length, 1] - stacks.ranges[sentence, size - length, 0]
    return coverages * (task.search.limit + 1)


@leaf
def write_spans(sentence: int, size: int, task: Task, stacks: Stacks, spans: np.ndarray) -> int:
    """Write every ``SPAN`` that extends a coverage of a smaller stack to ``size`` words, by length, coverage and start;
    returns how many there are.
    """
    sentences, limit, count = task.sentences, task.search.limit, 0
    words, first = sentences.lengths[sentence], sentences.first[sentence]
    for length in range(1, min(size, sentences.spans.shape[1]) + 1):
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
def new_coverage(sentence: int, span: np.void, task: Task, stacks: Stacks, buffer: Buffer) -> int:
    """The number in the buffer of the coverage that a span leads to."""
    source = stacks.coverages[span.source]
    gap, window = cover(np.int64(source.gap), source.window, np.int64(span.start), np.int64(span.stop))
    coverage, fresh = find_coverage(buffer, gap, window)
    if fresh:
        buffer.coverages[coverage].rest = rest_cost(task.sentences, sentence, gap, window)
    return coverage


@leaf
def step(parent: int, span: np.void, task: Task, stacks: Stacks) -> tuple[int, float]:
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
def expand(sentence: int, size: int, spans: np.ndarray, task: Task, stacks: Stacks, buffer: Buffer) -> Buffer:
    """Extend the hypotheses of the smaller stacks by every option of the spans."""
    final, most, number, parent = size == task.sentences.lengths[sentence], most_kept(task.search), 0, -1
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
    if task.search.margin > 1:  # the stateful feature will score what stays
        keep_best(buffer, most)
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
            coverage = new_coverage(sentence, span, task, stacks, buffer)
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
        turn, base = step(parent, span, task, stacks)
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
        if overfull(buffer, most_kept(search)):
            return parent + 1
    return last
