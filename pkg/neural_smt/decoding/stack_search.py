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
    keep_room,
    range_key,
    reserve,
)
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
from neural_smt.jit import kernel
from neural_smt.language_model.primitives import Automaton


@kernel
def fill_by_expansion(
    size: int, sentences: Sentences, options: Options, hypotheses: Hypotheses, coverages: Coverages,
    stacks: np.ndarray, models: tuple[Automaton, ...], memo: np.ndarray, search: Search, buffer: Buffer,
) -> tuple[Buffer, np.ndarray]:  # fmt: skip
    """Make all hypotheses that cover ``size`` words, of every sentence of the batch, out of the smaller stacks.

    stacks: int64 [B, stacks, 2], the range of coverages of each stack. Returns the buffer (a larger one when it had
    to grow) and, int64 [B + 1, 3], where each sentence's candidates, groups and coverages start in it.
    """
    offsets = np.zeros((len(sentences.lengths) + 1, 3), dtype=np.int64)
    clear(buffer)
    for sentence in range(len(sentences.lengths)):
        begin_sentence(buffer)
        if size <= sentences.lengths[sentence]:
            buffer = _expand_sentence(
                sentence, size, sentences, options, hypotheses, coverages, stacks, models, memo, search, buffer
            )
        offsets[sentence + 1] = buffer.counts[1]
    return buffer, offsets


@kernel
def _expand_sentence(
    sentence: int, size: int, sentences: Sentences, options: Options, hypotheses: Hypotheses, coverages: Coverages,
    stacks: np.ndarray, models: tuple[Automaton, ...], memo: np.ndarray, search: Search, buffer: Buffer,
) -> Buffer:  # fmt: skip
    """Extend the hypotheses of the smaller stacks by every span that makes up ``size``."""
    words = sentences.lengths[sentence]
    limit = jump_limit(search.limit)
    for length in range(1, min(size, sentences.spans.shape[1]) + 1):
        for source in range(stacks[sentence, size - length, 0], stacks[sentence, size - length, 1]):
            gap, window = np.int64(coverages.gap[source]), coverages.window[source]
            for start in range(gap, min(max(gap, gap + limit - length), words - length) + 1):
                phrase = sentences.spans[sentences.first[sentence] + start, length - 1]
                if phrase < 0 or not fits(gap, window, start, start + length, limit):
                    continue
                first, last = coverages.first[source], coverages.last[source]
                count = options.offsets[phrase + 1] - options.offsets[phrase]
                buffer = reserve(buffer, (last - first) * count)
                new_gap, new_window = cover(gap, window, start, start + length)
                coverage, fresh = find_coverage(buffer, new_gap, new_window)
                if fresh:
                    buffer.rest[coverage] = rest_cost(sentences, sentence, new_gap, new_window)
                _extend(
                    first,
                    last,
                    phrase,
                    start,
                    coverage,
                    size == words,
                    options,
                    hypotheses,
                    models,
                    memo,
                    search,
                    buffer,
                )
    return buffer


@kernel
def _extend(
    first: int, last: int, phrase: int, start: int, coverage: int, final: bool, options: Options,
    hypotheses: Hypotheses, models: tuple[Automaton, ...], memo: np.ndarray, search: Search, buffer: Buffer,
) -> None:  # fmt: skip
    """Extend the hypotheses ``first`` to ``last`` of one coverage by the options of one span."""
    begin, end = options.offsets[phrase], options.offsets[phrase + 1]
    stop = start + options.source_length[begin]
    rest = buffer.rest[coverage]
    limit = jump_limit(search.limit)
    base_key = range_key(coverage, start, stop)
    next_states = np.empty(len(models), dtype=np.int32)
    # log p <= 0, so under weights of the usual sign a score without language model is a bound
    bounded = np.all(search.language >= 0)
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
            score += score_phrase(
                models, search.language, memo, hypotheses.states[parent], options, option, next_states
            )
            if final:
                score += score_end(models, search.language, next_states)
            if score + rest < buffer.limits[THRESHOLD]:
                continue
            key = np.uint64(0)  # nothing follows a complete translation: all are recombined
            if not final:
                history = hypotheses.history[parent]
                key = group_key(base_key, options.forward_class[option], next_states, history, options, option)
            add(buffer, key, coverage, next_states, parent, option, start, stop, score, search.beam, search.keep_arcs)
        keep_room(buffer, search.stack_size * search.margin)
