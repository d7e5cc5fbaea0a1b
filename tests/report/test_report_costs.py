"""Time and memory of the stages from Snakemake's benchmark files, in all and over the number of sentence pairs."""

from pathlib import Path

import pytest
from matplotlib.image import imread
from refusals import check_refused
from report_files import EXPECTED

from neural_smt.io.files import read_lines, write_lines
from neural_smt.report.costs import read_jobs, summarise_benchmarks, write_scaling_table

HEADER = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time"


def measurement(path: Path, seconds: float, memory: object, cpu: object) -> Path:
    write_lines(path, [HEADER, f"{seconds}\t0:00:01\t{memory}\t1\t1\t1\t0\t0\t90\t{cpu}"])
    return path


def files(folder: Path, pairs: int, align: float, tune: float) -> list[Path]:
    """Benchmarks of jobs that took so many CPU seconds."""
    jobs = {"alignment/align.forward": (align, pairs / 100), "alignment/align.backward": (2 * align, pairs / 50)}
    jobs["tuning/tune/part.run1"] = tune, 300
    place = folder / f"{pairs}/benchmarks"
    return [measurement(place / f"{job}.tsv", 9.0, memory, cpu * (9 - 0.25) / 9) for job, (cpu, memory) in jobs.items()]


def test_stage_and_rule_come_from_the_place(tmp_path: Path) -> None:
    path = measurement(tmp_path / "results/x/benchmarks/tuning/tune/rnn.run1.tsv", 12.5, "300.25", "11.0")
    assert read_jobs([path]).values.tolist() == [["tuning", "tune", 12.5, pytest.approx(11 * 12.5 / 12.25), 300.25]]
    path = measurement(tmp_path / "results/x/benchmarks/evaluation/compare.test.tsv", 0.2, "-", "NA")
    assert read_jobs([path]).values.tolist() == [["evaluation", "compare", 0.2, 0.2, 0.0]]


def test_rules_are_summed_in_the_order_of_the_stages(tmp_path: Path) -> None:
    jobs = {"tuning/tune/rnn.run1": (30, 400, 50), "tuning/tune/rnn.run2": (20, 500, 40)}
    jobs["corpus/tokenise/dev"] = 1.5, 80, 1.4
    files = [measurement(tmp_path / f"benchmarks/{job}.tsv", *measured) for job, measured in jobs.items()]
    summarise_benchmarks(benchmarks=files, output=tmp_path / "costs.csv", plot=tmp_path / "costs.png")
    # CPU seconds as if those since the last sample, of seconds 15, 15 and 1.25, had been like those before it
    rows = ["corpus,tokenise,1,1.50,1.68,80.0", "tuning,tune,2,50.00,153.33,500.0"]
    assert read_lines(tmp_path / "costs.csv")[1:] == rows
    assert (tmp_path / "costs.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_no_benchmark_is_refused(tmp_path: Path) -> None:
    check_refused(["file.tsv", "<stage>"], read_jobs, [measurement(tmp_path / "other/file.tsv", 1, "1", "1")])
    write_lines(tmp_path / "benchmarks/corpus/fetch.tsv", [HEADER])
    check_refused(["fetch.tsv", "benchmark"], read_jobs, [tmp_path / "benchmarks/corpus/fetch.tsv"])
    outputs = {"output": tmp_path / "a.csv", "plot": tmp_path / "a.png"}
    check_refused("no benchmark", summarise_benchmarks, benchmarks=[], **outputs)
    check_refused("one number of pairs", write_scaling_table, benchmarks={5: files(tmp_path, 5, 1, 1)}, **outputs)
    assert not (tmp_path / "a.csv").exists()


def test_stages_are_summed_for_each_number_of_pairs_with_the_line_of_least_squares(tmp_path: Path) -> None:
    seconds = {"20000": (4.0, 31.0), "10000": (2.0, 30.0), "30000": (5.0, 35.0)}
    benchmarks = {pairs: files(tmp_path, int(pairs), *both) for pairs, both in seconds.items()}
    write_scaling_table(benchmarks=benchmarks, output=tmp_path / "scaling.csv", plot=tmp_path / "scaling.png")
    # alignment by hand: 6, 12 and 15 seconds have the mean 11 and a slope of 4.5 for 10,000 pairs
    assert (tmp_path / "scaling.csv").read_text() == (EXPECTED / "scaling.csv").read_text()
    assert imread(tmp_path / "scaling.png").shape[1] == 1500
