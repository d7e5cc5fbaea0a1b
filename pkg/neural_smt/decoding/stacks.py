"""The stacks of a batch: pruning a filled buffer into hypotheses and arcs, and scoring these late.

Of the hypotheses of a stack, less than half ever have an heir that survives. Where a stateful feature has a fallback
language model, a hypothesis therefore keeps that model's score of its last phrase until candidates of a later stack
extend it; then all arcs into it are scored, its best arc is chosen anew, and the candidates' scores move with its own.
So every arc on the way to a complete translation is scored in the end, and what leads nowhere costs the network
nothing.
"""

from typing import Any, NamedTuple

import numpy as np

from neural_smt.decoding.buffer_primitives import (
    BEST,
    CANDIDATES,
    COVERAGES,
    GROUPS,
    THRESHOLD,
    Buffer,
    keep_best,
)
from neural_smt.decoding.primitives import (
    PENDING,
    SCORED,
    Coverages,
    Hypotheses,
    Options,
    Stacks,
    Task,
    write_history,
)
from neural_smt.jit import kernel, leaf
from neural_smt.vocabulary import BOS

CLAIMED, REVISED = 2, 3
"""What ``Hypotheses.pending`` says while hypotheses are being scored."""


class Arcs(NamedTuple):
    """Ways into hypotheses, stack by stack and those of a sentence together (the arrays may have room for more).

    head, tail: int32, the hypothesis reached and the one extended; option, start: int32; score: float64, model score of
    the best derivation through the arc up to ``head``; extra: float64, the unweighted score of the stateful feature,
    or of its fallback language model. ranges: int64 [longest + 1, B + 1], where the arcs into each stack of each
    sentence start; the last column is where they end.
    """

    head: np.ndarray
    tail: np.ndarray
    option: np.ndarray
    start: np.ndarray
    score: np.ndarray
    extra: np.ndarray
    ranges: np.ndarray


def start_arcs(lengths: np.ndarray) -> Arcs:
    """Empty arcs for sentences of these lengths (int64 [B])."""
    columns = (np.empty(64 * len(lengths), dtype) for dtype in (*[np.int32] * 4, *[np.float64] * 2))
    return Arcs(*columns, np.zeros((lengths.max() + 1, len(lengths) + 1), np.int64))


def start_stacks(task: Task, history: int) -> Stacks:
    """The empty hypothesis of every sentence, with ``history`` words of context."""
    lengths = task.sentences.lengths
    batch, models = len(lengths), len(task.models)
    rows = 16 * batch
    ints = np.zeros((5, rows), dtype=np.int32)
    hypotheses = Hypotheses(
        score=np.zeros(rows),
        start=ints[0],
        stop=ints[1],
        option=np.full(rows, -1, np.int32),
        states=np.full((rows, models), [model.begin for model in task.models], dtype=np.int32),
        history=np.full((rows, history), BOS, np.int32),
        pending=np.zeros(rows, np.uint8),
    )
    coverages = Coverages(ints[2], np.zeros(rows, np.uint64), np.zeros(rows), ints[3], ints[4])
    ranges = np.zeros((batch, lengths.max() + 1, 2), dtype=np.int64)
    coverages.first[:batch] = ranges[:, 0, 0] = np.arange(batch)
    coverages.last[:batch] = ranges[:, 0, 1] = np.arange(1, batch + 1)
    return Stacks(hypotheses, coverages, ranges, np.array([batch, batch]))


def make_room(size: int, stacks: Stacks, arcs: Arcs, offsets: np.ndarray) -> tuple[Stacks, Arcs]:
    """The same with room for what ``settle_stack`` adds."""
    more = offsets[-1]
    hypotheses = _enlarged(stacks.hypotheses, stacks.counts[0] + more[GROUPS])
    coverages = _enlarged(stacks.coverages, stacks.counts[1] + more[COVERAGES])
    return (
        stacks._replace(hypotheses=hypotheses, coverages=coverages),
        _enlarged(arcs, arcs.ranges[size - 1, -1] + more[CANDIDATES]),
    )


def _enlarged(part: Any, needed: int) -> Any:
    """A tuple of arrays whose columns have room for ``needed`` rows."""
    rows = len(part[0])
    if needed <= rows:
        return part
    more = max(rows, needed - rows)
    columns = {name: column for name, column in part._asdict().items() if name != "ranges"}
    return part._replace(
        **{name: np.concatenate([c, np.zeros((more, *c.shape[1:]), c.dtype)]) for name, c in columns.items()}
    )


