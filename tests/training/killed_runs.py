"""Runs that end in the middle, and what is compared of them."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from neural_smt.io.files import read_csv
from neural_smt.training.loop import Trainer


def places(folder: Path) -> dict[str, Path]:
    """Where a run writes, by the names of the arguments of its step."""
    return {
        "output": folder / "model",
        "curve": folder / "curve.csv",
        "plot": folder / "curve.png",
        "held_out": folder / "held_out.json",
        "state": folder / "state",
    }


class Killed(Exception):
    """Stands for the end of a process."""


def kill_at(monkeypatch: pytest.MonkeyPatch, update: int) -> None:
    """Let every trainer end before its update of this number, counted from 0."""
    original = Trainer.update

    def interrupted(self: Trainer) -> float:
        if self.progress.updates == update:
            raise Killed
        return original(self)

    monkeypatch.setattr(Trainer, "update", interrupted)


def weights(folder: Path) -> bytes:
    """The weights that a run left, to the bit."""
    return (folder / "model" / "weights.safetensors").read_bytes()


def without_seconds(path: Path) -> list[dict[str, str]]:
    """The rows of a curve but for the time they took."""
    return [{name: value for name, value in row.items() if name != "seconds"} for row in read_csv(path)]


def check_going_on(
    train: Callable[[Path], object], folder: Path, monkeypatch: pytest.MonkeyPatch, updates: Sequence[int]
) -> None:
    """A run killed before each of these updates, one after the other, ends as one never killed: weights and curve.

    Leaves the one in ``folder/killed`` and the other in ``folder/whole``.
    """
    train(folder / "whole")
    for update in updates:
        with monkeypatch.context() as patch, pytest.raises(Killed):
            kill_at(patch, update)
            train(folder / "killed")
        assert not (folder / "killed" / "model").exists()
    train(folder / "killed")
    assert weights(folder / "killed") == weights(folder / "whole")
    assert without_seconds(folder / "killed" / "curve.csv") == without_seconds(folder / "whole" / "curve.csv")
