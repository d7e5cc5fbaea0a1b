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
import psutil
import pytest
import torch
from safetensors.numpy import load_file
from training_runs import places, write_table

from neural_smt.errors import UserError
from neural_smt.io.files import read_csv, write_lines
from neural_smt.io.ragged import Ragged
from neural_smt.shortlist import most_frequent
from neural_smt.training.launch import loopback_variables
from neural_smt.training.processes import Processes, check_devices
from neural_smt.training.steps import train_network
from neural_smt.vocabulary import EOS, UNK, Vocabulary
from neural_smt.vocabulary_selection.candidates import CandidateSets
from neural_smt.workflow.code_digest import PACKAGE

WORDS = 14

LOOP = {"updates": 24, "validate_every": 8, "checkpoint_every": 5, "keep": "best"}

PHRASES = {"hidden": 8, "embedding": 6, "maxout": 5, "rank": 4, "batch": 15, "validation_pairs": 20}
NGRAMS = {"order": 4, "projection": 6, "layers": [10, 8], "initial_range": 0.1, "batch": 33, "validation": 0.1}
SENTENCES = {"hidden": 8, "direct_bits": 8, "batch": 15, "epochs": 3, "validation": 0.1, "ngram_order": 3}
PAIRS = {"hidden": 8, "embedding": 6, "attention": 7, "maxout": 5, "rank": 4, "batch": 15, "buffer": 3, "max_length": 6}


@pytest.fixture(scope="module")
def sentences() -> list[list[int]]:
    random = np.random.default_rng(0)
    return [random.integers(0, WORDS, random.integers(1, 8)).tolist() for _ in range(130)]


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory, sentences: list[list[int]]) -> Path:
    """Source word s<i> becomes target word t<i>, as a text of two sides with candidates and as a phrase table."""
    folder = tmp_path_factory.mktemp("texts")
    vocabularies = {}
    for side in ("source", "target"):
        lines = [" ".join(f"{side[0]}{word}" for word in sentence) for sentence in sentences]
        write_lines(folder / f"{side}.txt", lines)
        vocabularies[side] = Vocabulary.from_sentences(lines)
        vocabularies[side].save(folder / side)
        most_frequent(vocabularies[side], 10).save(folder / f"{side}.shortlist")
    target = vocabularies["target"]
    sets = [np.unique([UNK, EOS, 5, *target.ids([f"t{word}" for word in sentence])]) for sentence in sentences]
    CandidateSets.from_ids(Ragged.from_lists(sets), len(target)).save(folder / "candidates")
    write_table(folder, sorted({tuple(sentence[:4]) for sentence in sentences}))
    return folder


def files(kind: str, texts: Path) -> dict[str, Any]:
    """What a kind of network is trained on."""
    if kind == "encoder_decoder":
        names = {f"{side}_{name}": texts / f"table.{side}" for side in ("source", "target") for name in KNOWN}
        return names | {"phrase_table": texts / "table"}
    if kind == "attention":
        sides = {side: texts / f"{side}.txt" for side in ("source", "target")}
        held_out = {f"held_out_{side}": path for side, path in sides.items()}
        return sides | held_out | {f"{side}_vocabulary": texts / side for side in ("source", "target")}
    given = {"texts": [texts / "target.txt"]}
    shortlist = {"vocabulary": texts / "target", "shortlist": texts / "target.shortlist"}
    return given | (shortlist if kind == "cslm" else {})


KNOWN = ("vocabulary", "shortlist")

SETTINGS: dict[str, dict[str, Any]] = {
    "encoder_decoder": LOOP | PHRASES,
    "cslm": LOOP | NGRAMS,
    "recurrent": {"checkpoint_every": 5} | SENTENCES,
    "attention": LOOP | PAIRS,
}


