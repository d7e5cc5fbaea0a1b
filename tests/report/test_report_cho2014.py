"""The experiment beside Table 1 of Cho et al. (2014), and why its order of systems may differ."""

from pathlib import Path

import pytest
from refusals import check_refused
from report_files import arguments, write

from neural_smt.experiment.systems import Systems
from neural_smt.io.files import read_lines, write_json
from neural_smt.report.cho2014 import read_steps, verdicts
from neural_smt.report.papers import load_paper


@pytest.mark.parametrize(
    ("level", "says"),
    [
        (0.05, "All 2 steps have the paper's direction, 1 of them significantly (p < 0.05)."),
        (0.0, "None of the 2 steps is significant (p < 0.05), though each has the paper's direction."),
    ],
)
def test_an_order_that_holds_needs_no_reason(
    level: float, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("neural_smt.report.cho2014.SIGNIFICANT", level)
    rows = {"baseline": "plain", "rnn": "rnn"}
    given = arguments("cho2014", tmp_path) | {"rows": rows, "remarks": "", "perplexity": None}
    lines = read_lines(write("cho2014", given, tmp_path)["markdown_output"])
    assert lines[-1] == says
    assert not any("reason" in line for line in lines)


def test_verdicts(tmp_path: Path) -> None:
    paper = load_paper("cho2014.yaml").rows().set_index("system")
    step = {"control": "c", "delta": 0.3, "p_value": 0.01}
    for name, further in {"dev": {}, "test": {}, "other": {"delta": 0.0, "p_value": 1.0}}.items():
        write_json(tmp_path / name, {"d": step | further})
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
    check_refused(["paper_rows.rnn", "'tanh'"], Systems(config).paper_rows)