@kernel
def settle_stack(
    size: int, task: Task, stacks: Stacks, arcs: Arcs, buffer: Buffer, offsets: np.ndarray, rescored: bool
) -> None:
    """Prune the buffer to the stacks of ``size`` of every sentence, and add the arcs into the new hypotheses.

    There must be room (``make_room``). offsets: int64 [B + 1, 3], as ``fill`` returns them; rescored: the candidates'
    scores have changed since they were added.
    """
    search = task.search
    arcs.ranges[size, 0] = arcs.ranges[size - 1, len(offsets) - 1]
    for sentence in range(len(offsets) - 1):
        buffer.counts[0] = offsets[sentence]
        buffer.counts[1] = offsets[sentence + 1]
        if rescored:
            _choose_champions(buffer)
        _set_threshold(buffer, search.beam)
        keep_best(buffer, search.stack_size)
        stacks.ranges[sentence, size, 0] = stacks.counts[1]
        number = _write_hypotheses(buffer, task.options, stacks, search.fallback_lm >= 0)
        stacks.ranges[sentence, size, 1] = stacks.counts[1]
        arcs.ranges[size, sentence + 1] = _write_arcs(
            buffer, number, search.keep_arcs, arcs, arcs.ranges[size, sentence]
        )


@leaf
def _choose_champions(buffer: Buffer) -> None:
    """Find the best candidate of every group of the current sentence anew."""
    buffer.best[buffer.counts[0, GROUPS] : buffer.counts[1, GROUPS]] = -np.inf
    for candidate in range(buffer.counts[0, CANDIDATES], buffer.counts[1, CANDIDATES]):
        group = buffer.group[candidate]
        if buffer.score[candidate] > buffer.best[group]:
            buffer.best[group] = buffer.score[candidate]
            buffer.champion[group] = candidate


@leaf
def _set_threshold(buffer: Buffer, beam: float) -> None:
    best = -np.inf
    for group in range(buffer.counts[0, GROUPS], buffer.counts[1, GROUPS]):
        best = max(best, buffer.best[group] + buffer.rest[buffer.coverage[group]])
    buffer.limits[BEST] = best
    buffer.limits[THRESHOLD] = best + beam


@kernel
def _write_hypotheses(buffer: Buffer, options: Options, stacks: Stacks, pending: bool) -> np.ndarray:
    """Append the current sentence's groups as hypotheses, by coverage, then by score; return their numbers.

    pending: whether the stateful feature is yet to score them.
    """
    hypotheses, coverages, counts = stacks.hypotheses, stacks.coverages, stacks.counts
    first, last = buffer.counts[0, GROUPS], buffer.counts[1, GROUPS]
    first_coverage = buffer.counts[0, COVERAGES]
    tally = np.zeros(buffer.counts[1, COVERAGES] - first_coverage + 1, dtype=np.int64)
    for group in range(first, last):
        tally[buffer.coverage[group] - first_coverage + 1] += 1
    position = np.cumsum(tally) + counts[0]
    for coverage in range(len(tally) - 1):
        if tally[coverage + 1] > 0:
            row = counts[1]
            coverages.gap[row] = buffer.gap[first_coverage + coverage]
            coverages.window[row] = buffer.window[first_coverage + coverage]
            coverages.rest[row] = buffer.rest[first_coverage + coverage]
            coverages.first[row] = position[coverage]
            coverages.last[row] = position[coverage + 1]
            counts[1] += 1
    number = np.empty(last - first, dtype=np.int32)
    order = np.argsort(-buffer.best[first:last], kind="mergesort")
    for i in range(len(order)):
        group = first + order[i]
        coverage = buffer.coverage[group] - first_coverage
        row = position[coverage]
        position[coverage] += 1
        number[order[i]] = row
        champion = buffer.champion[group]
        hypotheses.score[row] = buffer.best[group]
        hypotheses.start[row] = buffer.start[champion]
        hypotheses.stop[row] = buffer.stop[group]
        hypotheses.option[row] = buffer.option[champion]
        hypotheses.pending[row] = PENDING if pending else SCORED
        for m in range(buffer.states.shape[1]):
            hypotheses.states[row, m] = buffer.states[group, m]
        write_history(hypotheses.history, row, buffer.parent[champion], options, buffer.option[champion])
    counts[0] += last - first
    return number


