"""Kernels of the line search over lattices: the upper envelope of all derivations of a sentence.

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

from neural_smt.jit import kernel, leaf

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
    nodes = len(forward)
    for node in range(nodes):
        forward[node] = backward[node] = -np.inf
    forward[0] = backward[nodes - 1] = 0.0
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
    nodes = 0
    for i in range(len(node)):
        if node[i] >= 0:
            node[i] = nodes
            nodes += 1
    lefts, rights = np.empty((2, nodes)), np.empty((2, nodes))
    for i in range(len(node)):
        if node[i] >= 0:
            for side in range(2):
                lefts[side, node[i]], rights[side, node[i]] = left[side, i], right[side, i]
    for arc in range(count):
        tails[arc], heads[arc] = node[tails[arc]], node[heads[arc]]
    return Arcs(tails[:count], heads[:count], slopes[:count], scores[:count], numbers[:count]), lefts, rights


@kernel
def find_envelope(
    arcs: Arcs, centre: np.ndarray, low: float, high: float, turns: list, lines: list, paths: list
) -> None:
    """The upper envelope of the derivations of one sentence for ``low <= x <= high`` (``low < 0 < high``).

    centre: float64 ``[2, m]``, potentials at x = 0. The three lists, empty before, hold afterwards: ``turns``, by
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
    turns.append((low, 0))
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
            turns.append((x, last))
            continue
        path, slope, score = best_path(kept, x, middle[0])
        waiting.append((kept, x, middle, len(lines), stop, rights, last))
        waiting.append((kept, start, lefts, first, x, middle, len(lines)))
        lines.append((slope, score))
        paths.append(path)
