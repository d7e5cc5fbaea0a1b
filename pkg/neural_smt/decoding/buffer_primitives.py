"""The stack being filled: every new hypothesis of one size, of one sentence after another, before pruning.

A *candidate* is one extension of a hypothesis by an option. Candidates that nothing in the future can tell apart
(same coverage, last source range, forward reordering scores and language model states) form a *group* and are
recombined: the best one becomes a hypothesis, the others its further arcs. A full buffer drops its worst groups, as
Moses prunes a stack lazily at twice its size.
"""

from typing import NamedTuple

import numpy as np

from neural_smt.decoding.primitives import COVERAGE, WAY, Search, Stacks, Task
from neural_smt.jit import assign, enlarged, kernel, leaf, mix

CANDIDATES, GROUPS, COVERAGES = 0, 1, 2
THRESHOLD, BEST = 0, 1

GROUP = np.dtype(
    [("key", np.uint64), ("best", np.float64)] + [(name, np.int32) for name in ("champion", "coverage", "stop")],
    align=True,
)
"""key: see ``_group_key``; best: score of its best candidate, ``champion``; stop: the end of the last source range."""


class Buffer(NamedTuple):
    """Candidates, groups and coverages in growing arrays.

    candidates: ``WAY``, into the group ``head``; groups: ``GROUP``; states: int32 [groups, models]; coverages:
    ``COVERAGE``; slots, coverage_slots: int32 hash tables of the current sentence's groups and coverages; counts: int64
    [2, 3], where the current sentence's candidates, groups and coverages start, and how many there are in all; limits:
    float64 [2], the score (with future cost) below which a candidate of the current sentence is dropped, and the best
    seen. Room to work in: numbers, int32 [2, groups], costs, float64 [2, groups], tally, int64 [2, coverages + 1].
    """

    candidates: np.ndarray
    groups: np.ndarray
    states: np.ndarray
    coverages: np.ndarray
    slots: np.ndarray
    coverage_slots: np.ndarray
    counts: np.ndarray
    limits: np.ndarray
    numbers: np.ndarray
    costs: np.ndarray
    tally: np.ndarray


def new_buffer(models: int) -> Buffer:
    """An empty buffer for ``models`` language models."""
    rows = (np.zeros(1024, WAY), np.zeros(1024, GROUP), np.zeros((1024, models), np.int32), np.zeros(64, COVERAGE))
    slots = (np.full(size, -1, np.int32) for size in (512, 128))
    room = np.zeros((2, 1024), np.int32), np.zeros((2, 1024)), np.zeros((2, 65), np.int64)
    return Buffer(*rows, *slots, np.zeros((2, 3), np.int64), np.zeros(2), *room)


@kernel
def _room(count: int, capacity: int) -> int:
    while capacity < count:
        capacity *= 2
    return capacity


@leaf
def begin_stack(buffer: Buffer) -> None:
    """Begin a stack of another sentence after what the buffer holds."""
    assign(buffer.counts[0], buffer.counts[1])
    buffer.slots[:] = -1
    buffer.coverage_slots[:] = -1
    buffer.limits[:] = -np.inf


@leaf
def has_room(buffer: Buffer, candidates: int, coverages: int) -> bool:
    """Whether so many more candidates and coverages have a place."""
    first, last = buffer.counts[0], buffer.counts[1]
    return (
        last[CANDIDATES] + candidates <= len(buffer.candidates)
        and last[COVERAGES] + coverages <= len(buffer.coverages)
        and 2 * (last[GROUPS] - first[GROUPS] + candidates) <= len(buffer.slots)
        and 2 * (last[COVERAGES] - first[COVERAGES] + coverages) <= len(buffer.coverage_slots)
    )


