"""Trainings of all kinds of networks: resuming, starting afresh, refusals."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from refusals import check_refused
from training_runs import CASES, Inputs, arguments, kill_at, train, train_killed_at, weights

from neural_smt.io.files import read_json
from neural_smt.networks.folder import read_weights
from neural_smt.training import loop
from neural_smt.training.loop import Trainer
from neural_smt.training.steps import train_network


@pytest.mark.parametrize("case", CASES["killed"], ids=str)
def test_a_killed_run_ends_as_one_never_killed(
    all_inputs: dict[str, Inputs], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: list[Any]
) -> None:
    """The same weights, curve and report."""
    kind, settings, updates = case
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


@pytest.mark.parametrize("case", CASES["longer"], ids=str)
def test_longer_runs_go_on_and_others_start_afresh(
    all_inputs: dict[str, Inputs], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: list[Any]
) -> None:
    kind, shorter, last, other = case
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


REFUSED = CASES["refused"]


@pytest.mark.parametrize(("kind", "settings", "pieces"), [(kind, *row) for kind in REFUSED for row in REFUSED[kind]])
def test_bad_settings_are_refused(
    all_inputs: dict[str, Inputs], tmp_path: Path, kind: str, settings: dict[str, Any], pieces: list
) -> None:
    check_refused(pieces, train, kind, all_inputs[kind], tmp_path, **settings)
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(("kind", "settings"), CASES["devices"], ids=str)
def test_products_in_tiles_train_as_others_do(
    all_inputs: dict[str, Inputs], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, settings: dict[str, Any]
) -> None:
    """Of factors that are rounded comes much the same, in batches that are filled up nearly the very same; the factors
    of a recurrent model are spared.
    """
    given = all_inputs[kind] | (all_inputs["candidates"] if "fix_embeddings" in settings else {})
    told, products, seen = {}, torch.backends.mkldnn.matmul, set()
    before, validate = products.fp32_precision, Trainer.perplexity

    def look(trainer: Trainer) -> float | None:
        seen.add((products.fp32_precision, trainer.task.filled))
        return validate(trainer)

    monkeypatch.setattr(Trainer, "perplexity", look)
    for way, tiles, compiled in (("plain", False, False), ("filled", False, True), ("tiles", True, False)):
        monkeypatch.setattr(loop, "multiplies_in_tiles", lambda tiles=tiles: tiles)
        monkeypatch.setattr(loop, "trained_by_onednn", lambda compiled=compiled: compiled)
        seen.clear()
        train(kind, given, tmp_path / way, **settings | {"precision": "auto"})
        rounded = tiles and kind != "recurrent"
        assert seen == {("bf16" if rounded else before, "tiles" if rounded or compiled else "")}
        told[way] = pd.read_csv(tmp_path / way / "curve.csv").validation_perplexity.to_numpy()
    assert products.fp32_precision == before
    np.testing.assert_allclose(told["filled"], told["plain"], rtol=1e-4)
    np.testing.assert_allclose(told["tiles"], told["plain"], rtol=0.01)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("graphs", [False, True])
@pytest.mark.parametrize(("kind", "settings"), CASES["devices"], ids=str)
def test_cuda_trains_as_the_cpu(
    all_inputs: dict[str, Inputs], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, settings: dict[str, Any],
    graphs: bool,
) -> None:  # fmt: skip
    """The same curve and weights; on CUDA after the run was killed, and with captured updates."""
    given = all_inputs[kind] | (all_inputs["candidates"] if "fix_embeddings" in settings else {})
    found = {}
    for device in ("cpu", "cuda"):
        chosen = arguments(kind, given, tmp_path / device, **settings, precision="fp32")
        chosen |= {"device": device, "graphs": graphs}
        if device == "cuda":
            train_killed_at(monkeypatch, 5, lambda: train_network(**chosen))  # noqa: B023  (called at once)
        train_network(**chosen)
        found[device] = read_weights(tmp_path / device / "model")
    curves = [pd.read_csv(tmp_path / device / "curve.csv").drop(columns="seconds") for device in found]
    # a simulated device adds up in another order, and rounds as the CPU does
    curve, number, small = (1e-6, 1e-5, 1e-6) if "simulated_cuda" in sys.modules else (1e-4, 1e-3, 1e-4)
    pd.testing.assert_frame_equal(*curves, rtol=curve)
    for name, own in found["cpu"].items():
        np.testing.assert_allclose(found["cuda"][name].cpu(), own, rtol=number, atol=small, err_msg=name)
