"""The tables of the report: what they hold, and faults of the files that they are made from."""

import math
from pathlib import Path

import pandas as pd
import pytest
from refusals import check_refused
from report_files import EXPECTED, EXPERIMENTS, arguments, check_written, comparisons, evaluations, write

from neural_smt.io.files import read_csv, read_lines, read_yaml, write_json
from neural_smt.io.tables import write_rows
from neural_smt.report.pages import render
from neural_smt.report.scores import notes, plot_scores, plot_training, plot_tuning, print_table, read_scores

FAULTS = read_yaml(Path(__file__).with_name("faults.yaml"))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_table_shows_all_numbers_as_programs_and_readers_see_them(name: str, tmp_path: Path) -> None:
    check_written(write(name, arguments(name, tmp_path), tmp_path), name)


@pytest.mark.parametrize(("name", "file", "content", "pieces"), FAULTS)
def test_another_file_is_named(name: str, file: str, content: str | None, pieces: list, tmp_path: Path) -> None:
    given = arguments(name, tmp_path)
    if content is None:
        (tmp_path / file).unlink()
    else:
        (tmp_path / file).write_text(content)
    check_refused(pieces, write, name, given, tmp_path)
    assert not [*tmp_path.glob("out.*")]


@pytest.mark.parametrize(("bleu", "p", "sentence"), read_yaml(Path(__file__).with_name("results.yaml")))
def test_the_result_is_said_in_a_sentence(bleu: float, p: float, sentence: str, tmp_path: Path) -> None:
    scores = {"one": {"dev": [30.0], "test": [28.0]}, "rnn": {"dev": [31.0], "test": [bleu]}}
    p_values = {"one": None, "rnn": p}
    significance = comparisons(tmp_path, {"dev": p_values, "test": p_values})
    given = {"scores": evaluations(tmp_path, scores), "significance": significance}
    assert read_lines(write("table1", given, tmp_path)["markdown_output"])[0] == sentence


def test_a_system_that_reads_the_references_is_not_the_best(tmp_path: Path) -> None:
    scores = {"baseline": {"dev": [30.0], "test": [28.0]}, "oracle": {"dev": [40.0], "test": [39.0]}}
    scores |= {"rnn": {"dev": [31.0], "test": [29.0]}}
    p_values = {"baseline": None, "rnn": 0.01, "oracle": 0.001}
    significance = comparisons(tmp_path, {"dev": p_values, "test": p_values})
    given = {"scores": evaluations(tmp_path, scores), "significance": significance}
    lines = read_lines(write("table1", given | {"oracles": ["oracle"]}, tmp_path)["markdown_output"])
    assert lines[0] == "On test the best system is rnn with 29.00 sacreBLEU, 1.00 above baseline (p = 0.010)."
    assert any(line.startswith("| oracle") for line in lines)


def test_rows_of_one_control_are_named_together() -> None:
    controls = {"a": "", "b": "a", "c": "a", "d": "a", "e": "b", "f": "b", "g": "b", "h": "c", "i": "c", "j": ""}
    found = pd.DataFrame({"system": controls.keys(), "control": controls.values()}).assign(runs=1, signature="s")
    more = found[found["control"] == "a"].assign(system=["k", "l", "m"], runs=3)
    found = pd.concat([found, more], ignore_index=True)
    lines = list(render("scores_notes.md", notes=notes(found), ours="", star="*"))
    names = "paired test against a, but e and 2 more rows against b, h and i against c, j against none;"
    assert any(names in line for line in lines)
    assert "over 3 tuning runs" in " ".join(lines)


def test_terminal_columns_are_aligned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = arguments("table1", tmp_path) | {"labels": {}}
    print_table(table=write("table1", given, tmp_path)["csv_output"])
    assert capsys.readouterr().out == (EXPECTED / "table1.txt").read_text(encoding="utf-8")
    write_rows(tmp_path / "other.csv", ["a"], [["1"]])
    check_refused(["other.csv", "'system'"], print_table, table=tmp_path / "other.csv")


def test_a_system_that_was_not_compared_is_named(tmp_path: Path) -> None:
    given = arguments("table1", tmp_path)
    check_refused("'other'", read_scores, {"other": given["scores"]["rnn"]}, given["significance"])


def test_plots_are_drawn(tmp_path: Path) -> None:
    scores = evaluations(tmp_path, EXPERIMENTS["table1"]["scores"])
    plot_scores(scores=scores, plot=tmp_path / "bleu.png", title="BLEU", labels={"rnn": "Baseline + RNN"})
    histories: dict = {}
    for system in ("baseline", "rnn"):
        for run in (1, 2):
            path = tmp_path / f"{system}{run}.csv"
            write_rows(path, ["iteration", "decoder_bleu"], [[i, 20 + run + i**0.5] for i in range(1, 4 + run)])
            histories.setdefault(system, []).append(str(path))
    plot_tuning(histories=histories, plot=tmp_path / "tuning.png", labels={"rnn": "Baseline + RNN"})
    table = write("training", arguments("training", tmp_path), tmp_path)["csv_output"]
    plot_training(table=table, plot=tmp_path / "training.png")
    for name in ("bleu.png", "tuning.png", "training.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("measured", "shown"), [(None, ""), (math.nan, "nan")])
def test_a_perplexity_may_be_missing_or_no_number(tmp_path: Path, measured: float | None, shown: str) -> None:
    given = arguments("networks", tmp_path)
    for files in given["networks"].values():
        write_json(files["held_out"], {} if measured is None else {"network": measured})
    rows = read_csv(write("networks", given, tmp_path)["csv_output"])
    assert [row["perplexity"] for row in rows] == [shown, shown]


def test_classes_may_be_the_best_in_both(tmp_path: Path) -> None:
    given = arguments("classes", tmp_path)
    del given["networks"]["clustered"]
    sentence = "recurrent computes the fewest outputs (78.2 a word) and has the lowest perplexity of test."
    assert read_lines(write("classes", given | {"title": ""}, tmp_path)["markdown_output"])[4] == sentence
