"""The table of systems and the figures beside it."""

from pathlib import Path

import pytest
from unpadded import unpadded

from neural_smt.errors import UserError
from neural_smt.io.files import read_csv, write_csv, write_json
from neural_smt.report.scores import plot_scores, plot_tuning, print_table, read_runs, read_scores, write_table

SIGNATURE = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"
BLEU = {
    "baseline": {"dev": [30.0, 30.2, 30.1], "test": [28.0, 28.4, 28.2]},
    "rnn": {"dev": [31.0, 31.0, 31.3], "test": [28.5, 28.9, 28.7]},
}
P_VALUES = {"dev": {"baseline": None, "rnn": 0.0004}, "test": {"baseline": None, "rnn": 0.0312}}


@pytest.fixture
def files(tmp_path: Path) -> tuple[dict, dict]:
    """The evaluation's outputs for two systems, two sets and three runs: scores and significance."""
    scores: dict = {}
    for system, sets in BLEU.items():
        for name, values in sets.items():
            for run, value in enumerate(values):
                path = tmp_path / system / f"run{run}" / f"{name}.json"
                write_json(path, {"sacrebleu": value, "tokenised_bleu": value + 1, "signature": SIGNATURE})
                scores.setdefault(system, {}).setdefault(name, []).append(str(path))
    significance = {}
    for name, values in P_VALUES.items():
        path = tmp_path / f"{name}.significance.json"
        write_json(path, {system: {"p_value": value, "bleu_mean": 0.0} for system, value in values.items()})
        significance[name] = str(path)
    return scores, significance


def table(files: tuple[dict, dict], folder: Path, **options: object) -> tuple[Path, Path]:
    scores, significance = files
    csv, markdown = folder / "table.csv", folder / "table.md"
    write_table(scores=scores, significance=significance, csv_output=csv, markdown_output=markdown, **options)
    return csv, markdown


def test_csv_holds_mean_spread_and_p(files: tuple[dict, dict], tmp_path: Path) -> None:
    csv, _ = table(files, tmp_path)
    baseline, rnn = read_csv(csv)
    assert (baseline["system"], rnn["system"], rnn["runs"]) == ("baseline", "rnn", "3")
    assert baseline["dev:sacrebleu"] == "30.1000" and baseline["dev:sacrebleu_std"] == "0.1000"
    assert rnn["test:tokenised"] == "29.7000" and rnn["test:tokenised_std"] == "0.2000"
    assert baseline["test:p_value"] == "" and rnn["test:p_value"] == "0.031200"
    assert rnn["signature"] == SIGNATURE


def test_markdown_as_a_reader_sees_it(files: tuple[dict, dict], tmp_path: Path) -> None:
    _, markdown = table(files, tmp_path, title="Table 1", labels={"rnn": "Baseline + RNN", "baseline": "Baseline"})
    assert unpadded(markdown) == [
        "# Table 1",
        "",
        "| System | dev: sacreBLEU | tokens | p | test: sacreBLEU | tokens | p |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| Baseline | 30.10 ± 0.10 | 31.10 ± 0.10 |  | 28.20 ± 0.20 | 29.20 ± 0.20 |  |",
        r"| Baseline + RNN | 31.10 ± 0.17 | 32.10 ± 0.17 | <0.001 \*\*\* "
        r"| 28.70 ± 0.20 | 29.70 ± 0.20 | 0.031 \* |",
        "",
        f"BLEU: sacreBLEU on detokenised text ({SIGNATURE}) and BLEU on tokens; "
        "mean ± standard deviation over 3 tuning runs.",
        "",
        r"p: paired test against the baseline; \* p < 0.05, \*\* p < 0.01, \*\*\* p < 0.001.",
    ]


def test_terminal_columns_are_aligned(
    files: tuple[dict, dict], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    csv, _ = table(files, tmp_path)
    print_table(table=csv)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["System", "sacreBLEU", "tokens", "p", "sacreBLEU", "tokens", "p"]
    assert lines[3].split()[:7] == ["rnn", "31.10", "±", "0.17", "32.10", "±", "0.17"]
    assert lines[2].index("30.10") == lines[3].index("31.10")
    assert lines[2].index("28.20") == lines[3].index("28.70")
    assert any("3 tuning runs" in line for line in lines[4:])


def test_one_run_has_no_spread(files: tuple[dict, dict], tmp_path: Path) -> None:
    scores = {system: {name: paths[:1] for name, paths in sets.items()} for system, sets in files[0].items()}
    csv, markdown = table((scores, files[1]), tmp_path)
    assert read_csv(csv)[0]["dev:sacrebleu_std"] == ""
    assert "| baseline | 30.00 | 31.00 |  | 28.00 | 29.00 |  |" in unpadded(markdown)
    assert any("one tuning run" in line for line in unpadded(markdown))


def test_missing_scores_are_named(files: tuple[dict, dict], tmp_path: Path) -> None:
    scores, significance = files
    with pytest.raises(UserError, match=r"has no 'other'"):
        read_scores({"other": scores["rnn"]}, significance)
    write_json(Path(scores["rnn"]["dev"][0]), {"sacrebleu": 1.0})
    with pytest.raises(UserError, match=r"dev\.json: has no 'tokenised_bleu'"):
        read_scores(scores, significance)
    write_csv(tmp_path / "other.csv", ["a"], [["1"]])
    with pytest.raises(UserError, match="has no column 'system'; give a table of systems"):
        print_table(table=tmp_path / "other.csv")


def test_scores_are_read_per_run(files: tuple[dict, dict]) -> None:
    runs = read_runs(files[0]).query("system == 'rnn' and set == 'test'")
    assert runs["sacrebleu"].tolist() == [28.5, 28.9, 28.7] and runs["tokenised"].tolist() == [29.5, 29.9, 29.7]
    found = read_scores(*files).loc[("rnn", "test")]
    assert (found["runs"], found["signature"], found["p_value"]) == (3, SIGNATURE, 0.0312)


def test_plots_are_drawn(files: tuple[dict, dict], tmp_path: Path) -> None:
    plot_scores(scores=files[0], plot=tmp_path / "bleu.png", title="BLEU", labels={"rnn": "Baseline + RNN"})
    histories: dict = {}
    for system in ("baseline", "rnn"):
        for run in (1, 2):
            path = tmp_path / f"{system}{run}.csv"
            write_csv(path, ["iteration", "decoder_bleu"], [[i, 20 + run + i**0.5] for i in range(1, 4 + run)])
            histories.setdefault(system, []).append(str(path))
    plot_tuning(histories=histories, plot=tmp_path / "tuning.png", labels={"rnn": "Baseline + RNN"})
    for name in ("bleu.png", "tuning.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
