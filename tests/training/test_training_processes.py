"""Training in two processes: the same weights as in one, resuming, faults."""

import importlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pytest
import torch
from safetensors.numpy import load_file
from training_runs import Inputs, arguments, train

from neural_smt.errors import UserError
from neural_smt.io.files import read_csv
from neural_smt.training.launch import loopback_variables
from neural_smt.training.processes import Processes, check_devices
from neural_smt.workflow.code_digest import PACKAGE

LOOP = {"updates": 24, "validate_every": 8, "checkpoint_every": 5, "keep": "best", "batch": 15}

EPOCHS = {"epochs": 3, "checkpoint_every": 5, "batch": 15}

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "code": ("encoder_decoder", LOOP),
    # nothing is left for the second process
    "single_pairs": ("encoder_decoder", LOOP | {"conventions": "paper", "batch": 1}),
    "cslm": ("cslm", LOOP | {"batch": 33}),
    # with larger steps rounding grows
    "sgd": ("recurrent", EPOCHS | {"optimiser": "sgd", "rate": 0.01}),
    "adagrad": ("recurrent", EPOCHS | {"rate": 0.03}),
    "attention": ("attention", LOOP),
    "candidates": ("attention", LOOP | {"by_epoch": True, "fix_embeddings": 1}),
    "tau": ("attention", LOOP | {"tau": 14}),
}


def given(case: str, all_inputs: dict[str, Inputs]) -> tuple[str, Inputs, dict[str, Any]]:
    """The kind of network of a case, what it is trained on, and how."""
    kind, options = CASES[case]
    return kind, all_inputs[kind] | (all_inputs["candidates"] if case == "candidates" else {}), options


@pytest.fixture(scope="module")
def in_two(all_inputs: dict[str, Inputs], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for each case, trained by two processes, which stop after some updates and go on."""
    folder = tmp_path_factory.mktemp("two")
    requests = []
    for name in CASES:
        kind, inputs, options = given(name, all_inputs)
        shorter = {"epochs": 2} if kind == "recurrent" else {"updates": 12}
        requests += [arguments(kind, inputs, folder / name, **options | further) for further in (shorter, {})]
    (folder / "requests").write_text(json.dumps(requests, default=str))
    program = [str(Path(__file__).with_name("runs_in_processes.py")), str(folder / "requests")]
    torchrun = ["torch.distributed.run", "--standalone", "--local-addr", "127.0.0.1", "--nproc-per-node", "2"]
    environment = os.environ | loopback_variables() | {"PYTHONPATH": str(PACKAGE.parent), "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-m", *torchrun, *program], env=environment, check=True)
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
@pytest.mark.parametrize("case", CASES)
def test_two_processes_make_what_one_makes(
    all_inputs: dict[str, Inputs], in_two: Path, tmp_path: Path, case: str
) -> None:
    kind, inputs, options = given(case, all_inputs)
    train(kind, inputs, tmp_path, **options)
    assert_alike(in_two / case, tmp_path)
    kept = [sorted(path.name for path in folder.glob("epochs/*")) for folder in (in_two / case, tmp_path)]
    assert kept[0] == kept[1]
    assert bool(kept[0]) == ("by_epoch" in options)


@pytest.mark.slow
def test_a_run_goes_on_with_more_processes_or_fewer(
    all_inputs: dict[str, Inputs], in_two: Path, tmp_path: Path
) -> None:
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
    with pytest.raises(UserError, match=r"missing: no such file; check the path$"):
        train("cslm", all_inputs["cslm"] | {"texts": [tmp_path / "missing"]}, tmp_path, processes=2)
    assert list(tmp_path.iterdir()) == []


DYING = """
import os, signal, time
from neural_smt.training.launch import in_processes

@in_processes
def die(*, processes: int, device: str = "cpu") -> None:
    if os.environ["RANK"] == "1":
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(100)
"""


def test_a_worker_that_is_killed_is_named_and_ends_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dying_step.py").write_text(DYING, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    step = importlib.import_module("dying_step").die
    with pytest.raises(UserError, match=r"^worker 1 was killed \(SIGKILL\); if memory ran out, ask for more"):
        step(processes=2, device="cpu")
    assert [child for child in psutil.Process().children() if "neural_smt.training.worker" in child.cmdline()] == []


def test_no_processes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="processes is 0; set it to 1 or more"):
        train("cslm", {}, tmp_path, processes=0)


def test_more_processes_than_gpus_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    check_devices(torch.device("cuda"), 2)
    check_devices(torch.device("cpu"), 3)
    with pytest.raises(UserError, match=r"3 processes, but PyTorch finds 2 GPUs; set training\.processes to as"):
        check_devices(torch.device("cuda"), 3)


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
