"""Time and memory of the stages from Snakemake's benchmark files."""

from pathlib import Path

import pytest

from neural_smt.errors import UserError
from neural_smt.io.files import read_csv, write_lines
from neural_smt.report.costs import read_jobs, summarise_benchmarks

HEADER = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time"


def measurement(path: Path, seconds: float, memory: str, cpu: str) -> Path:
    write_lines(path, [HEADER, f"{seconds}\t0:00:01\t{memory}\t1\t1\t1\t0\t0\t90\t{cpu}"])
    return path


def test_stage_and_rule_come_from_the_place(tmp_path: Path) -> None:
    path = measurement(tmp_path / "results/x/benchmarks/tuning/tune/rnn.run1.tsv", 12.5, "300.25", "11.0")
    assert read_jobs([path]).values.tolist() == [["tuning", "tune", 12.5, pytest.approx(11 * 12.5 / 12.25), 300.25]]
    path = measurement(tmp_path / "results/x/benchmarks/evaluation/compare.test.tsv", 0.2, "-", "NA")
    assert read_jobs([path]).values.tolist() == [["evaluation", "compare", 0.2, 0.2, 0.0]]


def test_rules_are_summed_in_the_order_of_the_stages(tmp_path: Path) -> None:
    root = tmp_path / "benchmarks"
    files = [
        measurement(root / "tuning/tune/rnn.run1.tsv", 30, "400", "50"),
        measurement(root / "tuning/tune/rnn.run2.tsv", 20, "500", "40"),
        measurement(root / "corpus/tokenise/dev.tsv", 1.5, "80", "1.4"),
    ]
    summarise_benchmarks(benchmarks=files, output=tmp_path / "costs.csv", plot=tmp_path / "costs.png")
    corpus, tuning = read_csv(tmp_path / "costs.csv")
    # CPU seconds as if those since the last sample, of seconds 15, 15 and 1.25, had been like those before it
    assert list(corpus.values()) == ["corpus", "tokenise", "1", "1.50", "1.68", "80.0"]
    assert list(tuning.values()) == ["tuning", "tune", "2", "50.00", "153.33", "500.0"]
    assert (tmp_path / "costs.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_no_benchmark_is_refused(tmp_path: Path) -> None:
    message = "not below a folder benchmarks/<stage>, so of no known stage; give files of Snakemake"
    with pytest.raises(UserError, match=message):
        read_jobs([measurement(tmp_path / "other/file.tsv", 1, "1", "1")])
    write_lines(tmp_path / "benchmarks/corpus/fetch.tsv", [HEADER])
    with pytest.raises(UserError, match="not a benchmark"):
        read_jobs([tmp_path / "benchmarks/corpus/fetch.tsv"])
    with pytest.raises(UserError, match="no benchmark files"):
        summarise_benchmarks(benchmarks=[], output=tmp_path / "a.csv", plot=tmp_path / "a.png")
