"""Trainings of all kinds of networks: resuming, starting afresh, refusals."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from training_runs import Inputs, kill_at, train, train_killed_at, weights

from neural_smt.errors import UserError
from neural_smt.io.files import read_json, read_yaml


@pytest.mark.parametrize(
    ("kind", "settings", "updates"),
    [
        # before the first checkpoint, and between later ones
        ("encoder_decoder", {}, (5, 33, 47)),
        ("encoder_decoder", {"conventions": "paper", "keep": "best"}, (5, 33, 47)),
        ("encoder_decoder", {"unit": "tanh"}, (5, 33, 47)),
        ("cslm", {}, (5, 33, 47)),
        ("cslm", {"keep": "last", "validate_every": 0}, (5, 33, 47)),
        # in other epochs
        ("recurrent", {}, (5, 20, 31)),
        ("recurrent", {"optimiser": "sgd", "rate": 0.05}, (5, 20, 31)),
        # before and after embeddings are fixed
        ("attention", {}, (5, 20, 33)),
        ("attention", {"keep": "best", "fix_embeddings": 2}, (5, 20, 33)),
        ("attention", {"tau": 14}, (5, 20, 33)),
    ],
)
def test_a_killed_run_ends_as_one_never_killed(
    all_inputs: dict[str, Inputs],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    settings: dict[str, Any],
    updates: tuple[int, ...],
) -> None:
    """The same weights, curve and report."""
    given = all_inputs[kind] | (all_inputs["candidates"] if "fix_embeddings" in settings else {})
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    train(kind, given, whole, **settings)
    for update in updates:
        train_killed_at(monkeypatch, update, lambda: train(kind, given, killed, **settings))
        assert not (killed / "model").exists()
    train(kind, given, killed, **settings)
    assert weights(killed) == weights(whole)
    curves = [pd.read_csv(folder / "curve.csv").drop(columns="seconds") for folder in (killed, whole)]
    pd.testing.assert_frame_equal(*curves, check_exact=True)
    told = [read_json(folder / "held_out.json") | {"words_per_second": 0} for folder in (killed, whole)]
    assert told[0] == told[1]
    assert (whole / "curve.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("kind", "shorter", "last", "other"),
    [
        ("encoder_decoder", {"updates": 30}, 29, {"clip": 0.5}),
        ("cslm", {"updates": 30}, 29, {"clip": 0.5}),
        ("recurrent", {"epochs": 2}, 19, {"bptt": 1}),
    ],
)
def test_longer_runs_go_on_and_others_start_afresh(
    all_inputs: dict[str, Inputs],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    shorter: dict[str, Any],
    last: int,
    other: dict[str, Any],
) -> None:
    given = all_inputs[kind]
    train(kind, given, tmp_path / "whole")
    train(kind, given, tmp_path / "longer", **shorter)
    with monkeypatch.context() as patch:
        kill_at(patch, last)  # never reached again
        train(kind, given, tmp_path / "longer")
    assert weights(tmp_path / "longer") == weights(tmp_path / "whole")
    train(kind, given, tmp_path / "other", **other)
    assert weights(tmp_path / "other") != weights(tmp_path / "whole")
    if kind == "cslm":
        train(kind, given | {"texts": given["texts"][:1]}, tmp_path / "other")
    train(kind, given, tmp_path / "other")
    assert weights(tmp_path / "other") == weights(tmp_path / "whole")
    train(kind, given, tmp_path / "other", seed=2)
    assert weights(tmp_path / "other") != weights(tmp_path / "whole")


REFUSED = read_yaml(Path(__file__).with_name("refused.yaml"))


@pytest.mark.parametrize(("kind", "settings", "message"), [(kind, *row) for kind in REFUSED for row in REFUSED[kind]])
def test_bad_settings_are_refused(
    all_inputs: dict[str, Inputs], tmp_path: Path, kind: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        train(kind, all_inputs[kind], tmp_path, **settings)
    assert not (tmp_path / "model").exists()
