"""The tables of Auli et al. (2013) beside an experiment: which rows there are, their numbers, what is said of them."""

from pathlib import Path

import pandas as pd

from neural_smt.io.files import read_lines
from neural_smt.report.auli2013 import Results, orders, write_joint_page
from neural_smt.report.papers import load_paper


def test_every_row_of_the_paper_has_a_system_of_its_own() -> None:
    paper = load_paper("auli2013.yaml")
    rows = {name: [row[1] for row in table["rows"]] for name, table in paper.tables.items()}
    assert rows["2"] == ["baseline", "recurrent_small", "recurrent"]
    assert rows["7"] == ["baseline_parallel", "target_only", *(f"oracle_{size}" for size in (40, 80, 160, 240))]
    assert rows["8"] == ["baseline_parallel", "target_only", "proj_lsa_40", "proj_lsa_80"]
    without = {name.replace("forward", "channel") for name in rows["6"]}
    assert sorted(paper.systems) == sorted(without.union(*rows.values())), "each once"


def results(perplexities: dict[str, float]) -> Results:
    index = pd.MultiIndex.from_product([perplexities, ["test"]], names=["system", "set"])
    systems = pd.DataFrame({"perplexity": perplexities.values()}, index)
    systems = systems.assign(sacrebleu=1.0, sacrebleu_std=None, seconds=None, p_value=None)
    return Results(systems, {})


def test_perplexities_in_another_order_are_named() -> None:
    paper = {"ww_rnn_c5": 16, "ww_rnn_n5": 61, "ww_rnn_p5n5": 59}
    paper |= {"sent_lsa_240": 126, "sent_lsa_80": 147, "recurrent": 218}
    assert orders(results(paper))[1] == []
    assert orders(results(paper | {"sent_lsa_80": 219}))[1] == [("sent_lsa_80", "recurrent")]
    assert orders(results({"ww_rnn_c5": 16, "recurrent": 10}))[1] == [], "what lies between them is missing"


def test_pages_without_rows_hold_no_tables(tmp_path: Path) -> None:
    write_joint_page(tmp_path / "page.md", results({"recurrent": 10.0}), "None")
    assert not [line for line in read_lines(tmp_path / "page.md") if line.startswith(("##", "|"))]
