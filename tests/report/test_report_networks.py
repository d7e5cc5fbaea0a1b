"""The tables of networks and of word classes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from report_files import unpadded, written
from safetensors.numpy import save_file

from neural_smt.errors import UserError
from neural_smt.io.files import read_csv, write_csv, write_json
from neural_smt.report.networks import write_classes_table, write_networks_table
from neural_smt.training.learning_curve import Record, write_curve

CURVE = ["updates", "examples", "seconds", "train_cost", "validation_perplexity", "words", "epochs"]


@pytest.fixture
def networks(tmp_path: Path) -> dict:
    """An encoder-decoder that kept its last weights and a CSLM that kept its best."""
    for name, shapes in {"encoder_decoder": [(1000, 30), (50,)], "cslm": [(7, 3)]}.items():
        folder = tmp_path / name
        folder.mkdir()
        weights = {f"w{i}": np.zeros(shape, np.float32) for i, shape in enumerate(shapes)}
        save_file(weights, folder / "weights.safetensors")
    records = [[10, 640, "5.0", "3.1", "40.5000", 3000, "0.4000"], [20, 1280, "12.6", "2.9", "41.2500", 6300, "0.8000"]]
    write_csv(tmp_path / "curve.csv", CURVE, records)
    scored = {"pairs_per_second": 1234.56, "prefixes": 90, "words": 120, "states": 30, "steps": 100}
    first = {"ngrams": 1000, "cache_hits": 600, "seconds": 2.0}
    exact = {"ngrams": 100, "cache_hits": 0, "seconds": 1.0}
    counts = {"dev": first | {"exact": exact}, "test": {"ngrams": 900, "cache_hits": 400, "seconds": 2.0}}
    rescoring = {"rescoring": written(tmp_path / "rescoring.json", scored)}
    searches = {"searches": [written(tmp_path / f"{name}.json", {"cslm": own}) for name, own in counts.items()]}
    return {
        name: {"model": str(tmp_path / name), "curve": str(tmp_path / "curve.csv"), "keep": keep} | further
        for name, keep, further in (("encoder_decoder", "last", rescoring), ("cslm", "best", searches))
    }


def test_a_row_per_network(networks: dict, outputs: dict[str, Path]) -> None:
    write_networks_table(networks=networks, **outputs, title="Networks of x")
    assert [list(row.values()) for row in read_csv(outputs["csv_output"])] == [
        [
            "encoder_decoder",
            "30050",
            "1280",
            "0.80",
            "20",
            "41.2500",
            "12.6",
            "500.0",
            "1234.6",
            "0.2500",
            "0.7000",
            "",
        ],
        # 2000 n-grams asked for, 1000 of them known, 5 seconds.
        ["cslm", "21", "1280", "0.80", "20", "40.5000", "12.6", "500.0", "200.0", "", "", "0.5000"],
    ]
    lines = unpadded(outputs["markdown_output"])
    assert lines[:2] == ["# Networks of x", ""]
    assert lines[2].startswith("| Network | Parameters | Examples seen | Epochs | Updates | Held-out perplexity |")
    assert lines[4] == (
        "| encoder_decoder | 30,050 | 1,280 | 0.80 | 20 | 41.25 | 13 | 500 | 1,235 | 25.0 % | 70.0 % |  |"
    )
    assert lines[5] == "| cslm | 21 | 1,280 | 0.80 | 20 | 40.50 | 13 | 500 | 200 |  |  | 50.0 % |"


def test_nothing_held_out_has_no_perplexity(networks: dict, outputs: dict[str, Path], tmp_path: Path) -> None:
    write_csv(tmp_path / "curve.csv", CURVE, [[10, 640, "5.0", "3.1", "", 3000, "0.4000"]])
    write_networks_table(networks=networks, **outputs)
    assert [row["perplexity"] for row in read_csv(outputs["csv_output"])] == ["", ""]


def test_files_that_lack_a_number_are_named(networks: dict, outputs: dict[str, Path], tmp_path: Path) -> None:
    write_json(tmp_path / "rescoring.json", {"pairs_per_second": 1.0, "words": 1})
    with pytest.raises(UserError, match=r"rescoring\.json: has no 'prefixes'"):
        write_networks_table(networks=networks, **outputs)
    write_csv(tmp_path / "curve.csv", CURVE[:5], [[10, 640, "5.0", "3.1", "4"]])
    with pytest.raises(UserError, match=r"curve\.csv: has no column 'words'; train the network again"):
        write_networks_table(networks=networks, **outputs)
    (tmp_path / "cslm" / "weights.safetensors").write_bytes(b"no weights")
    write_csv(tmp_path / "curve.csv", CURVE, [[10, 640, "5.0", "3.1", "", 3000, "0.4000"]])
    with pytest.raises(UserError, match=r"weights\.safetensors: cannot be read"):
        write_networks_table(networks={"cslm": networks["cslm"]}, **outputs)
    assert not outputs["csv_output"].exists()


MODELS = {
    "recurrent": ("optimal", 39, 78.1666, 28.8053, 28.8982),
    "clustered": ("exchange", 39, 118.54, 27.5, 26.8241),
}
"""Name -> method, classes, outputs on the training text, perplexity of two sets."""

SETS = ["z_dev", "test"]
"""The development set comes first, whatever it is called."""


@pytest.fixture
def classes(tmp_path: Path) -> dict[str, Any]:
    """The files of two models that trained for two epochs."""
    found = {}
    for name, (method, count, cost, dev, test) in MODELS.items():
        folder = tmp_path / name
        folder.mkdir()
        first, last = Record(5, 640, 4.0, 3.9, 37.8, 40000, 1.0), Record(10, 1280, 8.04, 3.3, 31.7, 80400, 2.0)
        write_curve(folder / "curve.csv", [first, last])
        made = {"classes": {"method": method, "count": count, "cost": cost}}
        measured = {"z_dev.en": {"network": dev, "cost": cost - 2}, "test.en": {"network": test, "cost": cost - 3}}
        found[name] = {
            "classes": {"method": method, "count": 0, "speed": 0.001},
            "curve": str(folder / "curve.csv"),
            "held_out": written(folder / "held_out.json", made),
            "perplexity": written(folder / "perplexity.json", measured),
        }
    return found


def test_a_row_per_model(classes: dict[str, Any], outputs: dict[str, Path]) -> None:
    write_classes_table(networks=classes, sets=SETS, **outputs, title="Word classes of x")
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


def test_classes_may_be_the_best_in_both(classes: dict[str, Any], outputs: dict[str, Path]) -> None:
    del classes["clustered"]
    write_classes_table(networks=classes, sets=SETS, **outputs)
    sentence = "recurrent computes the fewest outputs (78.2 a word) and has the lowest perplexity of test."
    assert unpadded(outputs["markdown_output"])[4] == sentence


def test_files_of_classes_without_a_figure_are_named(
    classes: dict[str, Any], outputs: dict[str, Path], tmp_path: Path
) -> None:
    write_json(tmp_path / "clustered" / "perplexity.json", {"z_dev.en": {"network": 3.0}})
    with pytest.raises(UserError, match=r"clustered/perplexity\.json: has no 'cost'; run the step"):
        write_classes_table(networks=classes, sets=SETS, **outputs)
    with pytest.raises(UserError, match=r"recurrent/perplexity\.json: has no 'other'; run the step"):
        write_classes_table(networks=classes, sets=["other"], **outputs)
    write_json(tmp_path / "clustered" / "held_out.json", {"network": 3.0})
    with pytest.raises(UserError, match=r"clustered/held_out\.json: has no 'classes'; run the step"):
        write_classes_table(networks=classes, sets=SETS, **outputs)
    write_csv(tmp_path / "recurrent" / "curve.csv", ["updates"], [[3]])
    with pytest.raises(UserError, match=r"recurrent/curve\.csv: has no column 'words'; train the network again"):
        write_classes_table(networks=classes, sets=SETS, **outputs)
    assert not outputs["csv_output"].exists()
