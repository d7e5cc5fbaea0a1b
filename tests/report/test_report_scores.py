"""The tables of systems and of what they are built from, and the figures beside them."""

from pathlib import Path

import pytest
from report_files import EXPECTED, check_written, comparisons, evaluations, written

from neural_smt.errors import UserError
from neural_smt.io.files import write_csv, write_json, write_lines
from neural_smt.report.scores import plot_scores, plot_tuning, print_table, read_scores, write_table

BLEU = {
    "baseline": {"dev": [30.0, 30.2, 30.1], "test": [28.0, 28.4, 28.2]},
    "rnn": {"dev": [31.0, 31.0, 31.3], "test": [28.5, 28.9, 28.7]},
}
P_VALUES = {"dev": {"baseline": None, "rnn": 0.0004}, "test": {"baseline": None, "rnn": 0.0312}}
LABELS = {"rnn": "Baseline + RNN", "baseline": "Baseline"}
DATA = {"baseline": ("selected", 20.0, None), "whole": ("all", 19.0, 0.0004), "drawn": ("random", 18.0, 0.2)}


@pytest.fixture
def files(tmp_path: Path) -> dict:
    """The evaluation's outputs for two systems, two sets and three runs."""
    return {"scores": evaluations(tmp_path, BLEU), "significance": comparisons(tmp_path, P_VALUES)}


@pytest.fixture
def data(tmp_path: Path) -> dict:
    """Three systems of other data, over two runs and one set, and a system whose files are not read."""
    found = {}
    for number, (system, (name, _, _)) in enumerate(DATA.items(), start=1):
        write_lines(tmp_path / system / "text", ["un deux trois"] * (1000 * number))
        measured = {"unknown": 10 * number, "comparable_perplexity": 100.25 * number}
        written(tmp_path / system / "table" / "meta.json", {"rows": 1234567 * number})
        found[system] = {
            "data": name,
            "text": str(tmp_path / system / "text"),
            "perplexity": written(tmp_path / system / "lm.json", measured),
            "phrase_table": str(tmp_path / system / "table"),
        }
    scores = evaluations(tmp_path, {system: {"test": [bleu, bleu + 1]} for system, (_, bleu, _) in DATA.items()})
    return {
        "data": found,
        "scores": scores | {"rnn": {"test": ["not/read.json"]}},
        "significance": comparisons(tmp_path, {"test": {system: p for system, (_, _, p) in DATA.items()}}),
        "labels": LABELS,
    }


def test_means_spread_and_p_as_programs_and_readers_see_them(files: dict, outputs: dict[str, Path]) -> None:
    write_table(**files, **outputs, title="Table 1", labels=LABELS)
    check_written(outputs, "table1")


def test_sizes_and_perplexity_of_data_stand_before_the_scores(data: dict, outputs: dict[str, Path]) -> None:
    write_table(**data, **outputs, title="Data")
    check_written(outputs, "data")


def test_files_of_data_without_their_numbers_are_named(data: dict, outputs: dict[str, Path]) -> None:
    write_json(Path(data["data"]["whole"]["perplexity"]), {"perplexity": 3.0})
    with pytest.raises(UserError, match=r"whole/lm\.json: has no 'unknown'; run the step"):
        write_table(**data, **outputs)
    Path(data["data"]["baseline"]["text"]).unlink()
    with pytest.raises(UserError, match=r"baseline/text: no such file"):
        write_table(**data, **outputs)
    assert not outputs["csv_output"].exists()


def test_terminal_columns_are_aligned(
    files: dict, outputs: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    write_table(**files, **outputs)
    print_table(table=outputs["csv_output"])
    assert capsys.readouterr().out == (EXPECTED / "table1.txt").read_text(encoding="utf-8")


def test_one_run_has_no_spread(files: dict, outputs: dict[str, Path]) -> None:
    scores = {system: {name: paths[:1] for name, paths in sets.items()} for system, sets in files["scores"].items()}
    write_table(**files | {"scores": scores}, **outputs)
    check_written(outputs, "one_run")


def test_scores_that_are_missing_are_named(files: dict, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"has no 'other'"):
        read_scores({"other": files["scores"]["rnn"]}, files["significance"])
    write_json(Path(files["scores"]["rnn"]["dev"][0]), {"sacrebleu": 1.0})
    with pytest.raises(UserError, match=r"dev\.json: has no 'tokenised_bleu'"):
        read_scores(**files)
    write_csv(tmp_path / "other.csv", ["a"], [["1"]])
    with pytest.raises(UserError, match="has no column 'system'; give a table of systems"):
        print_table(table=tmp_path / "other.csv")


def test_plots_are_drawn(files: dict, tmp_path: Path) -> None:
    plot_scores(scores=files["scores"], plot=tmp_path / "bleu.png", title="BLEU", labels={"rnn": "Baseline + RNN"})
    histories: dict = {}
    for system in ("baseline", "rnn"):
        for run in (1, 2):
            path = tmp_path / f"{system}{run}.csv"
            write_csv(path, ["iteration", "decoder_bleu"], [[i, 20 + run + i**0.5] for i in range(1, 4 + run)])
            histories.setdefault(system, []).append(str(path))
    plot_tuning(histories=histories, plot=tmp_path / "tuning.png", labels={"rnn": "Baseline + RNN"})
    for name in ("bleu.png", "tuning.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
