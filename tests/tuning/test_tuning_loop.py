"""The outer loop: it improves, stops, and survives being killed."""

from pathlib import Path

import numpy as np
import pytest
from refusals import check_refused
from tuning_world import FEATURES, World, killed_and_resumed, outcome, tuning_settings

from neural_smt.decoding.features import Feature, FeatureSet
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


@pytest.mark.parametrize("optimiser", ["mert", "mira"])
def test_tuning_finds_the_features_that_know(tmp_path: Path, optimiser: str) -> None:
    """Weights keep an L1 norm of 1 whatever the optimiser: a larger one would narrow the beam of the search."""
    progress = tune(World(seed=4, sentences=60), tmp_path, SETTINGS.replace(optimiser=optimiser))
    iterations = progress.iterations
    assert max(i.decoder_bleu for i in iterations) > iterations[0].decoder_bleu + 10
    assert [i.candidates for i in iterations] == np.cumsum([i.new_candidates for i in iterations]).tolist()
    assert optimiser == "mira" or all(i.list_bleu >= i.decoder_bleu - 1e-9 for i in iterations)
    weights = select(progress, "best")
    assert weights[0] > 0 > weights[3] and weights[5] == 1.0
    assert all(np.abs(i.weights[:5]).sum() == pytest.approx(1.0) for i in iterations)


def test_a_killed_run_ends_like_one_never_killed(world: World, tmp_path: Path) -> None:
    settings = SETTINGS.replace(min_gain=0.0)
    whole = killed_and_resumed(lambda folder: tune(world, folder, settings), world.decode, tmp_path)
    assert len(whole.iterations) > 3


def test_a_finished_run_decodes_nothing_again_but_for_other_inputs_and_seeds(world: World, tmp_path: Path) -> None:
    first = tune(world, tmp_path)
    world.decode.calls = 0
    assert outcome(tune(world, tmp_path)) == outcome(first)
    assert world.decode.calls == 0 and len(list(tmp_path.iterdir())) == 1
    assert outcome(tune(world, tmp_path, seed=2, mark="b")) != outcome(first)
    assert world.decode.calls > 0


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


def test_stops_when_nothing_new_is_found_or_promised(world: World, tmp_path: Path) -> None:
    progress = tune(world, tmp_path, SETTINGS.replace(min_gain=100.0))
    assert [iteration.weights for iteration in progress.iterations] == [progress.weights]
    world.nbest = 200  # the whole pool at once
    settings = SETTINGS.replace(iterations=25, refinements=0, min_gain=0.0)
    iterations = tune(world, tmp_path, settings, mark="whole").iterations
    assert len(iterations) == 2 and iterations[-1].new_candidates == 0


def test_the_last_optimum_is_decoded_before_weights_are_selected(world: World, tmp_path: Path) -> None:
    settings = SETTINGS.replace(iterations=1, min_gain=0.0)
    progress = tune(world, tmp_path, settings)
    first, last = progress.iterations
    assert first.weights != last.weights == progress.weights and last.decoder_bleu > first.decoder_bleu
    assert select(progress, "best").tolist() == select(progress, "last").tolist() == last.weights
    world.decode.calls = 0
    assert outcome(tune(world, tmp_path, settings)) == outcome(progress) and world.decode.calls == 0


def test_an_empty_development_set_is_refused(world: World, tmp_path: Path) -> None:
    world.pools, world.references = [], []
    check_refused("no translation", tune, world, tmp_path)


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
