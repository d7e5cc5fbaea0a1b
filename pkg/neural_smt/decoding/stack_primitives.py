"""The stacks of a batch: pruning a filled buffer into hypotheses and arcs, and scoring these late.

Of the hypotheses of a stack, less than half ever have an heir that survives. Where a stateful feature is lazy and has a
fallback language model, a hypothesis therefore keeps that model's score of its last phrase until candidates of a later
stack extend it; then all arcs into it are scored, its best arc is chosen anew, and the candidates' scores move with its
own. So every arc on the way to a complete translation is scored in the end, and what leads nowhere costs the network
nothing.
"""

import numpy as np

from neural_smt.decoding.buffer_primitives import BEST, CANDIDATES, COVERAGES, GROUPS, THRESHOLD, Buffer, keep_best
from neural_smt.decoding.primitives import COVERAGE, HYPOTHESIS, WAY, Options, Stacks, Task, write_history
from neural_smt.jit import assign, enlarged, kernel, leaf
from neural_smt.vocabulary import BOS

SCORED, PENDING, CLAIMED, REVISED = 0, 1, 2, 3
"""What ``pending`` of a hypothesis says: whether the stateful feature has scored the arcs into it, or is to; the last
two while hypotheses are being scored.
"""


def new_stacks(models: int, history: int) -> Stacks:
    """No room yet, for ``models`` language models and a feature that reads ``history`` words."""
    ranges, states, words = (
        np.zeros((0, 0, 2), np.int64),
        np.empty((0, models), np.int32),
        np.empty((0, history), np.int32),
    )
    rows = np.empty(0, HYPOTHESIS), states, words, np.empty(0, COVERAGE)
    return Stacks(*rows, ranges, np.zeros(3, np.int64), np.empty(0, WAY), ranges)


def start_search(task: Task, room: Stacks) -> Stacks:
    """The empty hypothesis of every sentence, in the room that another search has left."""
    lengths = task.sentences.lengths
    batch = len(lengths)
    hypotheses, coverages = with_room(room.hypotheses, 16 * batch), with_room(room.coverages, 16 * batch)
    states, history = with_room(room.states, 16 * batch), with_room(room.history, 16 * batch)
    ranges = np.zeros((batch, lengths.max() + 1, 2), dtype=np.int64)
    hypotheses[:batch], coverages[:batch], history[:batch] = np.zeros(1, HYPOTHESIS), np.zeros(1, COVERAGE), BOS
    hypotheses["option"][:batch], states[:batch] = -1, [model.begin for model in task.models]
    coverages["first"][:batch] = ranges[:, 0, 0] = np.arange(batch)
    coverages["last"][:batch] = ranges[:, 0, 1] = np.arange(1, batch + 1)
    counts, arcs = np.array([0, batch, batch]), with_room(room.arcs, 64 * batch)
    return Stacks(hypotheses, states, history, coverages, ranges, counts, arcs, np.zeros_like(ranges))


@kernel
def settle(size: int, task: Task, stacks: Stacks, buffer: Buffer, offsets: np.ndarray) -> Stacks:
    """Settle the stacks of ``size`` words of all sentences (see ``settle_stack``), once a feature has scored them.

    offsets: int64 [B + 1, 3], where the candidates, groups and coverages of each sentence begin in the buffer. Returns
    the stacks, larger ones where they had to grow.
    """
    for sentence in range(len(offsets) - 1):
        assign(buffer.counts[0], offsets[sentence])
        assign(buffer.counts[1], offsets[sentence + 1])
        choose_champions(buffer)
        while not settle_stack(sentence, size, task, stacks, buffer):
            stacks = with_room_for(stacks, buffer)
    return stacks


@leaf
def settle_stack(sentence: int, size: int, task: Task, stacks: Stacks, buffer: Buffer) -> bool:
    """Prune what the buffer holds of a sentence to its stack of ``size`` words, and add the arcs into the new
    hypotheses. Returns false where the stacks have no room for these.
    """
    _set_threshold(buffer, task.search.beam)
    keep_best(buffer, task.search.stack_size)
    if not _has_room(stacks, buffer):
        return False
    stacks.ranges[sentence, size, 0] = stacks.counts[COVERAGES]
    stacks.arc_ranges[sentence, size, 0] = stacks.counts[CANDIDATES]
    _write_hypotheses(buffer, task.options, stacks, task.search.lazy)
    _write_arcs(buffer, task.search.keep_arcs, stacks)
    stacks.ranges[sentence, size, 1] = stacks.counts[COVERAGES]
    stacks.arc_ranges[sentence, size, 1] = stacks.counts[CANDIDATES]
    return True


