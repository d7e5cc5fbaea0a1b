"""Kernels of the line search over lattices: upper envelopes of all derivations, their translations, their BLEU.

Along a direction, a derivation with score c and slope b is the line ``c + x b``, and the best one for each x is the
upper envelope of these lines (Macherey et al. 2008, section 3). The paper propagates the envelopes of all nodes from
the first to the last. Here the last node's envelope alone is found, the same one, by bisection: between two of its
lines either another line lies above the point where they cross, which the best derivation there tells, or there is
none (Eisner and Severance 1976, "Mathematical methods for computing the parametric shortest path"). What makes that
cheap is that the best score of a derivation through an arc is convex in x and so never above the chord of its values
at the ends of an interval. Arcs whose chord is too low are dropped, and only few are left after the first steps: the
search took a quarter of the time of propagated envelopes, to the same breakpoints.
"""

from typing import NamedTuple

import numpy as np

from neural_smt.bleu import SIZE
from neural_smt.bleu_primitives import count_statistics
from neural_smt.io.lookup_primitives import differ
from neural_smt.jit import kernel, leaf
from neural_smt.tuning.envelope_primitives import sweep

TOLERANCE = 1e-9
"""Scores that differ by less, relative to their size if that is above 1, count as equal."""


class Arcs(NamedTuple):
    """Some arcs of a sentence, ordered by head: n arcs, m nodes numbered from 0 (the start) to m - 1 (the end).

    tails, heads: int32 ``[n]``; slopes: float32 ``[n]`` and scores: float64 ``[n]`` of their lines; numbers: int32
    ``[n]``, which arcs of the pool they are.
    """

    tails: np.ndarray
    heads: np.ndarray
    slopes: np.ndarray
    scores: np.ndarray
    numbers: np.ndarray


@leaf
def find_potentials(arcs: Arcs, x: float, forward: np.ndarray, backward: np.ndarray) -> None:
    """Write the best score from the start to each node and from there to the end at x, float64 ``[m]`` each."""
    forward[:], backward[:] = -np.inf, -np.inf
    forward[0] = backward[-1] = 0.0
    for arc in range(len(arcs.tails)):
        score = forward[arcs.tails[arc]] + (arcs.scores[arc] + x * arcs.slopes[arc])
        if score > forward[arcs.heads[arc]]:
            forward[arcs.heads[arc]] = score
    for arc in range(len(arcs.tails) - 1, -1, -1):
        score = backward[arcs.heads[arc]] + (arcs.scores[arc] + x * arcs.slopes[arc])
        if score > backward[arcs.tails[arc]]:
            backward[arcs.tails[arc]] = score


@kernel
def best_path(arcs: Arcs, x: float, forward: np.ndarray) -> tuple[np.ndarray, float, float]:
    """The best derivation at x: the numbers of its arcs (int32, first arc first), slope and score of its line.

    Ties go to the earlier arc.
    """
    path = np.empty(len(forward), dtype=np.int32)
    start, node, chosen, slope, total = len(path), len(forward) - 1, -1, 0.0, 0.0
    for arc in range(len(arcs.tails) - 1, -2, -1):
        if chosen >= 0 and (arc < 0 or arcs.heads[arc] < node):
            start -= 1
            path[start] = arcs.numbers[chosen]
            slope += arcs.slopes[chosen]
            total += arcs.scores[chosen]
            node, chosen = np.int64(arcs.tails[chosen]), -1
        if arc >= 0 and arcs.heads[arc] == node:
            score = forward[arcs.tails[arc]] + (arcs.scores[arc] + x * arcs.slopes[arc])
            if score == forward[node]:
                chosen = arc
    return path[start:], slope, total


@leaf
def _keep(
    arcs: Arcs, low: float, left: np.ndarray, high: float, right: np.ndarray, x: float, level: float, kept: Arcs,
    node: np.ndarray,
) -> int:  # fmt: skip
    """Copy the arcs whose chord from ``low`` to ``high`` reaches ``level`` at x into ``kept``; how many there are.

    node: int32 ``[m]``, written: -1 for a node that no kept arc reaches.
    """
    share, count = (x - low) / (high - low), 0
    node[:] = -1
    node[0] = 0
    for arc in range(len(arcs.tails)):
        tail, head = arcs.tails[arc], arcs.heads[arc]
        slope, score = arcs.slopes[arc], arcs.scores[arc]
        first = left[0, tail] + (score + low * slope) + left[1, head]
        last = right[0, tail] + (score + high * slope) + right[1, head]
        if node[tail] >= 0 and first + share * (last - first) >= level:
            node[head] = 0
            kept.tails[count], kept.heads[count] = tail, head
            kept.slopes[count], kept.scores[count] = slope, score
            kept.numbers[count] = arcs.numbers[arc]
            count += 1
    return count


