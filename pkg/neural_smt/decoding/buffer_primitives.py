"""The stack being filled: every new hypothesis of one size, of one sentence after another, before pruning.

A *candidate* is one extension of a hypothesis by an option. Candidates that nothing in the future can tell apart
(same coverage, last source range, forward reordering scores and language model states) form a *group* and are
recombined: the best one becomes a hypothesis, the others its further arcs. A full buffer drops its worst groups, as
Moses prunes a stack lazily at twice its size.
"""

from typing import NamedTuple

import numpy as np

from neural_smt.decoding.primitives import Options, enlarged, enlarged_rows
from neural_smt.jit import kernel, leaf, mix

CANDIDATES, GROUPS, COVERAGES = 0, 1, 2
THRESHOLD, BEST = 0, 1


class Buffer(NamedTuple):
    """Candidates, groups and coverages in growing arrays.

    Per candidate - parent, option, start: int32; score: float64, without future cost; extra: float64, the unweighted
    score of the stateful feature, or of its fallback language model; group: int32.
    Per group - key: uint64; best: float64, score of its best candidate, ``champion``: int32; coverage, stop: int32;
    states: int32 [groups, models].
    Per coverage - gap: int32; window: uint64; rest: float64 (see ``Coverages``).
    slots, coverage_slots: int32 hash tables of the current sentence's groups and coverages; counts: int64 [2, 3], where
    the current sentence's candidates, groups and coverages start, and how many there are in all; limits: float64 [2],
    the score (with future cost) below which a candidate of the current sentence is dropped, and the best seen.
    """

    parent: np.ndarray
    option: np.ndarray
    start: np.ndarray
    score: np.ndarray
    extra: np.ndarray
    group: np.ndarray
    key: np.ndarray
    best: np.ndarray
    champion: np.ndarray
    coverage: np.ndarray
    stop: np.ndarray
    states: np.ndarray
    gap: np.ndarray
    window: np.ndarray
    rest: np.ndarray
    slots: np.ndarray
    coverage_slots: np.ndarray
    counts: np.ndarray
    limits: np.ndarray


def new_buffer(models: int) -> Buffer:
    """An empty buffer for ``models`` language models."""
    candidates = (np.zeros(1024, dtype) for dtype in (*[np.int32] * 3, *[np.float64] * 2, np.int32))
    groups = (np.empty(1024, dtype) for dtype in (np.uint64, np.float64, np.int32, np.int32, np.int32))
    coverages = (np.empty(64, dtype) for dtype in (np.int32, np.uint64, np.float64))
    slots = (np.full(size, -1, np.int32) for size in (2048, 128))
    states = np.empty((1024, models), np.int32)
    return Buffer(*candidates, *groups, states, *coverages, *slots, np.zeros((2, 3), np.int64), np.zeros(2))


@kernel
def clear(buffer: Buffer) -> None:
    """Forget everything."""
    buffer.counts[:] = 0


@kernel
def begin_sentence(buffer: Buffer) -> None:
    """Start the stack of the next sentence behind those that are there."""
    buffer.counts[0] = buffer.counts[1]
    buffer.slots[:] = -1
    buffer.coverage_slots[:] = -1
    buffer.limits[:] = -np.inf


@kernel
def _room(count: int, capacity: int) -> int:
    while capacity < count:
        capacity *= 2
    return capacity