@leaf
def _has_room(stacks: Stacks, buffer: Buffer) -> bool:
    """Whether all that the buffer holds of a sentence has a place in the stacks."""
    now, first, last = stacks.counts, buffer.counts[0], buffer.counts[1]
    return (
        now[CANDIDATES] + last[CANDIDATES] - first[CANDIDATES] <= len(stacks.arcs)
        and now[GROUPS] + last[GROUPS] - first[GROUPS] <= len(stacks.hypotheses)
        and now[COVERAGES] + last[COVERAGES] - first[COVERAGES] <= len(stacks.coverages)
    )


@kernel
def with_room_for(stacks: Stacks, buffer: Buffer) -> Stacks:
    """Stacks with room for all that the buffer holds of a sentence."""
    arcs, hypotheses, coverages = stacks.counts + buffer.counts[1] - buffer.counts[0]
    return Stacks(
        with_room(stacks.hypotheses, hypotheses),
        with_room(stacks.states, hypotheses),
        with_room(stacks.history, hypotheses),
        with_room(stacks.coverages, coverages),
        stacks.ranges,
        stacks.counts,
        with_room(stacks.arcs, arcs),
        stacks.arc_ranges,
    )


@kernel
def with_room(rows: np.ndarray, needed: int) -> np.ndarray:
    """An array with room for ``needed`` rows, and for as many again where it has to grow."""
    return rows if needed <= len(rows) else enlarged(rows, max(needed, 2 * len(rows)))


@leaf
def choose_champions(buffer: Buffer) -> None:
    """Find the best candidate of every group of the current sentence anew."""
    buffer.groups["best"][buffer.counts[0, GROUPS] : buffer.counts[1, GROUPS]] = -np.inf
    for candidate in range(buffer.counts[0, CANDIDATES], buffer.counts[1, CANDIDATES]):
        group, score = buffer.candidates[candidate].head, buffer.candidates[candidate].score
        if score > buffer.groups[group].best:
            buffer.groups[group].best = score
            buffer.groups[group].champion = candidate


@leaf
def _set_threshold(buffer: Buffer, beam: float) -> None:
    best = -np.inf
    for i in range(buffer.counts[0, GROUPS], buffer.counts[1, GROUPS]):
        group = buffer.groups[i]
        best = max(best, group.best + buffer.coverages[group.coverage].rest)
    buffer.limits[BEST] = best
    buffer.limits[THRESHOLD] = best + beam


@leaf
def _write_hypotheses(buffer: Buffer, options: Options, stacks: Stacks, pending: bool) -> None:
    """Append the current sentence's groups as hypotheses, by coverage, then by score, and number them in ``numbers``.

    pending: whether the stateful feature is yet to score them.
    """
    first, last, begin = buffer.counts[0, GROUPS], buffer.counts[1, GROUPS], stacks.counts[GROUPS]
    first_coverage, starts = buffer.counts[0, COVERAGES], buffer.tally[0]
    coverages = buffer.counts[1, COVERAGES] - first_coverage
    number, order = buffer.numbers[0], buffer.numbers[1]
    _sort_groups(buffer, order)
    for coverage in range(coverages):
        if starts[coverage + 1] > starts[coverage]:
            settled = stacks.counts[COVERAGES]
            stacks.coverages[settled] = buffer.coverages[first_coverage + coverage]
            stacks.coverages[settled].first = begin + starts[coverage]
            stacks.coverages[settled].last = begin + starts[coverage + 1]
            stacks.counts[COVERAGES] = settled + 1
    for place in range(last - first):
        group, row = buffer.groups[order[place]], begin + place
        number[order[place] - first] = row
        way, hypothesis = buffer.candidates[group.champion], stacks.hypotheses[row]
        hypothesis.score = group.best
        hypothesis.start = way.start
        hypothesis.stop = group.stop
        hypothesis.option = way.option
        hypothesis.pending = PENDING if pending else SCORED
        for m in range(buffer.states.shape[1]):
            stacks.states[row, m] = buffer.states[order[place], m]
        write_history(stacks.history, row, way.tail, options, way.option)
    stacks.counts[GROUPS] = begin + last - first


@leaf
def _sort_groups(buffer: Buffer, order: np.ndarray) -> None:
    """Write the current sentence's groups into ``order`` (int32) by coverage, then by score, ties as they were made;
    and into ``tally`` where in it each coverage begins.

    Insertion has little to move: cube pruning makes groups nearly best first, and other searches many coverages.
    """
    groups, first_coverage, (starts, ends) = buffer.groups, buffer.counts[0, COVERAGES], buffer.tally
    first, last, ends = buffer.counts[0, GROUPS], buffer.counts[1, GROUPS], buffer.tally[1]
    coverages = buffer.counts[1, COVERAGES] - first_coverage
    for coverage in range(coverages + 1):
        starts[coverage] = 0
    for group in range(first, last):
        starts[groups[group].coverage - first_coverage + 1] += 1
    for coverage in range(coverages):
        starts[coverage + 1] += starts[coverage]
        ends[coverage] = starts[coverage]
    for group in range(first, last):
        coverage, best = groups[group].coverage - first_coverage, groups[group].best
        place, start = ends[coverage], starts[coverage]
        while place > start and groups[order[place - 1]].best < best:
            order[place] = order[place - 1]
            place -= 1
        order[place] = group
        ends[coverage] += 1


