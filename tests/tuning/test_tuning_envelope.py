"""The line search against brute force: every crossing of every two lines."""

from itertools import combinations

import numpy as np
import pytest
from tuning_world import bleu_at, random_candidates

from neural_smt.bleu import bleu
from neural_smt.tuning.candidates import Candidates
from neural_smt.tuning.envelope_primitives import quality, search_line, sort_slopes, upper_envelope
from neural_smt.tuning.mert import ErrorSurface


def best_on_line(candidates: Candidates, weights: np.ndarray, feature: int) -> float:
    """The highest BLEU for any value of one weight, from a point within each interval between any two crossings."""
    scores = candidates.features.astype(np.float64) @ weights
    slopes = candidates.features[:, feature].astype(np.float64)
    crossings = [
        (scores[a] - scores[b]) / (slopes[b] - slopes[a])
        for start, stop in zip(candidates.offsets[:-1], candidates.offsets[1:], strict=True)
        for a, b in combinations(range(start, stop), 2)
        if slopes[a] != slopes[b]
    ]
    points = np.unique(crossings)
    inner = 0.5 * (points[1:] + points[:-1])
    direction = np.eye(len(weights))[feature]
    return max(bleu_at(candidates, weights + x * direction) for x in [points[0] - 1, *inner, points[-1] + 1])


def search(candidates: Candidates, weights: np.ndarray, feature: int) -> tuple[float, float]:
    surface = ErrorSurface(candidates)
    scores = candidates.features.astype(np.float64) @ weights
    best = np.array(
        [
            start + np.argmax(scores[start:stop]) if start < stop else -1
            for start, stop in zip(candidates.offsets[:-1], candidates.offsets[1:], strict=True)
        ],
        dtype=np.int32,
    )
    x, value = search_line(
        surface.columns[feature],
        surface.slopes[feature],
        surface.rows[feature],
        scores,
        best,
        candidates.offsets,
        candidates.statistics,
        0.0,
    )
    return x, value**0.25


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("feature", [0, 2])
def test_line_search_finds_the_best_of_all_intervals(seed: int, feature: int) -> None:
    candidates = random_candidates(seed)
    weights = np.random.default_rng(seed).normal(size=3)
    x, value = search(candidates, weights, feature)
    assert value == pytest.approx(best_on_line(candidates, weights, feature), abs=1e-12)
    assert value == pytest.approx(bleu_at(candidates, weights + x * np.eye(3)[feature]), abs=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_line_search_with_parallel_lines(seed: int) -> None:
    candidates = random_candidates(seed, whole=True)
    weights = np.random.default_rng(seed).normal(size=3)
    x, value = search(candidates, weights, 1)
    assert value == pytest.approx(best_on_line(candidates, weights, 1), abs=1e-12)
    assert value == pytest.approx(bleu_at(candidates, weights + x * np.eye(3)[1]), abs=1e-12)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_envelope_is_the_maximum_on_a_grid(seed: int, whole: bool) -> None:
    generator = np.random.default_rng(seed)
    size = int(generator.integers(1, 40))
    column = generator.normal(size=size).astype(np.float32) * 3
    column = np.round(column) if whole else column
    scores = generator.normal(size=size)
    slopes, rows = np.zeros(size, dtype=np.float32), np.zeros(size, dtype=np.int32)
    sort_slopes(column, np.array([0, size]), slopes, rows)
    turns, envelope = np.zeros(size), np.zeros(size, dtype=np.int32)
    best = int(np.argmax(scores))
    count = upper_envelope(slopes, rows, scores, best, float(column[best]), np.zeros((size, 2)), turns, envelope)
    assert turns[0] == -np.inf and (np.diff(turns[:count]) > 0).all()
    assert (np.diff(column[envelope[:count]]) > 0).all()
    grid = np.concatenate([np.linspace(-20, 20, 801), [-1e6, 1e6]])
    heights = scores[:, None] + column[:, None].astype(np.float64) * grid
    on = envelope[np.searchsorted(turns[:count], grid, side="right") - 1]
    assert np.allclose(heights.max(axis=0), heights[on, np.arange(len(grid))], atol=1e-9)


def test_best_of_an_unbounded_interval_lies_just_beyond_its_breakpoint() -> None:
    # Line 1 overtakes line 0 at x = 2, and is the better translation.
    good, bad = [4, 4, 3, 3, 2, 2, 1, 1, 4], [4, 4, 2, 3, 1, 2, 1, 1, 4]
    words = np.array([1, 2], dtype=np.uint64)
    candidates = Candidates.empty(1, 2).extended(
        np.zeros(2), words, np.array([[1.0, 0.0], [0.0, 0.5]]), np.array([bad, good])
    )
    x, value = search(candidates, np.array([1.0, 0.0]), 1)
    assert x == pytest.approx(2.1) and value == 1.0


def test_quality_is_the_fourth_power_of_bleu() -> None:
    for row in ([6, 8, 4, 7, 3, 6, 2, 5, 10], [6, 8, 4, 7, 3, 6, 2, 5, 7], [6, 8, 4, 7, 3, 6, 0, 5, 7]):
        assert quality(np.array(row)) ** 0.25 == pytest.approx(bleu(np.array(row)), abs=1e-12)
