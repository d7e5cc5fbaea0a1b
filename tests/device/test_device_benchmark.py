"""``make bench-gpu`` with small networks: every row is measured, and plans read the rates."""

import importlib
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pandas as pd
import pytest
import torch

from neural_smt.io.files import read_json, read_lines, read_yaml, write_json
from neural_smt.planning.forecasts import Throughputs

SMALL = {
    "encoder_decoder": {"hidden": 16, "embedding": 8, "maxout": 8, "rank": 8, "buffer": 1},
    "cslm": {"projection": 8, "layers": [16, 8]},
    "recurrent": {"hidden": 16, "direct_bits": 14},
    "attention": {"hidden": 16, "embedding": 8, "attention": 16, "maxout": 8, "rank": 8, "buffer": 1},
}


@pytest.fixture
def program(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The program, and in its place a table of small networks."""
    monkeypatch.syspath_prepend(str(repository / "benchmarks"))
    before = set(sys.modules)
    module = importlib.import_module("gpu")
    for constant in ("gpu.LEAST", "workloads.UPDATES", "workloads.CHUNKS", "workloads.BUFFER"):
        monkeypatch.setattr(f"lib.{constant}", 1)
    # workers would need a simulated device of their own
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    yield module
    for name in set(sys.modules) - before:
        if name.split(".")[0] in ("gpu", "lib"):
            del sys.modules[name]


def write_table(path: Path, repository: Path) -> dict[str, Any]:
    """The benchmark's own table, of small networks and short sentences."""
    table = read_yaml(repository / "benchmarks" / "gpu.yaml")
    for entry in table.values():
        kind = "attention" if entry["network"] == "full" else entry["network"]
        entry |= {"settings": SMALL[kind], "words": 2400, "longest": 2, "batch": 4}
    write_json(path, table)
    return table


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_everything_is_measured_and_plans_read_it(
    program: Any, repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = write_table(tmp_path / "small.yaml", repository)
    program.main(f"--table {tmp_path}/small.yaml --seconds 0 --factors 1 --output {tmp_path}".split())
    rows = read_json(tmp_path / "rows.json")["rows"]
    ways = ("bf16", True, True), ("bf16", True, False), ("fp32", True, True), ("bf16", False, True)
    trained = {name for name, entry in table.items() if entry["task"] == "train"}
    expected = [
        (name, 4, *way[:2], way[2] and name in trained, 1)
        for way in ways
        for name in sorted(table)
        if name in trained or way[2]
    ]
    columns = "name", "batch", "precision", "kernels", "graphs", "processes"
    assert [tuple(row[column] for column in columns) for row in rows] == expected
    figures = ("milliseconds", "examples_per_second", "tokens_per_second", "share", "gigabytes")
    assert all(row[figure] > 0 for row in rows for figure in figures) and not any(row["note"] for row in rows)
    # what is printed is what is written, but for the width of columns
    written = [line.split("|")[1:-1] for line in read_lines(tmp_path / "table.md") if line.startswith("|")]
    printed = [line.split("|")[1:-1] for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line] for line in written]
    assert cells[2:] == [[cell.strip() for cell in line] for line in printed][2:]
    assert [line[:6] for line in cells[2:]] == [
        [name, str(batch), precision, *("yes" if way else "no" for way in ways), str(processes)]
        for name, batch, precision, *ways, processes in expected
    ]
    read = Throughputs.load(tmp_path / "throughputs.json")
    rules = {f"train_network/{kind}" for kind in SMALL} | {"score_phrase_table", "translate_attention"}
    assert {rule for rule, lines in read.lines.items() if "gpu" in lines} == rules
    assert all(max(read.lines[rule]["gpu"]) > 0 for rule in rules) and read.gpu
    assert read.of("score_lists/attention", "gpu") == (read.lines["score_phrase_table"]["gpu"], "score_phrase_table")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_what_there_is_no_time_for_is_a_row(program: Any, repository: Path, tmp_path: Path) -> None:
    table = write_table(tmp_path / "small.yaml", repository)
    program.main(f"--table {tmp_path}/small.yaml --minutes 0 --factors 1 4 16 --output {tmp_path}".split())
    rows = read_json(tmp_path / "rows.json")["rows"]
    trained = sum(entry["task"] == "train" for entry in table.values())
    assert len(rows) == 7 * len(table) + 2 * trained and {row["note"] for row in rows} == {"no time left"}
    known = Throughputs.load(repository / "benchmarks" / "throughputs.json")
    assert Throughputs.load(tmp_path / "throughputs.json").lines == known.lines


@pytest.mark.parametrize(
    ("error", "note"), [(torch.OutOfMemoryError("10 GB"), "out of memory"), (ValueError("x"), "failed: ValueError")]
)
def test_what_fails_is_a_row(
    error: Exception, note: str, program: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "measure", Mock(side_effect=error))
    found = program.figures(tmp_path, "CSLM", program.Variant(1), 1.0, tmp_path / "row.json")
    assert found == {"note": note}


def test_rates_follow_from_minibatches_of_several_sizes(program: Any) -> None:
    rows = [
        {"rule": "train_network/cslm", "macs": macs, "steps": 10, "seconds": 10 * 2e-3 + macs * 5e-14}
        for macs in (1e10, 4e10, 1.6e11)
    ]
    alone = {"rule": "score_phrase_table", "macs": 1e10, "steps": 10, "seconds": 0.5}
    lines = program.rates(pd.DataFrame([*rows, alone, {"note": "out of memory"}]))
    assert lines.keys() == {"train_network/cslm", "score_phrase_table"}
    assert lines["train_network/cslm"]["gpu"] == pytest.approx((2e-3, 5e-14), rel=1e-2)
    assert lines["score_phrase_table"]["gpu"] == (0.0, 5e-11)


def test_without_a_gpu_it_says_so(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(SystemExit, match="finds no GPU; run it on a machine with one"):
        program.main([])
