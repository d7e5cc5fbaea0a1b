"""Candidate lists: the store that accumulates them, the line search against brute force (every crossing of every two
lines), and MERT on small random lists and on the lists of real Moses runs.
"""

import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from tuning_world import best_of_each, bleu_at, random_candidates, read_moses_lists, tuning_settings

from neural_smt.bleu import bleu
from neural_smt.io.files import hash_text
from neural_smt.tuning.candidates import Candidates
from neural_smt.tuning.envelope_primitives import Envelope, quality, search_line, sort_slopes, upper_envelope
from neural_smt.tuning.mert import ErrorSurface, Optimum, highest, optima

STATISTICS = np.arange(27, dtype=np.int32).reshape(3, 9)
WORDS = np.array([hash_text("a b"), hash_text("a"), hash_text("c")], dtype=np.uint64)
FEATURES = np.array([[0.5, -1.0], [0.25, -2.0], [0.5, -1.0]], dtype=np.float32)
STORE = Candidates.empty(3, 2).extended(np.array([2, 0, 2]), WORDS, FEATURES, STATISTICS)


def test_candidates_are_ordered_by_sentence_and_go_through_files(tmp_path: Path) -> None:
    STORE.save(tmp_path / "candidates")
    for candidates in (STORE, Candidates.load(tmp_path / "candidates")):
        assert candidates.sentences.tolist() == [0, 2, 2] and candidates.offsets.tolist() == [0, 1, 1, 3]
        assert candidates.size == 3 and candidates.digests.tolist() == STORE.digests.tolist()
        assert candidates.statistics.tolist() == STATISTICS[[1, 0, 2]].tolist()
        assert candidates.features.tolist() == FEATURES[[1, 0, 2]].tolist()
        types = [getattr(candidates, name).dtype for name in ("features", "statistics", "sentences", "digests")]
        assert types == [np.float32, np.int32, np.int32, np.uint64]


def test_the_same_words_and_features_are_one_candidate_and_others_another() -> None:
    twice = STORE.extended(np.array([2, 0, 2]), WORDS, FEATURES + np.float32(1e-6), STATISTICS)
    assert twice.digests.tolist() == STORE.digests.tolist()
    assert len(Candidates.empty(1, 2).extended(np.zeros(2), WORDS[[0, 0]], FEATURES[[0, 0]], STATISTICS[:2])) == 1
    features = np.array([[0.25, -2.0], [0.25, -2.5], [0.5, -1.0]])
    new = STORE.extended(np.array([0, 0, 2]), WORDS[[2, 1, 0]], features, STATISTICS)
    assert new.sentences.tolist() == [0, 0, 0, 2, 2]
    assert new.features.tolist() == [[0.25, -2.0], [0.25, -2.0], [0.25, -2.5], [0.5, -1.0], [0.5, -1.0]]
    assert hash_text("a b") == hash_text("a b") != hash_text("ab")
    assert 0 <= hash_text("") < 2**64


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
    scores = candidates.features.astype(np.float64) @ weights
    lists, best = ErrorSurface(candidates).lists, best_of_each(candidates, weights)
    x, value = search_line(lists, feature, scores, best, 0.0)
    return x, value**0.25


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("feature", "whole"), [(0, False), (2, False), (1, True)])
def test_line_search_finds_the_best_of_all_intervals(seed: int, feature: int, whole: bool) -> None:
    """Also with parallel lines (``whole``)."""
    candidates = random_candidates(seed, whole=whole)
    weights = np.random.default_rng(seed).normal(size=3)
    x, value = search(candidates, weights, feature)
    assert value == pytest.approx(best_on_line(candidates, weights, feature), abs=1e-12)
    assert value == pytest.approx(bleu_at(candidates, weights + x * np.eye(3)[feature]), abs=1e-12)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("seed", [*range(20), 28, 45])
def test_envelope_is_the_maximum_on_a_grid(seed: int, whole: bool) -> None:
    generator = np.random.default_rng(seed)
    size = int(generator.integers(1, 40))
    column = generator.normal(size=size).astype(np.float32) * 3
    column = np.round(column) if whole else column
    scores = generator.normal(size=size)
    slopes, rows = np.zeros(size, dtype=np.float32), np.zeros(size, dtype=np.int32)
    sort_slopes(column, np.array([0, size]), slopes, rows)
    left = np.tile([column.min(), np.inf], (size, 1))  # by another sentence
    found = Envelope(left, np.zeros(size), np.zeros(size, dtype=np.int32))
    best = int(np.argmax(scores))
    count = upper_envelope(slopes, rows, scores, best, float(column[best]), found)
    turns, envelope = found.breakpoints[:count], found.rows[:count]
    assert turns[0] == -np.inf and (np.diff(turns) > 0).all() and (np.diff(column[envelope]) > 0).all()
    grid = np.concatenate([np.linspace(-20, 20, 801), [-1e6, 1e6]])
    heights = scores[:, None] + column[:, None].astype(np.float64) * grid
    on = envelope[np.searchsorted(turns, grid, side="right") - 1]
    assert np.allclose(heights.max(axis=0), heights[on, np.arange(len(grid))], atol=1e-9)


