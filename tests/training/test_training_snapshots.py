"""The models of every epoch: what they hold, what a killed run keeps of them, how they are read."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import training_runs
from candidates import whole_sets
from refusals import check_refused
from training_runs import CASES, Inputs, Killed, kill_at, train_killed_at, weights

from neural_smt.io.checkpoint import NAME, load_checkpoint
from neural_smt.io.files import read_json, write_lines
from neural_smt.io.ragged import Ragged
from neural_smt.networks.attention.network import AttentionNetwork
from neural_smt.networks.folder import Trained, read_training
from neural_smt.training.snapshots import Snapshots, read_snapshots
from neural_smt.training.weight_averaging import EVERY
from neural_smt.vocabulary import Vocabulary

EPOCH = 5
"""Updates of an epoch: 158 pairs in batches of 32."""


@pytest.fixture(scope="module")
def inputs(all_inputs: dict[str, Inputs]) -> Inputs:
    """Without text held out."""
    return {name: path for name, path in all_inputs["attention"].items() if not name.startswith("held_out")}


def train(inputs: Inputs, folder: Path, epochs: bool = True, seed: int = 1, **settings: Any) -> None:
    usual = {"batch": 32, "updates": 19, "validate_every": 3, "checkpoint_every": 4}
    training_runs.train("attention", inputs, folder, seed=seed, by_epoch=epochs, **usual | settings)


def kept(folder: Path) -> dict[str, bytes]:
    """Every file of the models, to the bit."""
    files = (path for path in (folder / "epochs").rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def whole(inputs: Inputs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    train(inputs, folder)
    return folder


def test_each_epoch_leaves_the_model_of_its_end(inputs: Inputs, whole: Path, tmp_path: Path) -> None:
    found, words = read_snapshots(whole / "epochs"), Vocabulary.load(inputs["source_vocabulary"])
    assert [(epoch, folder.name) for epoch, folder in found] == [(1, "1"), (2, "2"), (3, "3")]  # 19 updates of 5
    for epoch, folder in found:
        train(inputs, tmp_path, epochs=False, updates=epoch * EPOCH)
        assert (folder / "weights.safetensors").read_bytes() == weights(tmp_path)
        assert read_training(folder) == {"candidates": None, "updates": epoch * EPOCH}
        assert Trained.load(folder, AttentionNetwork, torch.device("cpu")).source.digest == words.digest
    assert not (tmp_path / "state" / "epochs").exists()  # nothing is kept where nobody asks
    train(inputs, tmp_path, epochs=False)
    assert weights(tmp_path) == weights(whole)  # they change nothing else
    train(inputs, tmp_path)  # a run without them is not gone on from: its first epochs are gone
    assert kept(tmp_path) == kept(whole)


def test_the_model_of_an_epoch_is_the_mean_where_there_is_one(inputs: Inputs, whole: Path, tmp_path: Path) -> None:
    train(inputs, tmp_path / "epochs", average_weights=True)
    for epoch, folder in read_snapshots(tmp_path / "epochs" / "epochs"):
        train(inputs, tmp_path, epochs=False, updates=epoch * EPOCH, average_weights=True)
        own = (folder / "weights.safetensors").read_bytes()
        assert own == weights(tmp_path)
        raw = (whole / "epochs" / str(epoch) / "weights.safetensors").read_bytes()
        assert (own == raw) == (epoch * EPOCH <= EVERY)  # the first taking is of the weights themselves


@pytest.mark.parametrize("case", CASES["before"].values(), ids=CASES["before"])
def test_epochs_are_those_of_one_run_whatever_ran_before(
    inputs: Inputs, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: list[Any]
) -> None:
    runs, published, done = case
    for options in runs:
        if "killed" in options:
            train_killed_at(monkeypatch, options["killed"], lambda: train(inputs, tmp_path))
        else:
            train(inputs, tmp_path, **options)
    assert [int(path.name) for path in sorted(tmp_path.glob("epochs/*"))] == published
    kill_at(monkeypatch, done - 1)  # never reached again
    train(inputs, tmp_path)
    assert kept(tmp_path) == kept(whole) and len(kept(whole)) == 3 * 4
    assert len(list((tmp_path / "state" / "epochs").iterdir())) == 1  # nothing of other runs


def test_a_run_killed_while_it_writes_keeps_no_half_of_a_model(
    inputs: Inputs, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = Trained.save

    def interrupted(trained: Trained, folder: Path, *rest: Any) -> None:
        if folder.name == "2":
            raise Killed
        original(trained, folder, *rest)

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Trained, "save", interrupted)
        train(inputs, tmp_path)
    train(inputs, tmp_path)
    assert kept(tmp_path) == kept(whole)


def test_a_file_system_without_links_gets_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: str, target: str) -> None:
        raise OSError("not here")

    monkeypatch.setattr("neural_smt.training.snapshots.os.link", refuse)
    snapshots = Snapshots(tmp_path / "state", "run", lambda folder, epoch: write_lines(folder / "model", [str(epoch)]))
    snapshots.keep(1)
    snapshots.publish(tmp_path / "epochs", 1)
    assert (tmp_path / "epochs" / "1" / "model").read_text() == "1\n"


def test_a_damaged_checkpoint_is_none(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b"no arrays")
    assert load_checkpoint(tmp_path, "run") is None


def test_models_come_in_the_order_of_epochs(tmp_path: Path) -> None:
    for name in ("10", "9", "1", "notes", "2x"):
        (tmp_path / name).mkdir()
    assert [epoch for epoch, _ in read_snapshots(tmp_path)] == [1, 9, 10]


def test_a_model_says_which_sets_it_was_trained_with(inputs: Inputs, tmp_path: Path) -> None:
    target = Vocabulary.load(inputs["target_vocabulary"])
    digests = []
    for name, origins in (("a", {"dictionary": "one"}), ("b", {"dictionary": "other"})):
        sets = whole_sets(Ragged.from_lists([np.arange(len(target))] * 200), len(target), origins)
        sets.save(tmp_path / name)
        train({**inputs, "candidates": tmp_path / name}, tmp_path, updates=EPOCH)
        digests.append(sets.digest)
        assert read_training(tmp_path / "model") == {"candidates": sets.digest}
        assert read_training(tmp_path / "epochs" / "1") == {"candidates": sets.digest, "updates": EPOCH}
    assert digests[0] != digests[1]
    assert read_json(tmp_path / "model" / "config.json")["vocabularies"]["target"] == target.digest


def test_a_lost_model_is_named(tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path / "state", "run", lambda folder, epoch: folder.mkdir(parents=True))
    snapshots.keep(2)
    check_refused(["state/epochs/run/1", "no such folder"], snapshots.publish, tmp_path / "epochs", 2)
    assert not (tmp_path / "epochs").exists()