@kernel
def reserve(buffer: Buffer, candidates: int) -> Buffer:
    """A buffer with the same contents that has room for so many more candidates and one more coverage."""
    first, last = buffer.counts[0], buffer.counts[1]
    capacity = _room(last[CANDIDATES] + candidates, len(buffer.parent))
    coverages = _room(last[COVERAGES] + 1, len(buffer.gap))
    slots = _room(2 * (last[GROUPS] - first[GROUPS] + candidates), len(buffer.slots))
    coverage_slots = _room(2 * (last[COVERAGES] - first[COVERAGES] + 1), len(buffer.coverage_slots))
    grown = (
        capacity > len(buffer.parent)
        or coverages > len(buffer.gap)
        or slots > len(buffer.slots)
        or coverage_slots > len(buffer.coverage_slots)
    )
    if not grown:
        return buffer
    larger = Buffer(
        enlarged(buffer.parent, capacity),
        enlarged(buffer.option, capacity),
        enlarged(buffer.start, capacity),
        enlarged(buffer.score, capacity),
        enlarged(buffer.extra, capacity),
        enlarged(buffer.group, capacity),
        enlarged(buffer.key, capacity),
        enlarged(buffer.best, capacity),
        enlarged(buffer.champion, capacity),
        enlarged(buffer.coverage, capacity),
        enlarged(buffer.stop, capacity),
        enlarged_rows(buffer.states, capacity),
        enlarged(buffer.gap, coverages),
        enlarged(buffer.window, coverages),
        enlarged(buffer.rest, coverages),
        np.empty(slots, np.int32),
        np.empty(coverage_slots, np.int32),
        buffer.counts,
        buffer.limits,
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
        slot = buffer.key[group] & mask
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
        if coverage < 0 or (buffer.gap[coverage] == gap and buffer.window[coverage] == window):
            return slot
        slot = (slot + np.uint64(1)) & mask


@leaf
def _index_coverages(buffer: Buffer) -> None:
    buffer.coverage_slots[:] = -1
    for coverage in range(buffer.counts[0, COVERAGES], buffer.counts[1, COVERAGES]):
        buffer.coverage_slots[_coverage_slot(buffer, buffer.gap[coverage], buffer.window[coverage])] = coverage


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
    buffer.gap[coverage] = gap
    buffer.window[coverage] = window
    return coverage, True


@leaf
def range_key(coverage: int, start: int, stop: int) -> np.uint64:
    """What all candidates that cover the same last range share of their recombination key."""
    return mix(np.uint64((coverage << 40) | (start << 20) | stop))


@leaf
def group_key(
    base: np.uint64, forward_class: int, states: np.ndarray, history: np.ndarray, options: Options, option: int,
    context: int,
) -> np.uint64:  # fmt: skip
    """Recombination key: 64 bits of coverage and range, forward scores, model states, and the words read.

    history: int32 [words], the parent's last target words (none without a stateful feature); context: as of ``Search``.
    Different candidates of a stack of 10^5 share a key with a probability below 10^-9.
    """
    key = mix(base + np.uint64(forward_class))
    for m in range(len(states)):
        key = mix(key ^ np.uint64(states[m]))
    size = min(len(history), context)
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
def add(
    buffer: Buffer, key: np.uint64, coverage: int, states: np.ndarray, parent: int, option: int, start: int, stop: int,
    score: float, extra: float, beam: float, keep_arcs: bool,
) -> None:  # fmt: skip
    """Add a candidate (room must be reserved); without ``keep_arcs`` only the best of its group stays."""
    mask = np.uint64(len(buffer.slots) - 1)
    slot = key & mask
    group = buffer.slots[slot]
    while group >= 0 and buffer.key[group] != key:
        slot = (slot + np.uint64(1)) & mask
        group = buffer.slots[slot]
    known = group >= 0
    if known:
        better = score > buffer.best[group]
        if not better and not keep_arcs:
            return
    else:
        group = np.int32(buffer.counts[1, GROUPS])
        buffer.counts[1, GROUPS] += 1
        buffer.slots[slot] = group
        buffer.key[group] = key
        buffer.coverage[group] = coverage
        buffer.stop[group] = stop
        for m in range(len(states)):
            buffer.states[group, m] = states[m]
        better = True
    if known and not keep_arcs:
        candidate = np.int64(buffer.champion[group])
    else:
        candidate = buffer.counts[1, CANDIDATES]
        buffer.counts[1, CANDIDATES] += 1
    buffer.parent[candidate] = parent
    buffer.option[candidate] = option
    buffer.start[candidate] = start
    buffer.score[candidate] = score
    buffer.extra[candidate] = extra
    buffer.group[candidate] = group
    if better:
        buffer.best[group] = score
        buffer.champion[group] = candidate
        total = score + buffer.rest[coverage]
        if total > buffer.limits[BEST]:
            buffer.limits[BEST] = total
            buffer.limits[THRESHOLD] = max(buffer.limits[THRESHOLD], total + beam)


@kernel
def keep_best(buffer: Buffer, size: int) -> None:
    """Keep the ``size`` best groups of the current sentence that reach the threshold, and raise the threshold.

    Ties are kept in the order in which the groups were made. The hash table of groups is left as it was.
    """
    first_group, groups = buffer.counts[0, GROUPS], buffer.counts[1, GROUPS]
    threshold = buffer.limits[THRESHOLD]
    costs = np.empty(groups - first_group)
    for i in range(len(costs)):
        group = first_group + i
        costs[i] = -(buffer.best[group] + buffer.rest[buffer.coverage[group]])
    ties = size
    if len(costs) > size:
        cut = -np.partition(costs, size - 1)[size - 1]
        if cut >= threshold:
            threshold = cut
            for i in range(len(costs)):
                ties -= -costs[i] > cut
    number = np.full(len(costs), -1, dtype=np.int32)
    kept = first_group
    for i in range(len(costs)):
        total = -costs[i]
        if total > threshold or (total == threshold and ties > 0):
            ties -= total == threshold
            group = first_group + i
            number[i] = kept
            buffer.key[kept] = buffer.key[group]
            buffer.best[kept] = buffer.best[group]
            buffer.coverage[kept] = buffer.coverage[group]
            buffer.stop[kept] = buffer.stop[group]
            for m in range(buffer.states.shape[1]):
                buffer.states[kept, m] = buffer.states[group, m]
            buffer.champion[kept] = buffer.champion[group]
            kept += 1
    buffer.counts[1, GROUPS] = kept
    buffer.limits[THRESHOLD] = threshold

    candidate = buffer.counts[0, CANDIDATES]
    for row in range(buffer.counts[0, CANDIDATES], buffer.counts[1, CANDIDATES]):
        group = number[buffer.group[row] - first_group]
        if group < 0:
            continue
        buffer.parent[candidate] = buffer.parent[row]
        buffer.option[candidate] = buffer.option[row]
        buffer.start[candidate] = buffer.start[row]
        buffer.score[candidate] = buffer.score[row]
        buffer.extra[candidate] = buffer.extra[row]
        buffer.group[candidate] = group
        if buffer.champion[group] == row:
            buffer.champion[group] = candidate
        candidate += 1
    buffer.counts[1, CANDIDATES] = candidate


@leaf
def overfull(buffer: Buffer, size: int) -> bool:
    """Whether the current sentence has more than twice ``size`` groups."""
    return buffer.counts[1, GROUPS] - buffer.counts[0, GROUPS] > 2 * size