@kernel
def reserve(buffer: Buffer, candidates: int, coverages: int) -> Buffer:
    """A buffer with the same contents that has room for so many more candidates and coverages.

    What returns a buffer counts references to all its arrays, so this is nothing for inner loops.
    """
    if has_room(buffer, candidates, coverages):
        return buffer
    first, last = buffer.counts[0], buffer.counts[1]
    capacity = _room(last[CANDIDATES] + candidates, len(buffer.candidates))
    most_coverages = _room(last[COVERAGES] + coverages, len(buffer.coverages))
    slots = _room(2 * (last[GROUPS] - first[GROUPS] + candidates), len(buffer.slots))
    coverage_slots = _room(2 * (last[COVERAGES] - first[COVERAGES] + coverages), len(buffer.coverage_slots))
    larger = Buffer(
        enlarged(buffer.candidates, capacity),
        enlarged(buffer.groups, capacity),
        enlarged(buffer.states, capacity),
        enlarged(buffer.coverages, most_coverages),
        np.empty(slots, np.int32),
        np.empty(coverage_slots, np.int32),
        buffer.counts,
        buffer.limits,
        np.empty((2, capacity), np.int32),
        np.empty((2, capacity)),
        np.empty((2, most_coverages + 1), np.int64),
    )
    index_groups(larger)
    _index_coverages(larger)
    return larger


@leaf
def index_groups(buffer: Buffer) -> None:
    """Build the hash table of the current sentence's groups anew."""
    buffer.slots[:] = -1
    mask = np.uint64(len(buffer.slots) - 1)
    for group in range(buffer.counts[0, GROUPS], buffer.counts[1, GROUPS]):
        slot = buffer.groups[group].key & mask
        while buffer.slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        buffer.slots[slot] = group


@leaf
def _coverage_slot(buffer: Buffer, gap: int, window: np.uint64) -> np.uint64:
    """The slot where the coverage stands or would stand."""
    mask = np.uint64(len(buffer.coverage_slots) - 1)
    slot = mix(mix(window) ^ np.uint64(gap)) & mask
    while True:
        coverage = buffer.coverage_slots[slot]
        if coverage < 0 or (buffer.coverages[coverage].gap == gap and buffer.coverages[coverage].window == window):
            return slot
        slot = (slot + np.uint64(1)) & mask


@leaf
def _index_coverages(buffer: Buffer) -> None:
    buffer.coverage_slots[:] = -1
    for coverage in range(buffer.counts[0, COVERAGES], buffer.counts[1, COVERAGES]):
        found = buffer.coverages[coverage]
        buffer.coverage_slots[_coverage_slot(buffer, np.int64(found.gap), found.window)] = coverage


@leaf
def find_coverage(buffer: Buffer, gap: int, window: np.uint64) -> tuple[int, bool]:
    """The number of a coverage of the current sentence and whether it is new (``rest`` is then the caller's to set)."""
    slot = _coverage_slot(buffer, gap, window)
    coverage = np.int64(buffer.coverage_slots[slot])
    if coverage >= 0:
        return coverage, False
    coverage = buffer.counts[1, COVERAGES]
    buffer.counts[1, COVERAGES] += 1
    buffer.coverage_slots[slot] = coverage
    buffer.coverages[coverage].gap = gap
    buffer.coverages[coverage].window = window
    return coverage, True


@leaf
def _group_key(
    option: int, span: np.void, coverage: int, states: np.ndarray, history: np.ndarray, task: Task
) -> np.uint64:
    """Recombination key: 64 bits of coverage and range, forward scores, model states, and the words read.

    history: int32 [words], the parent's last target words (none without a stateful feature). Different candidates of a
    stack of 10^5 share a key with a probability below 10^-9.
    """
    options, start = task.options, np.int64(span.start) if task.search.reordering else np.int64(0)
    key = mix(np.uint64((np.int64(coverage) << 40) | (start << 20) | np.int64(span.stop)))
    key = mix(key + np.uint64(options.forward_class[option]))
    for m in range(len(states)):
        key = mix(key ^ np.uint64(states[m]))
    size = min(len(history), task.search.context)
    if size > 0:
        added = options.word_offsets[option + 1] - options.word_offsets[option]
        for position in range(added - size, added):
            word = (
                history[len(history) + position]
                if position < 0
                else options.words[options.word_offsets[option] + position]
            )
            key = mix(key ^ np.uint64(word + 1))
    return key


@leaf
def most_kept(search: Search) -> int:
    """How many groups are kept until the stateful feature has scored."""
    return int(search.stack_size * search.margin)


