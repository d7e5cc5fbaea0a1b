"""MERT on small random lists, and on the lists of real Moses runs."""

import re
from pathlib import Path

import numpy as np
import pytest
from tuning_world import bleu_at, random_candidates, read_moses_lists

from neural_smt.tuning.candidates import Candidates
from neural_smt.tuning.mert import ErrorSurface, optimise


def test_bleu_of_weights_is_that_of_the_best_candidates() -> None:
    candidates = random_candidates(3, sentences=12)
    weights = np.random.default_rng(0).normal(size=(5, 3))
    surface = ErrorSurface(candidates)
    for row in weights:
        assert surface.bleu(row) == pytest.approx(bleu_at(candidates, row), abs=1e-12)


def test_ascent_ends_where_no_coordinate_gains() -> None:
    candidates = random_candidates(5, sentences=12)
    surface = ErrorSurface(candidates)
    start = np.array([0.5, 0.3, -0.2])
    end = surface.ascend(start, min_gain=0.0, narrowest=0.0)
    assert surface.bleu(end) > surface.bleu(start)
    assert surface.bleu(surface.ascend(end, narrowest=0.0)) == pytest.approx(surface.bleu(end), abs=1e-12)


def test_threads_do_not_change_the_result() -> None:
    surface = ErrorSurface(random_candidates(7, sentences=30))
    start = [np.array([0.5, 0.3, -0.2])]
    one, two = (
        optimise(surface, start, generator=np.random.default_rng(1), restarts=5, refinements=4, threads=threads)
        for threads in (1, 3)
    )
    assert one.weights.tolist() == two.weights.tolist() and one.bleu == two.bleu


def test_result_is_never_worse_than_the_start_and_has_norm_one() -> None:
    surface = ErrorSurface(random_candidates(8, sentences=30))
    start = np.array([5.0, 3.0, -2.0])
    optimum = optimise(surface, [start], generator=np.random.default_rng(1), restarts=0, refinements=0)
    assert optimum.bleu >= surface.bleu(start)
    assert np.abs(optimum.weights).sum() == pytest.approx(1.0)
    assert optimum.bleu == surface.bleu(optimum.weights)


def test_fixed_weights_stay_and_rule_out_rescaling_where_they_matter() -> None:
    candidates = random_candidates(9, sentences=30)
    surface = ErrorSurface(candidates, np.array([True, True, False]))
    optimum = optimise(surface, [np.array([0.5, 0.3, 0.8])], generator=np.random.default_rng(1), restarts=4)
    assert optimum.weights[2] == 0.8
    assert surface.normalised(np.array([3.0, 1.0, 0.8])).tolist() == [3.0, 1.0, 0.8]
    assert surface.normalised(np.array([3.0, 1.0, 0.0])).tolist() == [0.75, 0.25, 0.0]
    same = candidates.features.copy()
    same[:, 2] = candidates.sentences
    constant = Candidates(same, candidates.statistics, candidates.sentences, candidates.digests, candidates.size)
    surface = ErrorSurface(constant, np.array([True, True, False]))
    assert surface.normalised(np.array([3.0, -1.0, 0.8])).tolist() == [0.75, -0.25, 0.8]


def accumulated(folder: Path, runs: int) -> Candidates:
    """The distinct candidates of the first runs."""
    candidates = None
    for run in range(1, runs + 1):
        sentences, features = read_moses_lists(folder / f"run{run}.features.dat.gz", np.float32)
        _, statistics = read_moses_lists(folder / f"run{run}.scores.dat.gz", np.int32)
        if candidates is None:
            candidates = Candidates.empty(int(sentences.max()) + 1, features.shape[1])
        candidates = candidates.extended(sentences, statistics.astype(np.uint64).sum(axis=1), features, statistics)
    return candidates


@pytest.mark.parametrize("run", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
def test_as_good_as_moses_on_its_lists(shared: Path, run: int) -> None:
    folder = shared / "oracle" / "mert"
    reported = float(re.findall(r"=> ([\d.]+)", (folder / f"run{run}.mert.log").read_text())[-1])
    start = np.array((folder / f"run{run}.init.opt").read_text().split("\n")[0].split(), dtype=float)
    theirs = np.array((folder / f"run{run}.weights.txt").read_text().split(), dtype=float)
    surface = ErrorSurface(accumulated(folder, run))
    assert surface.bleu(theirs) == pytest.approx(reported, abs=2e-4)
    assert optimise(surface, [start], generator=np.random.default_rng(1)).bleu >= reported - 1e-4
