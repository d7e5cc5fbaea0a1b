"""The outer loop: it improves, stops, and survives being killed."""

from pathlib import Path

import numpy as np
import pytest
from tuning_world import FEATURES, World, tuning_settings

from neural_smt.decoding.features import Feature, FeatureSet
from neural_smt.errors import UserError
from neural_smt.experiment.settings import Settings
from neural_smt.io.files import read_csv
from neural_smt.tuning.loop import Progress, State, fingerprint, run, select, write_run
from neural_smt.tuning.methods import ListMethod

SETTINGS = tuning_settings(nbest=10, iterations=6, restarts=4, refinements=4)
START = np.array([0.1, 1.0, -0.4, 0.5, 0.3, 1.0])
TUNABLE = np.array([True] * (FEATURES - 1) + [False])


@pytest.fixture
def world() -> World:
    return World(seed=4)


def tune(world: World, folder: Path, settings: Settings = SETTINGS, seed: int = 1, mark: str = "a") -> Progress:
    return run(ListMethod(world.decode, world.references, TUNABLE, settings), START, seed, State(folder, mark))


def outcome(progress: Progress) -> tuple:
    return (
        progress.weights,
        [(i.weights, i.decoder_bleu, i.list_bleu, i.candidates, i.new_candidates) for i in progress.iterations],
        progress.candidates.digests.tolist(),
    )


@pytest.mark.parametrize("optimiser", ["mert", "mira"])
def test_tuning_finds_the_features_that_know(world: World, tmp_path: Path, optimiser: str) -> None:
    """Weights keep an L1 norm of 1 whatever the optimiser: a larger one would narrow the beam of the search."""
    progress = tune(world, tmp_path, SETTINGS.replace(optimiser=optimiser))
    first, best = progress.iterations[0], max(i.decoder_bleu for i in progress.iterations)
    assert best > first.decoder_bleu + 10
    weights = select(progress, "best")
    assert weights[0] > 0 > weights[3] and weights[5] == 1.0
    assert all(np.abs(i.weights[:5]).sum() == pytest.approx(1.0) for i in progress.iterations)


def test_lists_only_grow_and_promise_at_least_what_the_decoder_reached(world: World, tmp_path: Path) -> None:
    iterations = tune(world, tmp_path).iterations
    assert [i.candidates for i in iterations] == np.cumsum([i.new_candidates for i in iterations]).tolist()
    assert all(i.list_bleu >= i.decoder_bleu - 1e-9 for i in iterations)


def test_same_seed_same_result(world: World, tmp_path: Path) -> None:
    first, again, other = (tune(world, tmp_path / str(i), seed=seed) for i, seed in enumerate((1, 1, 2)))
    assert outcome(first) == outcome(again)
    assert outcome(first) != outcome(other)


@pytest.mark.parametrize("survived", [0, 1, 3])
def test_a_killed_run_ends_like_one_never_killed(world: World, tmp_path: Path, survived: int) -> None:
    settings = SETTINGS.replace(min_gain=0.0)
    whole = tune(world, tmp_path / "whole", settings)
    assert len(whole.iterations) > survived

    world.calls, decode = 0, world.decode

    def killed(weights: np.ndarray) -> list:
        if world.calls == survived:
            raise KeyboardInterrupt
        return decode(weights)

    world.decode = killed
    with pytest.raises(KeyboardInterrupt):
        tune(world, tmp_path / "killed", settings)
    world.calls, world.decode = 0, decode
    assert outcome(tune(world, tmp_path / "killed", settings)) == outcome(whole)
    assert world.calls == len(whole.iterations) - survived


def test_a_finished_run_decodes_nothing_again_but_for_other_inputs(world: World, tmp_path: Path) -> None:
    first = tune(world, tmp_path)
    world.calls = 0
    assert outcome(tune(world, tmp_path)) == outcome(first)
    assert world.calls == 0 and len(list(tmp_path.iterdir())) == 1
    tune(world, tmp_path, mark="b")
    assert world.calls > 0


def test_a_run_killed_while_it_drops_its_state_can_be_started_again(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(folder: Path) -> None:
        for path in sorted(folder.rglob("progress.json")):
            path.unlink()  # the rest stays
        raise KeyboardInterrupt

    folder = tmp_path / "state"
    first = tune(world, folder)
    for drop in (lambda: State(folder, "a").remove(), lambda: State(folder, "other").load(type(first.candidates))):
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr("neural_smt.io.temporaries.shutil.rmtree", killed)
            drop()
        assert State(folder, "a").load(type(first.candidates)) is None
        assert outcome(tune(world, folder)) == outcome(first)


def test_stops_when_nothing_new_is_found(world: World, tmp_path: Path) -> None:
    world.nbest = 200  # the whole pool at once
    settings = tuning_settings(iterations=25, restarts=2, refinements=0, min_gain=0.0)
    iterations = tune(world, tmp_path, settings).iterations
    assert len(iterations) == 2 and iterations[-1].new_candidates == 0


def test_stops_when_the_lists_promise_too_little(world: World, tmp_path: Path) -> None:
    progress = tune(world, tmp_path, tuning_settings(nbest=10, restarts=4, min_gain=100.0))
    assert [iteration.weights for iteration in progress.iterations] == [progress.weights]


def test_an_empty_development_set_is_refused(world: World, tmp_path: Path) -> None:
    world.pools, world.references = [], []
    with pytest.raises(UserError, match="no translation"):
        tune(world, tmp_path)


def test_fingerprint_follows_settings_and_files(tmp_path: Path) -> None:
    file, folder = tmp_path / "text", tmp_path / "folder"
    file.write_text("one")
    folder.mkdir()
    (folder / "inner").write_text("two")
    before = fingerprint({"nbest": 100}, [file, folder])
    assert fingerprint({"nbest": 100}, [file, folder]) == before
    assert fingerprint({"nbest": 50}, [file, folder]) != before
    (folder / "inner").write_text("three")
    assert fingerprint({"nbest": 100}, [file, folder]) != before


def test_history_is_written_and_drawn(world: World, tmp_path: Path) -> None:
    iterations = tune(world, tmp_path / "state").iterations
    sizes = {"LM0": 1, "Table0": 2, "Penalty0": 1, "Noise0": 1, "Unknown0": 1}
    features = FeatureSet(Feature(name, (0.0,) * size) for name, size in sizes.items())
    write_run(features, iterations, tmp_path / "history.csv", tmp_path / "history.png")
    rows = read_csv(tmp_path / "history.csv")
    assert [int(row["iteration"]) for row in rows] == list(range(1, len(iterations) + 1))
    assert float(rows[0]["decoder_bleu"]) == pytest.approx(iterations[0].decoder_bleu, abs=1e-4)
    assert float(rows[-1]["Table0_1"]) == pytest.approx(iterations[-1].weights[2], abs=1e-6)
    assert (tmp_path / "history.png").read_bytes().startswith(b"\x89PNG")
