"""Training in two processes: the same weights as in one, resuming, faults."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pytest
import torch
from refusals import check_refused
from runs_in_processes import die, run_in_two
from safetensors.numpy import load_file
from training_runs import CASES, Inputs, arguments, train

from neural_smt.io.files import read_csv
from neural_smt.training.processes import Processes, check_devices

RUNS: dict[str, tuple[str, dict[str, Any]]] = CASES["processes"]


def given(case: str, all_inputs: dict[str, Inputs]) -> tuple[str, Inputs, dict[str, Any]]:
    """The kind of network of a case, what it is trained on, and how."""
    kind, options = RUNS[case]
    return kind, all_inputs[kind] | (all_inputs["candidates"] if case == "candidates" else {}), options


@pytest.fixture(scope="module")
def in_two(all_inputs: dict[str, Inputs], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for each case, trained by two processes, which stop after some updates and go on."""
    folder = tmp_path_factory.mktemp("two")
    requests = []
    for name in RUNS:
        kind, inputs, options = given(name, all_inputs)
        shorter = {"epochs": 2} if kind == "recurrent" else {"updates": 12}
        requests += [arguments(kind, inputs, folder / name, **options | further) for further in (shorter, {})]
    run_in_two(requests, folder)
    return folder


def assert_alike(found: Path, expected: Path, tolerance: float = 1e-6) -> None:
    """The same weights, to rounding, and the same learning curve, to the digits that it is written with."""
    weights, others = (load_file(folder / "model" / "weights.safetensors") for folder in (found, expected))
    assert weights.keys() == others.keys()
    for name, values in weights.items():
        np.testing.assert_allclose(values, others[name], rtol=0, atol=tolerance, err_msg=name)
    curves = [pd.read_csv(folder / "curve.csv").drop(columns="seconds") for folder in (found, expected)]
    assert len(curves[0]) > 0
    pd.testing.assert_frame_equal(*curves, rtol=2e-4)


@pytest.mark.slow
@pytest.mark.parametrize("case", RUNS)
def test_two_processes_do_what_one_does(all_inputs: dict[str, Inputs], in_two: Path, tmp_path: Path, case: str) -> None:
    kind, inputs, options = given(case, all_inputs)
    train(kind, inputs, tmp_path, **options)
    assert_alike(in_two / case, tmp_path)
    kept = [sorted(path.name for path in folder.glob("epochs/*")) for folder in (in_two / case, tmp_path)]
    assert kept[0] == kept[1]
    assert bool(kept[0]) == ("by_epoch" in options)


@pytest.mark.gpu
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="fewer than two CUDA devices")
def test_two_gpus_do_what_a_cpu_does(all_inputs: dict[str, Inputs], tmp_path: Path) -> None:
    runs: dict[str, tuple[str, Inputs, dict[str, Any]]] = {}
    for case in ("code", "cslm", "adagrad", "candidates"):
        kind, inputs, options = given(case, all_inputs)
        fewer = {"epochs": 1} if kind == "recurrent" else {"updates": 5}
        runs[case] = kind, inputs, options | fewer
    run_in_two([arguments(*run[:2], tmp_path / case, **run[2]) for case, run in runs.items()], tmp_path, "cuda")
    for case, (kind, inputs, options) in runs.items():
        train(kind, inputs, tmp_path / f"{case}.one", **options)
        assert_alike(tmp_path / case, tmp_path / f"{case}.one")


@pytest.mark.slow
def test_a_run_goes_on_in_more_processes_or_fewer(all_inputs: dict[str, Inputs], in_two: Path, tmp_path: Path) -> None:
    """The step starts its workers itself."""
    kind, inputs, options = given("cslm", all_inputs)
    train(kind, inputs, tmp_path / "more", **options | {"updates": 10})
    train(kind, inputs, tmp_path / "more", processes=2, **options)
    assert_alike(tmp_path / "more", in_two / "cslm")
    assert [row["updates"] for row in read_csv(tmp_path / "more" / "curve.csv")] == ["8", "16", "24"]
    shutil.copytree(in_two / "cslm" / "state", tmp_path / "fewer" / "state")
    for name in ("fewer", "whole"):
        train(kind, inputs, tmp_path / name, **options | {"updates": 30})
    assert_alike(tmp_path / "fewer", tmp_path / "whole")


@pytest.mark.slow
def test_a_fault_of_the_workers_is_one_sentence(all_inputs: dict[str, Inputs], tmp_path: Path) -> None:
    inputs = all_inputs["cslm"] | {"texts": [tmp_path / "missing"]}
    check_refused(["missing", "no such file"], train, "cslm", inputs, tmp_path, processes=2)
    assert list(tmp_path.iterdir()) == []


def test_a_worker_that_is_killed_is_named_and_ends_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    check_refused(["worker 1", "SIGKILL", "memory"], die, processes=2, device="cpu")
    assert [child for child in psutil.Process().children() if "neural_smt.training.worker" in child.cmdline()] == []


def test_more_processes_than_gpus_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    check_devices(torch.device("cuda"), 2)
    check_devices(torch.device("cpu"), 3)
    check_refused(["3 processes", "2 GPUs", "training.processes"], check_devices, torch.device("cuda"), 3)


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_shares_make_up_a_minibatch(count: int) -> None:
    rows = np.arange(7)
    shares = [rows[Processes(rank, count).share].tolist() for rank in range(count)]
    assert sorted(row for share in shares for row in share) == rows.tolist()
    sizes = [len(share) for share in shares]
    assert max(sizes) - min(sizes) <= 1
    assert [Processes(rank, count).first for rank in range(count)] == [True] + [False] * (count - 1)


def test_one_process_keeps_numbers_as_they_are() -> None:
    assert Processes.current() == Processes(0, 1)
    assert Processes().total(0.1, 3) == [0.1, 3]
    assert np.arange(5)[Processes().share].tolist() == [0, 1, 2, 3, 4]
