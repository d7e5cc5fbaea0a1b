"""Time and memory over the number of sentence pairs, from Snakemake's benchmark files."""

from pathlib import Path

import pytest
from matplotlib.image import imread

from neural_smt.errors import UserError
from neural_smt.io.files import read_csv, write_lines
from neural_smt.report.costs import fit_line, write_scaling_table


def measurement(path: Path, seconds: float, memory: float) -> Path:
    write_lines(path, ["s\th:m:s\tmax_rss\tcpu_time", f"9.0\t0:00:01\t{memory}\t{seconds * (9 - 0.25) / 9}"])
    return path


def files(folder: Path, pairs: int, align: float, tune: float) -> list[Path]:
    root = folder / str(pairs) / "benchmarks"
    return [
        measurement(root / "tuning/tune/part.run1.tsv", tune, 300),
        measurement(root / "alignment/align.forward.tsv", align, pairs / 100),
        measurement(root / "alignment/align.backward.tsv", 2 * align, pairs / 50),
    ]


def test_a_line_goes_through_points_on_a_line() -> None:
    line = fit_line([1000, 2000, 4000], [7.0, 9.0, 13.0])
    assert line == pytest.approx((5.0, 0.002, 1.0))
    assert line.at(3000) == pytest.approx(11.0)
    assert fit_line([1, 2], [3.0, 3.0]) == pytest.approx((3.0, 0.0, 1.0))


def test_a_line_is_that_of_least_squares() -> None:
    # by hand: means 2 and 14/3, slope 3/2; rest 1/6 of a variance of 14/3
    line = fit_line([1, 2, 3], [3.0, 5.0, 6.0])
    assert line == pytest.approx((14 / 3 - 3, 1.5, 1 - (1 / 6) / (14 / 3)))


def test_stages_are_summed_for_each_number_of_pairs(tmp_path: Path) -> None:
    benchmarks = {"20000": files(tmp_path, 20000, 4.0, 31.0), "10000": files(tmp_path, 10000, 2.0, 30.0)}
    write_scaling_table(benchmarks=benchmarks, output=tmp_path / "scaling.csv", plot=tmp_path / "scaling.png")
    rows = [list(row.values()) for row in read_csv(tmp_path / "scaling.csv")]
    assert rows == [
        ["10000", "alignment", "2", "6.00", "200.0", "6.00"],
        ["20000", "alignment", "2", "12.00", "400.0", "12.00"],
        ["10000", "tuning", "1", "30.00", "300.0", "30.00"],
        ["20000", "tuning", "1", "31.00", "300.0", "31.00"],
        ["10000", "total", "3", "36.00", "300.0", "36.00"],
        ["20000", "total", "3", "43.00", "400.0", "43.00"],
    ]
    assert imread(tmp_path / "scaling.png").shape[1] == 1500


def test_one_number_of_pairs_shows_no_growth(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="one number of pairs shows no growth"):
        write_scaling_table(
            benchmarks={5: files(tmp_path, 5, 1, 1)}, output=tmp_path / "a.csv", plot=tmp_path / "a.png"
        )
    assert not (tmp_path / "a.csv").exists()
