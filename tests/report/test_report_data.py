"""The table of what systems are built from."""

from pathlib import Path

import pytest
from unpadded import unpadded

from neural_smt.errors import UserError
from neural_smt.io.files import read_csv, write_json, write_lines
from neural_smt.report.scores import write_data_table

SYSTEMS = {"baseline": ("selected", 20.0, None), "whole": ("all", 19.0, 0.0004), "drawn": ("random", 18.0, 0.2)}


@pytest.fixture
def arguments(tmp_path: Path) -> dict:
    """Three systems over two runs and one set, with files as the stages write them."""
    data, scores = {}, {}
    for number, (system, (name, bleu, _)) in enumerate(SYSTEMS.items(), start=1):
        folder = tmp_path / system
        folder.mkdir()
        write_lines(folder / "text", ["un deux trois"] * (1000 * number))
        write_json(folder / "lm.json", {"unknown": 10 * number, "comparable_perplexity": 100.25 * number})
        write_json(folder / "table" / "meta.json", {"rows": 1234567 * number})
        data[system] = {
            "data": name,
            "text": str(folder / "text"),
            "perplexity": str(folder / "lm.json"),
            "phrase_table": str(folder / "table"),
        }
        scores[system] = {"test": []}
        for run, value in enumerate((bleu, bleu + 1)):
            write_json(folder / f"{run}.json", {"sacrebleu": value, "tokenised_bleu": value, "signature": "s"})
            scores[system]["test"].append(str(folder / f"{run}.json"))
    write_json(tmp_path / "p.json", {system: {"p_value": p} for system, (_, _, p) in SYSTEMS.items()})
    return {
        "data": data,
        "scores": scores | {"rnn": {"test": ["not/read.json"]}},
        "significance": {"test": str(tmp_path / "p.json")},
        "labels": {"baseline": "Baseline", "rnn": "RNN"},
        "csv_output": tmp_path / "data.csv",
        "markdown_output": tmp_path / "data.md",
    }


def test_csv_holds_sizes_perplexity_and_scores(arguments: dict) -> None:
    write_data_table(**arguments)
    rows = read_csv(arguments["csv_output"])
    assert [(row["system"], row["data"]) for row in rows] == [
        ("Baseline", "selected"),
        ("whole", "all"),
        ("drawn", "random"),
    ]
    assert {name: rows[1][name] for name in list(rows[1])[1:10]} == {
        "data": "all",
        "pairs": "2000",
        "target_words": "6000",
        "unknown": "20",
        "perplexity": "200.5000",
        "phrase_pairs": "2469134",
        "runs": "2",
        "test:sacrebleu": "19.5000",
        "test:sacrebleu_std": "0.7071",
    }
    assert [row["test:p_value"] for row in rows] == ["", "0.000400", "0.200000"]


def test_markdown_as_a_reader_sees_it(arguments: dict) -> None:
    write_data_table(**arguments, title="Data")
    lines = unpadded(arguments["markdown_output"])
    assert lines[:5] == [
        "# Data",
        "",
        "| System | Data | Pairs | Target words | Unknown dev words | Dev perplexity | Phrase pairs "
        "| test: sacreBLEU | tokens | p |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| Baseline | selected | 1,000 | 3,000 | 10 | 100.2 | 1,234,567 | 20.50 ± 0.71 | 20.50 ± 0.71 |  |",
    ]
    assert lines[5].endswith(r"| 200.5 | 2,469,134 | 19.50 ± 0.71 | 19.50 ± 0.71 | <0.001 \*\*\* |")
    assert [line[:10] for line in lines[8::2]] == ["Pairs incl", "Dev perple", "BLEU: sacr", "p: paired "]


def test_files_without_their_numbers_are_named(arguments: dict) -> None:
    write_json(Path(arguments["data"]["whole"]["perplexity"]), {"perplexity": 3.0})
    with pytest.raises(UserError, match=r"whole/lm\.json: has no 'unknown'; run the step"):
        write_data_table(**arguments)
    Path(arguments["data"]["baseline"]["text"]).unlink()
    with pytest.raises(UserError, match=r"baseline/text: no such file; run the selection stage again"):
        write_data_table(**arguments)
    assert not arguments["csv_output"].exists()
