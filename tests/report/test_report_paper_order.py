"""The experiment beside the paper's Table 1, and why its order may be another."""

from pathlib import Path

import pytest
from moses_tables import moses_vocabularies, read_moses
from report_files import check_written, evaluations, written

from neural_smt.errors import UserError
from neural_smt.experiment.systems import Systems
from neural_smt.io.files import read_lines, write_csv, write_json, write_lines
from neural_smt.report.cho2014 import read_steps, verdicts, write_paper_order
from neural_smt.report.networks import NETWORKS
from neural_smt.report.papers import load_paper
from neural_smt.shortlist import most_frequent

ROWS = {"baseline": "plain", "rnn": "rnn", "cslm_rnn": "both"}
BLEU = {
    "plain": {"val": [30.0, 30.2], "flickr": [28.0, 28.2]},
    "rnn": {"val": [30.4, 30.6], "flickr": [28.4, 28.4]},
    "both": {"val": [31.0, 31.0], "flickr": [28.1, 28.3]},
}
TABLE = [
    f"{source} ||| {target} ||| 1 1 1 1 ||| 0-0 ||| 1 1 1 ||| |||"
    for source, target in (("a", "x"), ("a", "x y"), ("b", "x"), ("c", "y x z"))
]


@pytest.fixture
def arguments(tmp_path: Path) -> dict:
    """Three systems: the last gains on the development set and loses on the test set."""
    comparisons = {"val": [(0.4, 0.01), (0.5, 0.002)], "flickr": [(0.3, 0.2), (-0.2, 0.3)]}
    pairs = [("plain", "rnn"), ("rnn", "both")]
    for name, values in comparisons.items():
        steps = [
            {"before": before, "after": after, "delta": delta, "p_value": p}
            for (before, after), (delta, p) in zip(pairs, values, strict=True)
        ]
        write_json(tmp_path / "order" / f"{name}.json", steps)
    network = {"network": "encoder_decoder", "parameters": "3000000", "examples": "1280000", "epochs": "1.52"}
    network = dict.fromkeys(NETWORKS, "") | network | {"seconds": "900.0", "perplexity": "6.2300"}
    write_csv(tmp_path / "networks.csv", list(NETWORKS), [list(network.values())])
    measured = {"ngram_order": 5, "ngram": 51.26, "cslm": 60.04, "mixture": 44.0}
    write_lines(tmp_path / "table.txt", TABLE)
    vocabularies = moses_vocabularies(tmp_path / "table.txt")
    read_moses(tmp_path / "table.txt", None, *vocabularies).save(tmp_path / "table")
    vocabularies[1].save(tmp_path / "vocabulary")
    # x is the most frequent word; y and z are unknown.
    most_frequent(vocabularies[1], 1).save(tmp_path / "shortlist")
    return {
        "rows": ROWS,
        "scores": evaluations(tmp_path, BLEU),
        "order": [tmp_path / "order" / f"{name}.json" for name in ("val", "flickr")],
        "sets": ["val", "flickr"],
        "networks": tmp_path / "networks.csv",
        "phrase_table": tmp_path / "table",
        "target_vocabulary": tmp_path / "vocabulary",
        "target_shortlist": tmp_path / "shortlist",
        "perplexity": written(tmp_path / "perplexity.json", {"val.fr": measured}),
        "title": "The order",
        "remarks": "The CSLM saw *one* domain.\nMore text would help.\n",
    }


def test_steps_beside_the_papers_and_why_they_may_differ(arguments: dict, outputs: dict[str, Path]) -> None:
    write_paper_order(**arguments, **outputs)
    check_written(outputs, "paper_order")


def test_an_order_that_holds_needs_no_reason(arguments: dict, outputs: dict[str, Path]) -> None:
    rows = {"baseline": "plain", "rnn": "rnn"}
    write_paper_order(**(arguments | {"rows": rows, "remarks": "", "perplexity": None}), **outputs)
    lines = read_lines(outputs["markdown_output"])
    assert lines[-1] == "All 2 steps have the paper's direction."
    assert not any("reason" in line for line in lines)


def test_a_missing_comparison_is_named(arguments: dict, outputs: dict[str, Path]) -> None:
    with pytest.raises(UserError, match=r"val\.json: does not compare both with plain"):
        write_paper_order(**(arguments | {"rows": {"baseline": "plain", "rnn": "both"}}), **outputs)


def test_verdicts(tmp_path: Path) -> None:
    paper = load_paper("cho2014.yaml").rows().set_index("system")
    step = {"before": "c", "after": "d", "delta": 0.3, "p_value": 0.01}
    for name, further in {"dev": {}, "test": {}, "other": {"delta": 0.0, "p_value": 1.0}}.items():
        write_json(tmp_path / name, [step | further])
    order = {name: tmp_path / name for name in ("dev", "test", "other")}
    steps = read_steps(paper, order, {"cslm_rnn": "c", "cslm_rnn_wp": "d"}, dev="dev")
    # On its test set the paper lost by the word penalty.
    assert steps["paper"].round(2).tolist() == [0.02, -0.10, -0.10]
    assert steps["holds"].tolist() == ["yes", "no", "no"]
    assert verdicts(steps) == ["yes", "no", "no, but not significant"]


def test_rows_are_declared_or_named_alike() -> None:
    systems = {"rnn": {}, "baseline": {}, "cslm_rnn": {}, "reverse": {}}
    config = {"networks": {}, "systems": systems, "report": {"paper_rows": {}}}
    names = ("baseline", "rnn", "cslm_rnn")
    assert list(Systems(config).paper_rows().items()) == [(name, name) for name in names]
    config["report"]["paper_rows"] = {"rnn": "reverse", "baseline": "baseline"}
    assert list(Systems(config).paper_rows().items()) == [("baseline", "baseline"), ("rnn", "reverse")]
    config["report"]["paper_rows"] = {"rnn": "tanh"}
    with pytest.raises(UserError, match=r"paper_rows\.rnn: there is no system 'tanh'"):
        Systems(config).paper_rows()