def request(kind: str, texts: Path, folder: Path, candidates: bool = False, **settings: Any) -> dict[str, Any]:
    """All arguments of training a network."""
    inputs, given = files(kind, texts), {"device": "cpu", "seed": 1, **places(folder)}
    if candidates:
        inputs |= {"candidates": texts / "candidates", "held_out_candidates": texts / "candidates"}
        given |= {"epochs": folder / "epochs", "by_epoch": True}
    return given | {"kind": kind, "inputs": inputs, "settings": SETTINGS[kind] | settings}


def train(kind: str, texts: Path, folder: Path, processes: int = 1, **options: Any) -> None:
    train_network(**request(kind, texts, folder, **options), processes=processes)


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "code": ("encoder_decoder", {}),
    "single_pairs": ("encoder_decoder", {"conventions": "paper", "batch": 1}),  # nothing is left for the second process
    "cslm": ("cslm", {}),
    "sgd": ("recurrent", {"optimiser": "sgd", "rate": 0.01}),  # with larger steps rounding grows
    "adagrad": ("recurrent", {}),
    "attention": ("attention", {}),
    "candidates": ("attention", {"candidates": True, "fix_embeddings": 1}),
    "tau": ("attention", {"tau": 16}),
}


@pytest.fixture(scope="module")
def in_two(texts: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for each case, trained by two processes, which stop after some updates and go on."""
    folder = tmp_path_factory.mktemp("two")
    requests = []
    for name, (kind, options) in CASES.items():
        shorter = {"epochs": 2} if kind == "recurrent" else {"updates": 12}
        for further in (shorter, {}):
            step = train_network.__module__, train_network.__name__
            requests.append((*step, request(kind, texts, folder / name, **options | further)))
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
    curves = [read_csv(folder / "curve.csv") for folder in (found, expected)]
    assert len(curves[0]) == len(curves[1]) > 0
    for rows in zip(*curves, strict=True):
        assert rows[0].keys() == rows[1].keys()
        for name in ("updates", "examples", "words", "epochs"):
            assert rows[0][name] == rows[1][name]
        for name in ("train_cost", "validation_perplexity"):
            assert float(rows[0][name]) == pytest.approx(float(rows[1][name]), rel=2e-4)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_two_processes_make_what_one_makes(texts: Path, in_two: Path, tmp_path: Path, case: str) -> None:
    kind, options = CASES[case]
    train(kind, texts, tmp_path, **options)
    assert_alike(in_two / case, tmp_path)
    kept = [sorted(path.name for path in folder.glob("epochs/*")) for folder in (in_two / case, tmp_path)]
    assert kept[0] == kept[1]
    assert bool(kept[0]) == ("candidates" in options)


@pytest.mark.slow
def test_a_run_goes_on_with_more_processes_or_fewer(texts: Path, in_two: Path, tmp_path: Path) -> None:
    """The step starts its workers itself."""
    train("cslm", texts, tmp_path / "more", updates=10)
    train("cslm", texts, tmp_path / "more", processes=2)
    assert_alike(tmp_path / "more", in_two / "cslm")
    assert [row["updates"] for row in read_csv(tmp_path / "more" / "curve.csv")] == ["8", "16", "24"]
    shutil.copytree(in_two / "cslm" / "state", tmp_path / "fewer" / "state")
    train("cslm", texts, tmp_path / "fewer", updates=30)
    train("cslm", texts, tmp_path / "whole", updates=30)
    assert_alike(tmp_path / "fewer", tmp_path / "whole")


@pytest.mark.slow
def test_a_fault_of_the_workers_is_one_sentence(texts: Path, tmp_path: Path) -> None:
    given = request("cslm", texts, tmp_path)
    given["inputs"]["texts"] = [tmp_path / "missing"]
    with pytest.raises(UserError, match=r"missing: no such file; check the path$"):
        train_network(**given, processes=2)
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


def test_no_processes_are_refused(texts: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="processes is 0; set it to 1 or more"):
        train("cslm", texts, tmp_path, processes=0)


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