@leaf
def _write_arcs(buffer: Buffer, number: np.ndarray, keep_arcs: bool, arcs: Arcs, arc: int) -> int:
    """Write the current sentence's candidates, or only the best of each group, as arcs from ``arc`` on."""
    for candidate in range(buffer.counts[0, CANDIDATES], buffer.counts[1, CANDIDATES]):
        group = buffer.group[candidate]
        if keep_arcs or buffer.champion[group] == candidate:
            arcs.head[arc] = number[group - buffer.counts[0, GROUPS]]
            arcs.tail[arc] = buffer.parent[candidate]
            arcs.option[arc] = buffer.option[candidate]
            arcs.start[arc] = buffer.start[candidate]
            arcs.score[arc] = buffer.score[candidate]
            arcs.extra[arc] = buffer.extra[candidate]
            arc += 1
    return arc


@kernel
def claim_parents(stacks: Stacks, buffer: Buffer) -> None:
    """Mark the hypotheses that candidates of the buffer extend and that the feature has not scored yet."""
    pending = stacks.hypotheses.pending
    for candidate in range(buffer.counts[1, CANDIDATES]):
        if pending[buffer.parent[candidate]] == PENDING:
            pending[buffer.parent[candidate]] = CLAIMED


@kernel
def claim_complete(lengths: np.ndarray, stacks: Stacks) -> None:
    """Mark the complete hypotheses; lengths: int64 [B], words of the sentences."""
    for sentence in range(len(lengths)):
        first, last = stacks.ranges[sentence, lengths[sentence]]
        for coverage in range(first, last):
            stacks.hypotheses.pending[stacks.coverages.first[coverage] : stacks.coverages.last[coverage]] = CLAIMED


@kernel
def arcs_into_claimed(first: int, last: int, stacks: Stacks, arcs: Arcs) -> tuple[np.ndarray, np.ndarray]:
    """The arcs into marked hypotheses of the stacks ``first`` to ``last - 1``, int64 [n], and their sentences."""
    sentences = arcs.ranges.shape[1] - 1
    most = arcs.ranges[last - 1, sentences] - arcs.ranges[first, 0]
    chosen, owners = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    count = 0
    for size in range(first, last):
        for sentence in range(sentences):
            for arc in range(arcs.ranges[size, sentence], arcs.ranges[size, sentence + 1]):
                if stacks.hypotheses.pending[arcs.head[arc]] == CLAIMED:
                    chosen[count] = arc
                    owners[count] = sentence
                    count += 1
    return chosen[:count].copy(), owners[:count].copy()


@kernel
def revise(
    chosen: np.ndarray, scores: np.ndarray, weight: float, options: Options, stacks: Stacks, arcs: Arcs, buffer: Buffer
) -> np.ndarray:
    """Put the feature's scores in place of those of the fallback model: in arcs, in marked hypotheses they lead to,
    and in the candidates that extend these.

    chosen: int64 [n], all arcs into marked hypotheses; scores: float64 [n], the feature's, unweighted. Returns for
    each of these hypotheses, which of the arcs is the best (int64).
    """
    hypotheses = stacks.hypotheses
    best, ways = np.empty(len(chosen), dtype=np.int64), np.empty(len(hypotheses.score), dtype=np.int64)
    for candidate in range(buffer.counts[1, CANDIDATES]):
        parent = buffer.parent[candidate]
        if hypotheses.pending[parent] == CLAIMED:
            buffer.score[candidate] -= hypotheses.score[parent]
    for i in range(len(chosen)):
        arc = chosen[i]
        arcs.score[arc] += weight * (scores[i] - arcs.extra[arc])
        arcs.extra[arc] = scores[i]
        head = arcs.head[arc]
        if hypotheses.pending[head] == CLAIMED or arcs.score[arc] > hypotheses.score[head]:
            hypotheses.pending[head] = REVISED
            hypotheses.score[head] = arcs.score[arc]
            hypotheses.option[head] = arcs.option[arc]
            ways[head] = i
            write_history(hypotheses.history, head, arcs.tail[arc], options, arcs.option[arc])
    for candidate in range(buffer.counts[1, CANDIDATES]):
        parent = buffer.parent[candidate]
        if hypotheses.pending[parent] == REVISED:
            buffer.score[candidate] += hypotheses.score[parent]
    count = 0
    for i in range(len(chosen)):
        head = arcs.head[chosen[i]]
        if hypotheses.pending[head] == REVISED:
            hypotheses.pending[head] = SCORED
            best[count] = ways[head]
            count += 1
    return best[:count].copy()