@kernel
def _narrow(
    arcs: Arcs, low: float, left: np.ndarray, high: float, right: np.ndarray, x: float, level: float
) -> tuple[Arcs, np.ndarray, np.ndarray]:
    """The arcs whose chord from ``low`` to ``high`` reaches ``level`` at x, and the potentials of the nodes left.

    left, right: potentials float64 ``[2, m]`` at both ends.
    """
    size, node = len(arcs.tails), np.empty(left.shape[1], dtype=np.int32)
    tails, heads, numbers = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32)
    slopes, scores = np.empty(size, np.float32), np.empty(size)
    count = _keep(arcs, low, left, high, right, x, level, Arcs(tails, heads, slopes, scores, numbers), node)
    left_on, right_on = left[:, node >= 0], right[:, node >= 0]
    nodes = 0
    for i in range(len(node)):
        if node[i] >= 0:
            node[i] = nodes
            nodes += 1
    for arc in range(count):
        tails[arc], heads[arc] = node[tails[arc]], node[heads[arc]]
    return Arcs(tails[:count], heads[:count], slopes[:count], scores[:count], numbers[:count]), left_on, right_on


@kernel
def find_envelope(
    arcs: Arcs, centre: np.ndarray, low: float, high: float, segments: list, lines: list, paths: list
) -> None:
    """The upper envelope of the derivations of one sentence for ``low <= x <= high`` (``low < 0 < high``).

    centre: float64 ``[2, m]``, potentials at x = 0. The three lists, empty before, hold afterwards: ``segments``, by
    rising x, from where on each of its lines is best (``low`` for the first) and its place in the two others;
    ``lines``, slope and score at x = 0; ``paths``, int32, the numbers of the arcs of their derivations.
    """
    left, right = np.empty_like(centre), np.empty_like(centre)
    find_potentials(arcs, low, left[0], left[1])
    find_potentials(arcs, high, right[0], right[1])
    for x, potentials in ((low, left), (0.0, centre), (high, right)):
        path, slope, score = best_path(arcs, x, potentials[0])
        lines.append((slope, score))
        paths.append(path)
    segments.append((low, 0))
    # intervals still to be searched, the leftmost on top; Numba can't cache a kernel that calls itself
    waiting = [(arcs, 0.0, centre, 1, high, right, 2), (arcs, low, left, 0, 0.0, centre, 1)]
    while len(waiting) > 0:
        arcs, start, left, first, stop, right, last = waiting.pop()
        difference = lines[last][0] - lines[first][0]
        if difference <= TOLERANCE:
            continue
        x = min(max((lines[first][1] - lines[last][1]) / difference, start), stop)
        level = max(lines[first][1] + x * lines[first][0], lines[last][1] + x * lines[last][0])
        tolerance = TOLERANCE * max(1.0, abs(level))
        kept, lefts, rights = _narrow(arcs, start, left, stop, right, x, level - tolerance)
        middle = np.empty_like(lefts)
        find_potentials(kept, x, middle[0], middle[1])
        if middle[0, -1] <= level + tolerance:
            segments.append((x, last))
            continue
        path, slope, score = best_path(kept, x, middle[0])
        waiting.append((kept, x, middle, len(lines), stop, rights, last))
        waiting.append((kept, start, lefts, first, x, middle, len(lines)))
        lines.append((slope, score))
        paths.append(path)


class PooledLattices(NamedTuple):
    """The lattices of S sentences and their references, as the kernels read them.

    node_offsets: int64 ``[S + 1]``; first_arcs: int64 ``[S + 1]``, where the arcs of each sentence start; tails, heads:
    int32 ``[A]``, nodes numbered within the sentence, ordered by head; numbers: int32 ``[A]``, 0 to A - 1; words: int32
    and word_offsets: int64 ``[A + 1]``; references: int32 and reference_offsets: int64 ``[S + 1]``.
    """

    node_offsets: np.ndarray
    first_arcs: np.ndarray
    tails: np.ndarray
    heads: np.ndarray
    numbers: np.ndarray
    words: np.ndarray
    word_offsets: np.ndarray
    references: np.ndarray
    reference_offsets: np.ndarray


@kernel
def _select(pool: PooledLattices, slopes: np.ndarray, scores: np.ndarray, sentence: int) -> Arcs:
    """The arcs of one sentence."""
    start, stop = pool.first_arcs[sentence], pool.first_arcs[sentence + 1]
    return Arcs(
        pool.tails[start:stop], pool.heads[start:stop], slopes[start:stop], scores[start:stop],
        pool.numbers[start:stop],
    )  # fmt: skip


@kernel
def _count_path(pool: PooledLattices, sentence: int, path: np.ndarray) -> np.ndarray:
    """BLEU's statistics of a derivation, int32 ``[9]``."""
    length = 0
    for arc in path:
        length += pool.word_offsets[arc + 1] - pool.word_offsets[arc]
    hypothesis, length = np.empty(length, dtype=np.int32), 0
    for arc in path:
        for position in range(pool.word_offsets[arc], pool.word_offsets[arc + 1]):
            hypothesis[length] = pool.words[position]
            length += 1
    reference = pool.references[pool.reference_offsets[sentence] : pool.reference_offsets[sentence + 1]]
    return count_statistics(hypothesis, reference, np.array([0, len(reference)]))


