"""Kernels of the line search: how the best candidates, and with them BLEU, change along one coordinate.

Move weight d by x and candidate c of a sentence scores ``scores[c] + x * features[c, d]``: a line. The best
candidate for each x is the upper envelope of the sentence's lines (Och 2003, section 4), so corpus BLEU is piecewise
constant in x and changes only where some sentence's envelope turns from one line to the next.
"""

from typing import NamedTuple

import numpy as np

from neural_smt.bleu import ORDER, REFERENCE_LENGTH, SIZE
from neural_smt.io.lookup_primitives import differ
from neural_smt.jit import kernel, leaf

EDGE = 0.1
"""How far beyond the outermost breakpoint a point of the unbounded first or last interval is taken."""


class CandidateLists(NamedTuple):
    """The n-best lists of S sentences, N candidates in all, as the line search reads them.

    columns: float32 ``[F, N]``, their features; slopes: float32 ``[F, N]``, these sorted within each list
    (``sort_slopes``), and rows: int32 ``[F, N]``, whose they are; offsets: int64 ``[S + 1]``, where each list begins;
    statistics: int32 ``[N, 9]`` of BLEU.
    """

    columns: np.ndarray
    slopes: np.ndarray
    rows: np.ndarray
    offsets: np.ndarray
    statistics: np.ndarray


class Envelope(NamedTuple):
    """Room for the upper envelope of one sentence: the lines that are best for some x, by rising slope.

    lines: float64 ``[n, 2]``, slope and score at x = 0; breakpoints: float64 ``[n]``, from which x on each is best
    (-inf for the first); rows: int32 ``[n]``, the candidates.
    """

    lines: np.ndarray
    breakpoints: np.ndarray
    rows: np.ndarray


@kernel
def sort_slopes(column: np.ndarray, offsets: np.ndarray, slopes: np.ndarray, rows: np.ndarray) -> None:
    """Sort one feature within each sentence, ascending: ``slopes`` float32 ``[N]`` and their ``rows`` int32 ``[N]``."""
    for sentence in range(len(offsets) - 1):
        start, stop = offsets[sentence], offsets[sentence + 1]
        order = np.argsort(column[start:stop], kind="mergesort")
        for i in range(stop - start):
            rows[start + i] = start + order[i]
            slopes[start + i] = column[start + order[i]]