@leaf
def _write_arcs(buffer: Buffer, keep_arcs: bool, stacks: Stacks) -> None:
    """Append the current sentence's candidates, or only the best of each group, as arcs."""
    arc, number = stacks.counts[CANDIDATES], buffer.numbers[0]
    for candidate in range(buffer.counts[0, CANDIDATES], buffer.counts[1, CANDIDATES]):
        group = buffer.candidates[candidate].head
        if keep_arcs or buffer.groups[group].champion == candidate:
            stacks.arcs[arc] = buffer.candidates[candidate]
            stacks.arcs[arc].head = number[group - buffer.counts[0, GROUPS]]
            arc += 1
    stacks.counts[CANDIDATES] = arc


@kernel
def claim_parents(stacks: Stacks, buffer: Buffer) -> None:
    """Mark the hypotheses that candidates of the buffer extend and that the feature has not scored yet."""
    for candidate in range(buffer.counts[1, CANDIDATES]):
        parent = stacks.hypotheses[buffer.candidates[candidate].tail]
        if parent.pending == PENDING:
            parent.pending = CLAIMED


@kernel
def claim_complete(lengths: np.ndarray, stacks: Stacks) -> None:
    """Mark the complete hypotheses; lengths: int64 [B], words of the sentences."""
    for sentence in range(len(lengths)):
        first, last = stacks.ranges[sentence, lengths[sentence]]
        for coverage in range(first, last):
            for hypothesis in range(stacks.coverages[coverage].first, stacks.coverages[coverage].last):
                stacks.hypotheses[hypothesis].pending = CLAIMED


@kernel
def claimed_arcs(first: int, last: int, stacks: Stacks) -> tuple[np.ndarray, np.ndarray]:
    """The arcs into marked hypotheses of the stacks ``first`` to ``last - 1``, int64 [n], and their sentences."""
    sentences, count = len(stacks.arc_ranges), 0
    for size in range(first, last):
        for sentence in range(sentences):
            count += stacks.arc_ranges[sentence, size, 1] - stacks.arc_ranges[sentence, size, 0]
    chosen, owners = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    count = 0
    for size in range(first, last):
        for sentence in range(sentences):
            for arc in range(stacks.arc_ranges[sentence, size, 0], stacks.arc_ranges[sentence, size, 1]):
                if stacks.hypotheses[stacks.arcs[arc].head].pending == CLAIMED:
                    chosen[count] = arc
                    owners[count] = sentence
                    count += 1
    return chosen[:count].copy(), owners[:count].copy()


@kernel
def revise(
    chosen: np.ndarray, scores: np.ndarray, weight: float, options: Options, stacks: Stacks, buffer: Buffer
) -> np.ndarray:
    """Put the feature's scores in place of those of the fallback model: in arcs, in marked hypotheses they lead to,
    and in the candidates that extend these.

    chosen: int64 [n], all arcs into marked hypotheses; scores: float64 [n], the feature's, unweighted. Returns for
    each of these hypotheses, which of the arcs is the best (int64).
    """
    hypotheses = stacks.hypotheses
    best, ways = np.empty(len(chosen), dtype=np.int64), np.empty(len(hypotheses), dtype=np.int64)
    for i in range(buffer.counts[1, CANDIDATES]):
        candidate = buffer.candidates[i]
        if hypotheses[candidate.tail].pending == CLAIMED:
            candidate.score -= hypotheses[candidate.tail].score
    for i in range(len(chosen)):
        way = stacks.arcs[chosen[i]]
        way.score += weight * (scores[i] - way.extra)
        way.extra = scores[i]
        head = hypotheses[way.head]
        if head.pending == CLAIMED or way.score > head.score:
            head.pending = REVISED
            head.score = way.score
            head.option = way.option
            ways[way.head] = i
            write_history(stacks.history, way.head, way.tail, options, way.option)
    for i in range(buffer.counts[1, CANDIDATES]):
        candidate = buffer.candidates[i]
        if hypotheses[candidate.tail].pending == REVISED:
            candidate.score += hypotheses[candidate.tail].score
    count = 0
    for i in range(len(chosen)):
        head = stacks.arcs[chosen[i]].head
        if hypotheses[head].pending == REVISED:
            hypotheses[head].pending = SCORED
            best[count] = ways[head]
            count += 1
    return best[:count].copy()