@kernel
def count_paths(pool: PooledLattices, sentences: np.ndarray, paths: np.ndarray, path_offsets: np.ndarray) -> np.ndarray:
    """BLEU's statistics of derivations of these sentences, int32 ``[L, 9]``."""
    statistics = np.empty((len(sentences), SIZE), dtype=np.int32)
    for i in range(len(sentences)):
        statistics[i] = _count_path(pool, sentences[i], paths[path_offsets[i] : path_offsets[i + 1]])
    return statistics


@kernel
def find_all_potentials(pool: PooledLattices, scores: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """The potentials at x = 0 of the nodes of all sentences, float64 ``[2, M]``."""
    potentials = np.empty((2, pool.node_offsets[-1]))
    for sentence in range(len(pool.first_arcs) - 1):
        start, stop = pool.node_offsets[sentence], pool.node_offsets[sentence + 1]
        if start < stop:
            arcs = _select(pool, slopes, scores, sentence)
            find_potentials(arcs, 0.0, potentials[0, start:stop], potentials[1, start:stop])
    return potentials


@kernel
def count_best(pool: PooledLattices, scores: np.ndarray, slopes: np.ndarray, potentials: np.ndarray) -> np.ndarray:
    """The summed statistics of the best derivations at x = 0, int64 ``[9]``."""
    total = np.zeros(SIZE, dtype=np.int64)
    for sentence in range(len(pool.first_arcs) - 1):
        start, stop = pool.node_offsets[sentence], pool.node_offsets[sentence + 1]
        path = np.zeros(0, dtype=np.int32)
        if start < stop:
            path, _, _ = best_path(_select(pool, slopes, scores, sentence), 0.0, potentials[0, start:stop])
        total += _count_path(pool, sentence, path)
    return total


class Envelopes(NamedTuple):
    """The envelopes of all sentences along one line: L segments, by sentence and by rising x.

    sentences: int32 ``[L]``; breakpoints: float64 ``[L]``, from where on each segment is best; statistics: int32
    ``[L, 9]`` of BLEU; paths: int32 and path_offsets: int64 ``[L + 1]``, the arcs of its derivation, first arc first.
    """

    sentences: np.ndarray
    breakpoints: np.ndarray
    statistics: np.ndarray
    paths: np.ndarray
    path_offsets: np.ndarray


@kernel
def find_envelopes(
    pool: PooledLattices, slopes: np.ndarray, scores: np.ndarray, potentials: np.ndarray, low: float, high: float
) -> Envelopes:
    """The envelopes for ``low <= x <= high`` (``low < 0 < high``) along a direction.

    slopes: float32 ``[A]``, the feature of each arc (or a combination of features); scores: float64 ``[A]`` at x = 0
    with the potentials float64 ``[2, M]`` there.
    """
    sentences, breakpoints = [np.int32(0) for _ in range(0)], [0.0 for _ in range(0)]
    found = [np.zeros(0, dtype=np.int32) for _ in range(0)]
    length = 0
    for sentence in range(len(pool.first_arcs) - 1):
        start, stop = pool.node_offsets[sentence], pool.node_offsets[sentence + 1]
        if start == stop:  # an empty sentence has an empty translation
            sentences.append(np.int32(sentence))
            breakpoints.append(low)
            found.append(np.zeros(0, dtype=np.int32))
            continue
        segments, lines = [(0.0, 0) for _ in range(0)], [(0.0, 0.0) for _ in range(0)]
        paths = [np.zeros(0, dtype=np.int32) for _ in range(0)]
        centre = potentials[:, start:stop].copy()
        find_envelope(_select(pool, slopes, scores, sentence), centre, low, high, segments, lines, paths)
        for x, line in segments:
            sentences.append(np.int32(sentence))
            breakpoints.append(x)
            found.append(paths[line])
            length += len(paths[line])
    offsets, arcs = np.zeros(len(found) + 1, dtype=np.int64), np.empty(length, dtype=np.int32)
    for i in range(len(found)):
        offsets[i + 1] = offsets[i] + len(found[i])
        arcs[offsets[i] : offsets[i + 1]] = found[i]
    numbers = np.array(sentences)
    return Envelopes(numbers, np.array(breakpoints), count_paths(pool, numbers, arcs, offsets), arcs, offsets)


@kernel
def sweep_envelopes(envelopes: Envelopes, narrowest: float, low: float, high: float) -> tuple[float, float]:
    """The x in the middle of the interval with the highest corpus BLEU, and that BLEU to the fourth power.

    Intervals narrower than ``narrowest`` are passed over, but for the first one.
    """
    total = np.zeros(SIZE, dtype=np.int64)
    size, count = len(envelopes.breakpoints), 0
    breakpoints, changes = np.empty(size), np.empty((size, 2), dtype=np.int32)
    for row in range(size):
        if row == 0 or envelopes.sentences[row] != envelopes.sentences[row - 1]:
            total += envelopes.statistics[row]
        elif differ(envelopes.statistics[row - 1], envelopes.statistics[row], SIZE):
            breakpoints[count], changes[count, 0], changes[count, 1] = envelopes.breakpoints[row], row - 1, row
            count += 1
    return sweep(breakpoints[:count], changes[:count], total, envelopes.statistics, narrowest, low, high)