@kernel
def best_rows(scores: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """The row of each sentence's highest score (float64 ``[N]``), the first in a tie; -1 without candidates."""
    best = np.empty(len(offsets) - 1, dtype=np.int32)
    for sentence in range(len(best)):
        start, stop = offsets[sentence], offsets[sentence + 1]
        best[sentence] = start if start < stop else -1
        for row in range(start + 1, stop):
            if scores[row] > scores[best[sentence]]:
                best[sentence] = row
    return best


@kernel(fastmath={"contract"})
def mark_best(columns: np.ndarray, offsets: np.ndarray, points: np.ndarray, marked: np.ndarray) -> None:
    """Mark (bool ``[N]``) the candidates that have their sentence's highest score under any weights of ``points``.

    columns: float32 ``[F, N]``; points: float32 ``[K, F]``.
    """
    scores = np.empty(np.diff(offsets).max(), dtype=np.float32) if len(offsets) > 1 else np.empty(0, dtype=np.float32)
    for sentence in range(len(offsets) - 1):
        start, size = offsets[sentence], offsets[sentence + 1] - offsets[sentence]
        for point in points:
            scores[:size] = 0
            for feature in range(len(point)):
                weight, column = point[feature], columns[feature, start : start + size]
                for i in range(size):
                    scores[i] += weight * column[i]
            if size > 0:
                marked[start + np.argmax(scores[:size])] = True


@kernel
def quality(total: np.ndarray) -> float:
    """Fourth power of corpus BLEU of summed statistics ``[9]``: as good to compare, and without logarithms."""
    product = 1.0
    for n in range(ORDER):
        if total[2 * n] == 0:
            return 0.0
        product *= total[2 * n] / total[2 * n + 1]
    if total[1] < total[REFERENCE_LENGTH]:
        product *= np.exp(ORDER * (1.0 - total[REFERENCE_LENGTH] / total[1]))
    return product


@leaf
def _append(slope: float, score: float, row: int, size: int, envelope: Envelope) -> int:
    """Add a line steeper than all before it and drop those it hides; the new size of the envelope."""
    lines, breakpoints = envelope.lines, envelope.breakpoints
    while size > 0:
        crossing = (lines[size - 1, 1] - score) / (slope - lines[size - 1, 0])
        if crossing > breakpoints[size - 1]:
            break
        size -= 1
    lines[size, 0], lines[size, 1] = slope, score
    breakpoints[size] = crossing if size > 0 else -np.inf
    envelope.rows[size] = row
    return size + 1


@leaf
def _append_above(
    slopes: np.ndarray, rows: np.ndarray, scores: np.ndarray, end: int, gradient: float, size: int, envelope: Envelope
) -> int:
    """Append those lines that lie on or above the chord of this gradient through line ``end``; the new size."""
    origin, level, lines = np.float64(slopes[end]), scores[rows[end]], envelope.lines
    for i in range(len(slopes)):
        slope, score = np.float64(slopes[i]), scores[rows[i]]
        if score < level + gradient * (slope - origin):
            continue
        if size > 0 and slope == lines[size - 1, 0]:
            if score <= lines[size - 1, 1]:
                continue
            size -= 1
        size = _append(slope, score, rows[i], size, envelope)
    return size


@kernel
def upper_envelope(
    slopes: np.ndarray, rows: np.ndarray, scores: np.ndarray, best: int, best_slope: float, envelope: Envelope
) -> int:
    """Write the upper envelope of one sentence's lines into ``envelope``; how many lines it has.

    slopes float32 ``[n]`` ascending with their rows int32 ``[n]``; scores float64 ``[N]`` at x = 0; best: the row with
    the highest of them, of which best_slope is the slope.

    The hull of (slope, score) points in the dual plane, by a monotone chain. Two chords, from the best point to the
    flattest and to the steepest, lie under that hull, and whatever is below them is skipped at the cost of one
    multiplication: most candidates are.
    """
    count, size = len(slopes), 0
    left, right = np.searchsorted(slopes, best_slope), np.searchsorted(slopes, best_slope, side="right")
    if left > 0:
        gradient = (scores[best] - scores[rows[0]]) / (best_slope - slopes[0])
        size = _append_above(slopes[:left], rows[:left], scores, 0, gradient, size, envelope)
    size = _append(best_slope, scores[best], best, size, envelope)
    if right < count:
        gradient = (scores[rows[count - 1]] - scores[best]) / (slopes[count - 1] - best_slope)
        size = _append_above(slopes[right:], rows[right:], scores, count - right - 1, gradient, size, envelope)
    return size


@kernel
def search_line(
    lists: CandidateLists, feature: int, scores: np.ndarray, best: np.ndarray, narrowest: float
) -> tuple[float, float]:
    """The step x along one coordinate with the highest corpus BLEU, and that BLEU to the fourth power.

    scores float64 ``[N]`` and best int32 ``[S]`` (``best_rows``) at x = 0. The middle of the best interval is returned;
    intervals narrower than ``narrowest`` are passed over, their BLEU would not survive rounding.
    """
    column, slopes, rows = lists.columns[feature], lists.slopes[feature], lists.rows[feature]
    offsets, statistics, size = lists.offsets, lists.statistics, len(scores)
    envelope = Envelope(np.empty((size, 2)), np.empty(size), np.empty(size, dtype=np.int32))
    breakpoints, changes, events = np.empty(size), np.empty((size, 2), dtype=np.int32), 0
    total = np.zeros(SIZE, dtype=np.int64)
    for sentence in range(len(best)):
        if best[sentence] < 0:
            continue
        part, best_slope = slice(offsets[sentence], offsets[sentence + 1]), np.float64(column[best[sentence]])
        count = upper_envelope(slopes[part], rows[part], scores, best[sentence], best_slope, envelope)
        total += statistics[envelope.rows[0]]
        for k in range(1, count):
            before, after = envelope.rows[k - 1], envelope.rows[k]
            if differ(statistics[before], statistics[after], SIZE):
                breakpoints[events], changes[events, 0], changes[events, 1] = envelope.breakpoints[k], before, after
                events += 1
    return sweep(breakpoints[:events], changes[:events], total, statistics, narrowest, -np.inf, np.inf)


@kernel
def sweep(
    breakpoints: np.ndarray, changes: np.ndarray, total: np.ndarray, statistics: np.ndarray, narrowest: float,
    low: float, high: float,
) -> tuple[float, float]:  # fmt: skip
    """Walk over the breakpoints from ``low`` to ``high``, keeping the summed statistics; the best x and its quality.

    breakpoints float64 ``[m]``; changes int32 ``[m, 2]``: the row that is best before and after each; total int64
    ``[9]``: the sum at ``low``, overwritten; low, high: the ends of the line, infinite where it has none.
    """
    count = len(breakpoints)
    if count == 0:
        return 0.0, quality(total)
    order = np.argsort(breakpoints)
    left, best_quality = breakpoints[order[0]], quality(total)
    best_x = 0.5 * (max(left - 2 * EDGE, low) + left)
    for k in range(count):
        before, after = changes[order[k]]
        for i in range(SIZE):
            total[i] += statistics[after, i] - statistics[before, i]
        left = breakpoints[order[k]]
        right = breakpoints[order[k + 1]] if k + 1 < count else min(left + 2 * EDGE, high)
        if right - left < narrowest:
            continue
        value = quality(total)
        if value > best_quality:
            best_x, best_quality = 0.5 * (left + right), value
    return best_x, best_quality
