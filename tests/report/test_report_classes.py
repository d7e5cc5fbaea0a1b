"""The table of word classes."""

from pathlib import Path
from typing import Any

import pytest
from unpadded import unpadded

from neural_smt.errors import UserError
from neural_smt.io.files import read_csv, write_csv, write_json
from neural_smt.report.networks import write_classes_table
from neural_smt.training.learning_curve import Record, write_curve

MODELS = {
    "recurrent": ("optimal", 39, 78.1666, 28.8053, 28.8982),
    "clustered": ("exchange", 39, 118.54, 27.5, 26.8241),
}
"""Name -> method, classes, outputs on the training text, perplexity of two sets."""

SETS = ["z_dev", "test"]
"""The development set comes first, whatever it is called."""


@pytest.fixture
def networks(tmp_path: Path) -> dict[str, Any]:
    """The files of two models that trained for two epochs."""
    found = {}
    for name, (method, count, cost, dev, test) in MODELS.items():
        folder = tmp_path / name
        folder.mkdir()
        first, last = Record(5, 640, 4.0, 3.9, 37.8, 40000, 1.0), Record(10, 1280, 8.04, 3.3, 31.7, 80400, 2.0)
        write_curve(folder / "curve.csv", [first, last])
        write_json(folder / "held_out.json", {"classes": {"method": method, "count": count, "cost": cost}})
        measured = {"z_dev.en": {"network": dev, "cost": cost - 2}, "test.en": {"network": test, "cost": cost - 3}}
        write_json(folder / "perplexity.json", measured)
        names = {"curve": "curve.csv", "held_out": "held_out.json", "perplexity": "perplexity.json"}
        files = {key: str(folder / file) for key, file in names.items()}
        found[name] = {"classes": {"method": method, "count": 0, "speed": 0.001}, **files}
    return found


@pytest.fixture
def outputs(tmp_path: Path) -> dict[str, Path]:
    return {"csv_output": tmp_path / "classes.csv", "markdown_output": tmp_path / "classes.md"}


def test_a_row_per_model(networks: dict[str, Any], outputs: dict[str, Path]) -> None:
    write_classes_table(networks=networks, sets=SETS, **outputs, title="Word classes of x")
    assert [list(row.items()) for row in read_csv(outputs["csv_output"])][1] == [
        ("network", "clustered"),
        ("method", "exchange"),
        ("speed", "0.001"),
        ("classes", "39"),
        ("cost", "118.5400"),
        ("epochs", "2.00"),
        ("seconds", "8.0"),
        ("words_per_second", "10050.0"),
        ("z_dev:perplexity", "27.5000"),
        ("z_dev:cost", "116.5400"),
        ("test:perplexity", "26.8241"),
        ("test:cost", "115.5400"),
    ]
    lines = unpadded(outputs["markdown_output"])
    assert lines[:7] == [
        "# Word classes of x",
        "",
        "| Model | Classes by | speed | Classes | Outputs a word | PPL of z_dev | PPL of test | Epochs | "
        "Training (s) | Trained words/s |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| recurrent | optimal |  | 39 | 78.2 | 28.81 | 28.90 | 2.0 | 8 | 10,050 |",
        "| clustered | exchange | 0.001 | 39 | 118.5 | 27.50 | 26.82 | 2.0 | 8 | 10,050 |",
        "",
    ]
    # 28.8982 / 26.8241 = 1.0773
    assert lines[7] == (
        "recurrent computes the fewest outputs (78.2 a word), at a perplexity of test that is 7.7 % above the lowest, "
        "that of clustered (118.5 outputs a word)."
    )
    assert any("cost 5 to 10 % of perplexity" in line for line in lines[8:])


def test_classes_may_be_the_best_in_both(networks: dict[str, Any], outputs: dict[str, Path]) -> None:
    del networks["clustered"]
    write_classes_table(networks=networks, sets=SETS, **outputs)
    sentence = "recurrent computes the fewest outputs (78.2 a word) and has the lowest perplexity of test."
    assert unpadded(outputs["markdown_output"])[4] == sentence


def test_files_without_a_figure_are_named(networks: dict[str, Any], outputs: dict[str, Path], tmp_path: Path) -> None:
    write_json(tmp_path / "clustered" / "perplexity.json", {"z_dev.en": {"network": 3.0}})
    with pytest.raises(UserError, match=r"clustered/perplexity\.json: has no 'cost'; run the step"):
        write_classes_table(networks=networks, sets=SETS, **outputs)
    with pytest.raises(UserError, match=r"recurrent/perplexity\.json: has no 'other'; run the step"):
        write_classes_table(networks=networks, sets=["other"], **outputs)
    write_json(tmp_path / "clustered" / "held_out.json", {"network": 3.0})
    with pytest.raises(UserError, match=r"clustered/held_out\.json: has no 'classes'; run the step"):
        write_classes_table(networks=networks, sets=SETS, **outputs)
    write_csv(tmp_path / "recurrent" / "curve.csv", ["updates"], [[3]])
    with pytest.raises(UserError, match=r"recurrent/curve\.csv: has no column 'words'; train the network again"):
        write_classes_table(networks=networks, sets=SETS, **outputs)
    assert not outputs["csv_output"].exists()