@leaf(forceinline=True)  # see score_phrase
def add(
    parent: int, option: int, span: np.void, coverage: int, score: float, extra: float, states: np.ndarray, final: bool,
    task: Task, stacks: Stacks, buffer: Buffer,
) -> None:  # fmt: skip
    """Add an extension (room must be reserved); without ``keep_arcs`` only the best of its group stays."""
    keep_arcs = task.search.keep_arcs
    key = np.uint64(0)  # nothing follows a complete translation: all are recombined
    if not final:
        key = _group_key(option, span, coverage, states, stacks.history[parent], task)
    mask = np.uint64(len(buffer.slots) - 1)
    slot = key & mask
    found = buffer.slots[slot]
    while found >= 0 and buffer.groups[np.uint32(found)].key != key:
        slot = (slot + np.uint64(1)) & mask
        found = buffer.slots[slot]
    known = found >= 0
    number = np.uint32(found if known else buffer.counts[1, GROUPS])
    group, better = buffer.groups[number], True
    if known:
        better = score > group.best
        if not better and not keep_arcs:
            return
    else:
        buffer.counts[1, GROUPS] += 1
        buffer.slots[slot] = number
        group.key = key
        group.coverage = coverage
        group.stop = span.stop
        for m in range(len(states)):
            buffer.states[number, m] = states[m]
    candidate = np.uint32(group.champion)
    if not known or keep_arcs:
        candidate = np.uint32(buffer.counts[1, CANDIDATES])
        buffer.counts[1, CANDIDATES] += 1
    way = buffer.candidates[candidate]
    way.head = number
    way.tail = parent
    way.option = option
    way.start = span.start
    way.score = score
    way.extra = extra
    if better:
        group.best = score
        group.champion = candidate
        total = score + buffer.coverages[coverage].rest
        if total > buffer.limits[BEST]:
            buffer.limits[BEST] = total
            buffer.limits[THRESHOLD] = max(buffer.limits[THRESHOLD], total + task.search.beam)


@leaf
def _ranked(values: np.ndarray, rank: int) -> float:
    """The value at place ``rank`` were they sorted, which moves some (Hoare's Find, 1961).

    ``np.partition`` is slower, and takes five seconds to compile.
    """
    low, high = 0, len(values) - 1
    while low < high:
        value, left, right = values[rank], low, high
        while left <= right:
            while values[left] < value:
                left += 1
            while value < values[right]:
                right -= 1
            if left <= right:
                values[left], values[right] = values[right], values[left]
                left, right = left + 1, right - 1
        low, high = left if right < rank else low, right if rank < left else high
    return values[rank]


@leaf
def keep_best(buffer: Buffer, size: int) -> None:
    """Keep the ``size`` best groups of the current sentence that reach the threshold, and raise the threshold.

    Ties are kept in the order in which the groups were made. The hash table of groups is left as it was.
    """
    first_group, count = buffer.counts[0, GROUPS], buffer.counts[1, GROUPS] - buffer.counts[0, GROUPS]
    threshold, costs, number, ties = buffer.limits[THRESHOLD], buffer.costs[0, :count], buffer.numbers[0], size
    for i in range(count):
        group = buffer.groups[first_group + i]
        costs[i] = -(group.best + buffer.coverages[group.coverage].rest)
    if count > size:
        moved = buffer.costs[1, :count]
        assign(moved, costs)
        cut = -_ranked(moved, size - 1)
        if cut >= threshold:
            threshold = cut
            for i in range(count):
                ties -= -costs[i] > cut
    kept = first_group
    for i in range(count):
        total, number[i] = -costs[i], -1
        if total > threshold or (total == threshold and ties > 0):
            ties -= total == threshold
            number[i] = kept
            buffer.groups[kept] = buffer.groups[first_group + i]
            for m in range(buffer.states.shape[1]):
                buffer.states[kept, m] = buffer.states[first_group + i, m]
            kept += 1
    buffer.counts[1, GROUPS] = kept
    buffer.limits[THRESHOLD] = threshold

    candidate = buffer.counts[0, CANDIDATES]
    for row in range(buffer.counts[0, CANDIDATES], buffer.counts[1, CANDIDATES]):
        group = number[buffer.candidates[row].head - first_group]
        if group < 0:
            continue
        buffer.candidates[candidate] = buffer.candidates[row]
        buffer.candidates[candidate].head = group
        if buffer.groups[group].champion == row:
            buffer.groups[group].champion = candidate
        candidate += 1
    buffer.counts[1, CANDIDATES] = candidate


@leaf
def overfull(buffer: Buffer, size: int) -> bool:
    """Whether the current sentence has more than twice ``size`` groups."""
    return buffer.counts[1, GROUPS] - buffer.counts[0, GROUPS] > 2 * size
