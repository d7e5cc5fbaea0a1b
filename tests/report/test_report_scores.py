"""The tables of systems and of what they are built from, and the figures beside them."""

from pathlib import Path

import pytest
from report_files import SIGNATURE, comparisons, evaluations, unpadded, written

from neural_smt.errors import UserError
from neural_smt.io.files import read_csv, write_csv, write_json, write_lines
from neural_smt.report.scores import plot_scores, plot_tuning, print_table, read_runs, read_scores, write_table

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
    write_table(**files, **outputs)
    baseline, rnn = read_csv(outputs["csv_output"])
    assert (baseline["system"], rnn["system"], rnn["runs"]) == ("baseline", "rnn", "3")
    assert baseline["dev:sacrebleu"] == "30.1000" and baseline["dev:sacrebleu_std"] == "0.1000"
    assert rnn["test:tokenised"] == "29.7000" and rnn["test:tokenised_std"] == "0.2000"
    assert baseline["test:p_value"] == "" and rnn["test:p_value"] == "0.031200"
    assert rnn["signature"] == SIGNATURE
    write_table(**files, **outputs, title="Table 1", labels=LABELS)
    assert unpadded(outputs["markdown_output"]) == [
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


def test_sizes_and_perplexity_of_data_stand_before_the_scores(data: dict, outputs: dict[str, Path]) -> None:
    write_table(**data, **outputs, title="Data")
    rows = read_csv(outputs["csv_output"])
    assert [(row["system"], row["data"]) for row in rows] == [
        ("Baseline", "selected"),
        ("whole", "all"),
        ("drawn", "random"),
    ]
    assert list(rows[1].items())[1:10] == [
        ("data", "all"),
        ("pairs", "2000"),
        ("target_words", "6000"),
        ("unknown", "20"),
        ("perplexity", "200.5000"),
        ("phrase_pairs", "2469134"),
        ("runs", "2"),
        ("test:sacrebleu", "19.5000"),
        ("test:sacrebleu_std", "0.7071"),
    ]
    assert [row["test:p_value"] for row in rows] == ["", "0.000400", "0.200000"]
    lines = unpadded(outputs["markdown_output"])
    assert lines[:5] == [
        "# Data",
        "",
        "| System | Data | Pairs | Target words | Unknown dev words | Dev perplexity | Phrase pairs "
        "| test: sacreBLEU | tokens | p |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| Baseline | selected | 1,000 | 3,000 | 10 | 100.2 | 1,234,567 | 20.50 ± 0.71 | 21.50 ± 0.71 |  |",
    ]
    assert lines[5].endswith(r"| 200.5 | 2,469,134 | 19.50 ± 0.71 | 20.50 ± 0.71 | <0.001 \*\*\* |")
    assert [line[:10] for line in lines[8::2]] == ["Pairs incl", "Dev perple", "BLEU: sacr", "p: paired "]


def test_files_of_data_without_their_numbers_are_named(data: dict, outputs: dict[str, Path]) -> None:
    write_json(Path(data["data"]["whole"]["perplexity"]), {"perplexity": 3.0})
    with pytest.raises(UserError, match=r"whole/lm\.json: has no 'unknown'; run the step"):
        write_table(**data, **outputs)
    Path(data["data"]["baseline"]["text"]).unlink()
    with pytest.raises(UserError, match=r"baseline/text: no such file; run the selection stage again"):
        write_table(**data, **outputs)
    assert not outputs["csv_output"].exists()


def test_terminal_columns_are_aligned(
    files: dict, outputs: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    write_table(**files, **outputs)
    print_table(table=outputs["csv_output"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["System", "sacreBLEU", "tokens", "p", "sacreBLEU", "tokens", "p"]
    assert lines[3].split()[:7] == ["rnn", "31.10", "±", "0.17", "32.10", "±", "0.17"]
    assert lines[2].index("30.10") == lines[3].index("31.10")
    assert lines[2].index("28.20") == lines[3].index("28.70")
    assert any("3 tuning runs" in line for line in lines[4:])


def test_one_run_has_no_spread(files: dict, outputs: dict[str, Path]) -> None:
    scores = {system: {name: paths[:1] for name, paths in sets.items()} for system, sets in files["scores"].items()}
    write_table(**files | {"scores": scores}, **outputs)
    assert read_csv(outputs["csv_output"])[0]["dev:sacrebleu_std"] == ""
    lines = unpadded(outputs["markdown_output"])
    assert "| baseline | 30.00 | 31.00 |  | 28.00 | 29.00 |  |" in lines
    assert any("one tuning run" in line for line in lines)


def test_scores_are_read_per_run_and_missing_ones_named(files: dict, tmp_path: Path) -> None:
    runs = read_runs(files["scores"]).query("system == 'rnn' and set == 'test'")
    assert runs["sacrebleu"].tolist() == [28.5, 28.9, 28.7] and runs["tokenised"].tolist() == [29.5, 29.9, 29.7]
    found = read_scores(**files).loc[("rnn", "test")]
    assert (found["runs"], found["signature"], found["p_value"]) == (3, SIGNATURE, 0.0312)
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