def test_best_of_an_unbounded_interval_lies_just_beyond_its_breakpoint() -> None:
    # Line 1 overtakes line 0 at x = 2, and is the better translation.
    good, bad = [4, 4, 3, 3, 2, 2, 1, 1, 4], [4, 4, 2, 3, 1, 2, 1, 1, 4]
    features = np.array([[1.0, 0.0], [0.0, 0.5]])
    candidates = Candidates.empty(1, 2).extended(np.zeros(2), WORDS[:2], features, np.array([bad, good]))
    assert search(candidates, np.array([1.0, 0.0]), 1) == (pytest.approx(2.1), 1.0)


def test_bleu_of_weights_is_that_of_the_best_candidates() -> None:
    """Though it is found by its fourth power."""
    for row in ([6, 8, 4, 7, 3, 6, 2, 5, 10], [6, 8, 4, 7, 3, 6, 2, 5, 7], [6, 8, 4, 7, 3, 6, 0, 5, 7]):
        assert quality(np.array(row)) ** 0.25 == pytest.approx(bleu(np.array(row)), abs=1e-12)
    candidates = random_candidates(3, sentences=12)
    surface = ErrorSurface(candidates)
    for row in np.random.default_rng(0).normal(size=(5, 3)):
        assert surface.bleu(row) == pytest.approx(bleu_at(candidates, row), abs=1e-12)


def test_ascent_ends_where_no_coordinate_gains() -> None:
    surface = ErrorSurface(random_candidates(5, sentences=12))
    start = np.array([0.5, 0.3, -0.2])
    end = surface.ascend(start, min_gain=0.0, narrowest=0.0)
    assert surface.bleu(end) > surface.bleu(start)
    assert surface.bleu(surface.ascend(end, narrowest=0.0)) == pytest.approx(surface.bleu(end), abs=1e-12)


def optimum(surface: ErrorSurface, start: list[float], threads: int = 1, **settings: int) -> Optimum:
    return highest(optima(surface, [np.array(start)], tuning_settings(**settings), np.random.default_rng(1), threads))


def test_result_has_norm_one_is_never_worse_than_the_start_and_does_not_depend_on_threads() -> None:
    surface = ErrorSurface(random_candidates(8, sentences=30))
    start = [5.0, 3.0, -2.0]
    one, two = (optimum(surface, start, threads, restarts=5, refinements=4) for threads in (1, 3))
    assert one.weights.tolist() == two.weights.tolist() and one.bleu == two.bleu
    for found in (one, optimum(surface, start, restarts=0, refinements=0)):
        assert found.bleu == surface.bleu(found.weights) >= surface.bleu(np.array(start))
        assert np.abs(found.weights).sum() == pytest.approx(1.0)


def test_fixed_weights_stay_and_rule_out_rescaling_where_they_matter() -> None:
    candidates, tunable = random_candidates(9, sentences=30), np.array([True, True, False])
    surface = ErrorSurface(candidates, tunable)
    assert optimum(surface, [0.5, 0.3, 0.8], restarts=4).weights[2] == 0.8
    assert surface.normalised(np.array([3.0, 1.0, 0.8])).tolist() == [3.0, 1.0, 0.8]
    assert surface.normalised(np.array([3.0, 1.0, 0.0])).tolist() == [0.75, 0.25, 0.0]
    same = np.column_stack([candidates.features[:, :2], candidates.sentences.astype(np.float32)])
    surface = ErrorSurface(replace(candidates, features=same), tunable)
    assert surface.normalised(np.array([3.0, -1.0, 0.8])).tolist() == [0.75, -0.25, 0.8]


def accumulated(folder: Path, runs: int) -> Candidates:
    """The distinct candidates of the first runs."""
    candidates = None
    for run in range(1, runs + 1):
        sentences, features = read_moses_lists(folder / f"run{run}.features.dat.gz", np.float32)
        _, statistics = read_moses_lists(folder / f"run{run}.scores.dat.gz", np.int32)
        candidates = candidates or Candidates.empty(int(sentences.max()) + 1, features.shape[1])
        candidates = candidates.extended(sentences, statistics.astype(np.uint64).sum(axis=1), features, statistics)
    return candidates


@pytest.mark.parametrize("run", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
def test_as_good_as_moses_on_its_lists(shared: Path, run: int) -> None:
    folder = shared / "oracle" / "mert"
    reported = float(re.findall(r"=> ([\d.]+)", (folder / f"run{run}.mert.log").read_text())[-1])
    start, theirs = (
        np.array((folder / f"run{run}.{name}").read_text().splitlines()[0].split(), dtype=float)
        for name in ("init.opt", "weights.txt")
    )
    surface = ErrorSurface(accumulated(folder, run))
    assert surface.bleu(theirs) == pytest.approx(reported, abs=2e-4)
    assert optimum(surface, start).bleu >= reported - 1e-4
