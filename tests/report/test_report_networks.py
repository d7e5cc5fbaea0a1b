"""The tables of networks and of word classes."""

from pathlib import Path
from typing import Any

import pytest
from report_files import check_written, network, written

from neural_smt.errors import UserError
from neural_smt.io.files import read_csv, read_lines, write_csv
from neural_smt.report.networks import write_classes_table, write_networks_table
from neural_smt.training.learning_curve import Record, write_curve

CURVE = ["updates", "examples", "seconds", "train_cost", "validation_perplexity", "words", "epochs"]


@pytest.fixture
def networks(tmp_path: Path) -> dict:
    """An encoder-decoder that kept its last weights and a CSLM that kept its best: 2,000 n-grams were asked for in 5
    seconds, 1,000 of them known.
    """
    scored = {"pairs_per_second": 1234.56, "prefixes": 90, "words": 120, "states": 30, "steps": 100}
    first = {"ngrams": 1000, "cache_hits": 600, "seconds": 2.0}
    exact = {"ngrams": 100, "cache_hits": 0, "seconds": 1.0}
    counts = {"dev": first | {"exact": exact}, "test": {"ngrams": 900, "cache_hits": 400, "seconds": 2.0}}
    searches = [written(tmp_path / f"{name}.json", {"cslm": own}) for name, own in counts.items()]
    rescoring = {"keep": "last", "rescoring": written(tmp_path / "rescoring.json", scored)}
    return {
        "encoder_decoder": network(tmp_path / "encoder_decoder", (1000, 30), (50,)) | rescoring,
        "cslm": network(tmp_path / "cslm", (7, 3)) | {"keep": "best", "searches": searches},
    }


def test_a_row_per_network(networks: dict, outputs: dict[str, Path]) -> None:
    write_networks_table(networks=networks, **outputs, title="Networks of x")
    check_written(outputs, "networks")


def test_nothing_held_out_has_no_perplexity(networks: dict, outputs: dict[str, Path]) -> None:
    for files in networks.values():
        write_csv(Path(files["curve"]), CURVE, [[10, 640, "5.0", "3.1", "", 3000, "0.4000"]])
    write_networks_table(networks=networks, **outputs)
    assert [row["perplexity"] for row in read_csv(outputs["csv_output"])] == ["", ""]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("rescoring.json", b'{"pairs_per_second": 1.0, "words": 1}', r"rescoring\.json: has no 'prefixes'"),
        ("cslm/curve.csv", b"updates\n1\n", r"curve\.csv: has no column 'words'; train the network again"),
        ("cslm/weights.safetensors", b"no weights", r"weights\.safetensors: cannot be read"),
    ],
)
def test_files_of_networks_without_a_figure_are_named(
    networks: dict, outputs: dict[str, Path], tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=message):
        write_networks_table(networks=networks, **outputs)
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
    check_written(outputs, "classes")  # 28.8982 / 26.8241 = 1.0773


def test_classes_may_be_the_best_in_both(classes: dict[str, Any], outputs: dict[str, Path]) -> None:
    del classes["clustered"]
    write_classes_table(networks=classes, sets=SETS, **outputs)
    sentence = "recurrent computes the fewest outputs (78.2 a word) and has the lowest perplexity of test."
    assert read_lines(outputs["markdown_output"])[4] == sentence


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "clustered/perplexity.json",
            '{"z_dev.en": {"network": 3.0}}',
            r"clustered/perplexity\.json: has no 'cost'; run",
        ),
        ("recurrent/perplexity.json", "{}", r"recurrent/perplexity\.json: has no 'z_dev'; run the step"),
        ("clustered/held_out.json", '{"network": 3.0}', r"clustered/held_out\.json: has no 'classes'; run the step"),
        (
            "recurrent/curve.csv",
            "updates\n3\n",
            r"recurrent/curve\.csv: has no column 'words'; train the network again",
        ),
    ],
)
def test_files_of_classes_without_a_figure_are_named(
    classes: dict[str, Any], outputs: dict[str, Path], tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(UserError, match=message):
        write_classes_table(networks=classes, sets=SETS, **outputs)
    assert not outputs["csv_output"].exists()
