"""Stack decoding: every hypothesis is extended by every option that may follow it (Koehn 2004; Moses' default)."""

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
from neural_smt.jit import kernel, leaf

PART = 1 << 14
"""Candidates made before the buffer is looked at again, so that many options need no more room than few."""


@kernel
def fill_by_expansion(size: int, task: Task, stacks: Stacks, buffer: Buffer) -> tuple[Buffer, np.ndarray]:
    """Make all hypotheses that cover ``size`` words, of every sentence of the batch, out of the smaller stacks.

    Returns the buffer (a larger one when it had to grow) and, int64 [B + 1, 3], where each sentence's candidates,
    groups and coverages start in it.
    """
    lengths = task.sentences.lengths
    offsets = np.zeros((len(lengths) + 1, 3), dtype=np.int64)
    clear(buffer)
    for sentence in range(len(lengths)):
        begin_sentence(buffer)
        if size <= lengths[sentence]:
            buffer = _expand_sentence(sentence, size, task, stacks, buffer)
        offsets[sentence + 1] = buffer.counts[1]
    return buffer, offsets


@kernel
def _expand_sentence(sentence: int, size: int, task: Task, stacks: Stacks, buffer: Buffer) -> Buffer:
    """Extend the hypotheses of the smaller stacks by every span that makes up ``size``."""
    sentences, coverages, ranges = task.sentences, stacks.coverages, stacks.ranges
    offsets = task.options.offsets
    words = sentences.lengths[sentence]
    limit = jump_limit(task.search.limit)
    most = int(task.search.stack_size * task.search.margin)
    next_states = np.empty(len(task.models), dtype=np.int32)
    for length in range(1, min(size, sentences.spans.shape[1]) + 1):
        for source in range(ranges[sentence, size - length, 0], ranges[sentence, size - length, 1]):
            gap, window = np.int64(coverages.gap[source]), coverages.window[source]
            for start in range(gap, min(max(gap, gap + limit - length), words - length) + 1):
                phrase = sentences.spans[sentences.first[sentence] + start, length - 1]
                if phrase < 0 or not fits(gap, window, start, start + length, limit):
                    continue
                parent, last = np.int64(coverages.first[source]), np.int64(coverages.last[source])
                choices = offsets[phrase + 1] - offsets[phrase]
                new_gap, new_window = cover(gap, window, start, start + length)
                while parent < last:
                    until = min(last, parent + max(1, PART // choices))
                    buffer = reserve(buffer, (until - parent) * choices)
                    coverage, fresh = find_coverage(buffer, new_gap, new_window)
                    if fresh:
                        buffer.rest[coverage] = rest_cost(sentences, sentence, new_gap, new_window)
                    parent = _extend(
                        parent, until, phrase, start, coverage, size == words, task, stacks, buffer, next_states
                    )
                    if overfull(buffer, most):
                        keep_best(buffer, most)
                        index_groups(buffer)
    if task.search.margin > 1:  # a hook is to score what stays
        keep_best(buffer, most)
    return buffer


@leaf
def _extend(
    first: int,
    last: int,
    phrase: int,
    start: int,
    coverage: int,
    final: bool,
    task: Task,
    stacks: Stacks,
    buffer: Buffer,
    next_states: np.ndarray,
) -> int:
    """Extend the hypotheses from ``first`` to ``last``, all of one coverage, by the options of one span.

    Stops early when the buffer has too many groups; returns the first hypothesis not extended. ``next_states`` (int32
    [models]) is room to work in.
    """
    options, hypotheses, search = task.options, stacks.hypotheses, task.search
    begin, end = options.offsets[phrase], options.offsets[phrase + 1]
    stop = start + np.int64(options.source_length[begin])
    rest = buffer.rest[coverage]
    limit = jump_limit(search.limit)
    base_key = range_key(coverage, start, stop)
    bounded = True  # log p <= 0, so under weights of the usual sign a score without language model is a bound
    for m in range(len(search.language)):
        bounded = bounded and search.language[m] >= 0
    keep_arcs = search.keep_arcs or (final and search.margin > 1)  # all end alike, but for what a hook will say
    for parent in range(first, last):
        distance = abs(hypotheses.stop[parent] - start)
        if distance > limit:
            continue
        turn = orientation(hypotheses.start[parent], hypotheses.stop[parent], start, stop)
        base = hypotheses.score[parent] - search.distortion * distance
        if hypotheses.option[parent] >= 0:
            base += options.forward[hypotheses.option[parent], turn]
        for option in range(begin, end):
            score = base + options.score[option] + options.backward[option, turn]
            if bounded and score + rest < buffer.limits[THRESHOLD]:
                continue
            language, led = score_phrase(task, hypotheses.states[parent], option, next_states)
            if final:
                closing, led_closing = score_end(task, next_states)
                language, led = language + closing, led + led_closing
            score += language
            if score + rest < buffer.limits[THRESHOLD]:
                continue
            key = np.uint64(0)  # nothing follows a complete translation: all are recombined
            if not final:
                history = hypotheses.history[parent]
                forward = options.forward_class[option]
                key = group_key(base_key, forward, next_states, history, options, option, search.context)
            add(buffer, key, coverage, next_states, parent, option, start, stop, score, led, search.beam, keep_arcs)
        if overfull(buffer, int(search.stack_size * search.margin)):
            return parent + 1
    return last
