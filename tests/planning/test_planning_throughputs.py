"""Rates out of finished jobs: exact ones, outliers, Snakemake's samples, jobs that were killed."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from refusals import check_refused

from neural_smt.planning.calibration import fit_line, fit_lines, fit_throughputs, logged_seconds, merge_lines
from neural_smt.planning.forecasts import HAZARDS, START, Line, Throughputs
from neural_smt.planning.sizes import RATIOS
from neural_smt.workflow.job_usage import Usage, read_benchmark

HEADER = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n"


def benchmark(path: Path, seconds: float, sampled: str) -> Path:
    path.write_text(f"{HEADER}{seconds}\t0:00:00\t512.5\t1\t1\t1\t0\t0\t50\t{sampled}\n")
    return path


def test_lines_are_exact_never_fall_and_follow_no_job_that_was_disturbed() -> None:
    amounts = np.array([10.0, 200, 50, 7000])
    np.testing.assert_allclose(fit_line(amounts, 2 + 0.5 * amounts, np.ones(4)), (2.0, 0.5), rtol=1e-3)
    fixed, rate = fit_line(np.array([1.0, 2, 3]), np.array([3.0, 2.0, 1.0]), np.ones(3))
    assert rate >= 0 and fixed > 0
    amounts = np.arange(1, 10) * 100.0
    measured = 1 + 0.1 * amounts
    measured[4] *= 10
    fixed, rate = fit_line(amounts, measured, np.ones(9))
    np.testing.assert_allclose(fixed + rate * amounts, 1 + 0.1 * amounts, rtol=0.15)


def lines_of(*rows: tuple[str, float, float, float | None], known: dict[str, Line] | None = None) -> dict[str, Line]:
    """The lines of phrase tables that were built: experiment, rows, CPU seconds, bytes on disk."""
    table = pd.DataFrame(rows, columns=["experiment", "rows", "cpu", "disk"])
    amounts = {f"{kind} quantity": table["rows"] for kind in START}
    seen = table.assign(rule="build_phrase_table", memory=300 + table["rows"] / 1e4, **amounts)
    return fit_lines(seen, {"build_phrase_table": known or {}})["build_phrase_table"]


def test_lines_of_few_and_of_many_jobs() -> None:
    fixed, rate = lines_of(("a", 1e6, 10.0, 5e6), *[("b", 1e6, 20.0, 5e6)] * 50)["cpu"]
    assert 11 < fixed + 1e6 * rate < 18, "experiments count alike however many jobs they have"
    fixed, rate = lines_of(("a", 1e6, 100.0, 5e6))["cpu"]
    assert rate * 1e6 > 90 and fixed < 2, "without other sizes time grows with the work"
    assert "disk" not in lines_of(("a", 1e6, 10.0, None)), "the files are gone"
    both = lines_of(("a", 1e6, 10.0, None), ("b", 1e6, 10.0, 8e6))
    assert both["disk"].rate == pytest.approx(8, rel=0.05)


def test_jobs_without_work_do_not_tell_what_work_takes() -> None:
    known = {"cpu": Line(2.0, 0.0), "memory": Line(100.0, 0.5)}
    idle, busy = ("a", 0.0, 3.0, 1e4), ("b", 1e6, 3.0, 1e4)
    found = lines_of(idle, known=known)
    assert found == {"cpu": Line(3.0, 0.0), "disk": Line(1e4, 0.0)}, "of memory it is known what work takes"
    assert lines_of(idle)["memory"] == Line(300.0, 0.0)
    assert lines_of(idle, busy, known=known)["memory"].rate > 0


def test_cpu_time_is_carried_on_from_the_last_sample(tmp_path: Path) -> None:
    # sampled every half second up to 15, then at 45, 75, ...
    assert read_benchmark(benchmark(tmp_path / "a", 10.0, "4.875")) == (10.0, 5.0, 512.5)
    assert read_benchmark(benchmark(tmp_path / "b", 40.0, "15.0"))[1] == 40.0
    assert read_benchmark(benchmark(tmp_path / "c", 60.0, "22.5"))[1] == 30.0
    assert read_benchmark(benchmark(tmp_path / "d", 0.4, "-"))[1] == 0.4


@pytest.mark.parametrize("name", ["align.forward", "decode/rnn.run1.test", "decode/rnn.run1.test.2-of-4"])
def test_what_a_job_says_itself_comes_before_samples(name: str, tmp_path: Path) -> None:
    path, log = tmp_path / f"benchmarks/decoding/{name}.tsv", tmp_path / f"logs/{name}.log"
    for file in (path, log):
        file.parent.mkdir(parents=True)
    benchmark(path, 60.0, "22.5")
    assert read_benchmark(path) == (60.0, 30.0, 512.5)
    with Usage() as used:
        said = str(used)
    log.write_text("a line\n" * 100 + f"2026-01-01 00:00:00,000 root: {said}\n")
    seconds, whole, own = (float(said.split()[place]) for place in (1, 7, 9))
    assert read_benchmark(path) == (60.0, seconds, own)
    assert 0 < own <= whole
    log.write_text("2026-01-01 00:00:00,000 root: used 31.25 processor seconds and at most 600.5 MB\n")
    assert read_benchmark(path) == (60.0, 31.25, 600.5)
    log.write_text(log.read_text() + "a job that was killed later\n")
    assert read_benchmark(path) == (60.0, 30.0, 512.5)
    log.write_text("")
    assert read_benchmark(path) == (60.0, 30.0, 512.5)


def test_a_process_tells_its_own_peak_and_that_of_its_children(tmp_path: Path) -> None:
    large = "held = bytearray(b'1' * (300 << 20)); sum(range(10_000_000))"
    program = (
        "import subprocess, sys, numpy; from neural_smt.workflow.job_usage import Usage\n"
        "with Usage() as used: {}; subprocess.run([sys.executable, '-c', {!r}], check=True)\n"
        "print(used)"
    )
    mapped = f"numpy.memmap({str(tmp_path / 'file')!r}, 'u1', 'w+', shape=300 << 20)[:] = 1; sum(range(10_000_000))"
    told = {}
    works = {"": ("pass", ""), "own": (large, ""), "child": ("pass", large), "file": (mapped, "")}
    for name, (own, child) in works.items():
        command = [sys.executable, "-c", program.format(own, child)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        told[name] = [float(said[place].rstrip(",")) for place in (1, 7, 9)]
    seconds, whole, of_its_own = (dict(zip(told, values, strict=True)) for values in zip(*told.values(), strict=True))
    assert whole[""] < 200 < 300 < min(whole[name] for name in ("own", "child", "file"))
    assert max(whole.values()) < 800
    assert max(of_its_own[""], of_its_own["file"]) < 200 < 300 < min(of_its_own["own"], of_its_own["child"]) < 800
    assert seconds[""] < min(seconds["own"], seconds["child"])


def test_files_that_are_no_benchmarks_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("x\ty\n1\t2\n")
    check_refused(["a.tsv", "benchmark"], read_benchmark, tmp_path / "a.tsv")


def test_jobs_tell_how_long_they_worked_in_all(tmp_path: Path) -> None:
    (tmp_path / "curve.csv").write_text("updates,seconds\n10,5.5\n20,11.5\n")
    (tmp_path / "history.csv").write_text("iteration,decode_seconds,mert_seconds\n1,2.0,0.5\n2,3.0,1.5\n")
    assert logged_seconds(tmp_path / "curve.csv") == 11.5
    assert logged_seconds(tmp_path / "history.csv") == 7.0
    assert logged_seconds(tmp_path / "weights.json") == 0.0
    assert logged_seconds(tmp_path / "gone" / "curve.csv") == float("inf")


def test_throughputs_are_kept_as_they_are(tmp_path: Path) -> None:
    made = Throughputs({"align": {"cpu": Line(1.0, 0.5)}}, experiments=("a", "b"), machine="m", date="2020-01-02")
    made.save(tmp_path / "t.json")
    assert Throughputs.load(tmp_path / "t.json") == made


def test_what_no_run_tells_stays_known() -> None:
    lines = {"tune": {"cpu": Line(1.0, 0.5)}}
    known = Throughputs(lines, dict.fromkeys(RATIOS, 2.0), dict.fromkeys(HAZARDS, 0.25), ("news",), gpu="a GPU")
    assert fit_throughputs([], known) == known
    assert fit_throughputs([]) == Throughputs({})


def test_lines_of_a_gpu_stay_when_others_are_fitted_anew() -> None:
    one, other, of_gpu = {"cpu": Line(1.0, 0.5)}, {"cpu": Line(3.0, 0.0)}, {"gpu": Line(0.1, 2.0)}
    merged = merge_lines({"tune": one, "train": one | of_gpu}, {"train": other, "align": other})
    assert list(merged.items()) == [("align", other), ("train", other | of_gpu), ("tune", one)]


def test_throughputs_that_were_read_are_written_again(repository: Path, tmp_path: Path) -> None:
    read = Throughputs.load(repository / "benchmarks" / "throughputs.json")
    read.save(tmp_path / "t.json")
    assert Throughputs.load(tmp_path / "t.json") == read


def test_the_committed_throughputs_are_of_this_table(repository: Path) -> None:
    measured = Throughputs.load(repository / "benchmarks" / "throughputs.json")
    assert {"multi30k", "news"} <= set(measured.experiments)
    assert all(min(line) >= 0 for lines in measured.lines.values() for line in lines.values())
    assert {"tune", "decode", "train_network/encoder_decoder", "align"} <= set(measured.lines)
