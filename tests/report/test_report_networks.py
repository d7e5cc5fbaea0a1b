"""The table of networks."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from unpadded import unpadded

from neural_smt.errors import UserError
from neural_smt.io.files import read_csv, write_csv, write_json
from neural_smt.report.networks import write_networks_table

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
    write_json(
        tmp_path / "rescoring.json",
        {"pairs_per_second": 1234.56, "prefixes": 90, "words": 120, "states": 30, "steps": 100},
    )
    first = {"ngrams": 1000, "cache_hits": 600, "seconds": 2.0}
    exact = {"ngrams": 100, "cache_hits": 0, "seconds": 1.0}
    write_json(tmp_path / "dev.json", {"cslm": first | {"exact": exact}})
    write_json(tmp_path / "test.json", {"cslm": {"ngrams": 900, "cache_hits": 400, "seconds": 2.0}})
    curve = str(tmp_path / "curve.csv")
    return {
        "encoder_decoder": {
            "model": str(tmp_path / "encoder_decoder"),
            "curve": curve,
            "keep": "last",
            "rescoring": str(tmp_path / "rescoring.json"),
        },
        "cslm": {
            "model": str(tmp_path / "cslm"),
            "curve": curve,
            "keep": "best",
            "searches": [str(tmp_path / "dev.json"), str(tmp_path / "test.json")],
        },
    }


def test_a_row_per_network(networks: dict, tmp_path: Path) -> None:
    csv, markdown = tmp_path / "networks.csv", tmp_path / "networks.md"
    write_networks_table(networks=networks, csv_output=csv, markdown_output=markdown, title="Networks of x")
    assert [list(row.values()) for row in read_csv(csv)] == [
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
    lines = unpadded(markdown)
    assert lines[:2] == ["# Networks of x", ""]
    assert lines[2].startswith("| Network | Parameters | Examples seen | Epochs | Updates | Held-out perplexity |")
    assert lines[4] == (
        "| encoder_decoder | 30,050 | 1,280 | 0.80 | 20 | 41.25 | 13 | 500 | 1,235 | 25.0 % | 70.0 % |  |"
    )
    assert lines[5] == "| cslm | 21 | 1,280 | 0.80 | 20 | 40.50 | 13 | 500 | 200 |  |  | 50.0 % |"


def test_nothing_held_out_has_no_perplexity(networks: dict, tmp_path: Path) -> None:
    write_csv(tmp_path / "curve.csv", CURVE, [[10, 640, "5.0", "3.1", "", 3000, "0.4000"]])
    csv = tmp_path / "networks.csv"
    write_networks_table(networks=networks, csv_output=csv, markdown_output=tmp_path / "networks.md")
    assert [row["perplexity"] for row in read_csv(csv)] == ["", ""]


def test_files_that_lack_a_number_are_named(networks: dict, tmp_path: Path) -> None:
    outputs = {"csv_output": tmp_path / "a.csv", "markdown_output": tmp_path / "a.md"}
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
    assert not (tmp_path / "a.csv").exists()
