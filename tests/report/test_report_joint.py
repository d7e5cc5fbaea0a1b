"""The tables of Auli et al. (2013) beside an experiment: which rows there are, their numbers, what is said of them."""

from pathlib import Path

import pandas as pd

from neural_smt.io.files import read_lines
from neural_smt.report.auli2013 import Results, orders, write_joint_page

SYSTEMS = [
    "baseline",
    "control",
    "recurrent_small",
    "recurrent",
    "baseline_parallel",
    "control_parallel",
    "target_only",
]
SYSTEMS += ["sent_lsa_80", "sent_lsa_240"]
SYSTEMS += [f"ww_rnn_{window}" for window in ("n5", "p5n5", "p3", "c5")] + ["ww_lsa_n5", "ww_lsa_p3"]
SYSTEMS += [f"oracle_{dimensions}" for dimensions in (40, 80, 160, 240)] + ["proj_lsa_40", "proj_lsa_80"]


def results(perplexities: dict[str, float], languages: tuple[str, str] = ("fr", "en"), **columns: float) -> Results:
    index = pd.MultiIndex.from_product([perplexities, ["test"]], names=["system", "set"])
    systems = pd.DataFrame({"perplexity": perplexities.values()}, index)
    others = dict.fromkeys(("sacrebleu_std", "seconds", "p_value", "p_tests", "p_target")) | {
        "sacrebleu": 1.0,
        "runs": 1,
    }
    return Results(systems.assign(**others | columns), {}, languages)


def shown(found: Results, folder: Path) -> dict[str, list[list[str]]]:
    """The cells of the rows of each table of the page, by its heading."""
    write_joint_page(folder / "page.md", found, "None")
    tables: dict[str, list[list[str]]] = {}
    for line in read_lines(folder / "page.md"):
        if line.startswith("## "):
            rows = tables[line.removeprefix("## ").partition(":")[0]] = []
        elif line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return {name: rows[2:] for name, rows in tables.items()}


def test_every_row_shows_the_system_that_it_names(tmp_path: Path) -> None:
    """The perplexity of a system, which no two share, says which one stands in a row."""
    numbers = {name: float(number) for number, name in enumerate(SYSTEMS, start=1)}
    tables = shown(results(numbers), tmp_path)
    assert not {"Table 3", "Table 4"} & tables.keys(), "they are of other languages"
    in_rows = {name: [SYSTEMS[int(float(row[5])) - 1] for row in tables[f"Table {name}"]] for name in "578"}
    size = [SYSTEMS[int(float(row[4])) - 1] for row in tables["Table 2"]]
    assert size == SYSTEMS[:4]
    assert in_rows["5"] == SYSTEMS[4:15]
    assert in_rows["7"] == [*SYSTEMS[4:7], *SYSTEMS[15:19]]
    assert in_rows["8"] == [*SYSTEMS[4:7], *SYSTEMS[19:]]
    assert [row[1] for row in tables["Table 5"]][:3] == ["24.3", "", "25.1"]


def test_german_has_tables_of_its_own(tmp_path: Path) -> None:
    numbers = {"baseline": 1.0, "control": 2.0, "recurrent_small": 3.0, "recurrent": 4.0}
    for languages, name, paper in (("de", "en"), "Table 3", "20.5"), (("en", "de"), "Table 4", "15.5"):
        tables = shown(results(numbers, languages), tmp_path)
        assert [float(row[4]) for row in tables[name]] == [1, 2, 3, 4]
        assert tables[name][-1][2] == paper and "Table 2" not in tables


def test_perplexities_in_another_order_are_named() -> None:
    paper = {"ww_rnn_c5": 16, "ww_rnn_n5": 61, "ww_rnn_p5n5": 59}
    paper |= {"sent_lsa_240": 126, "sent_lsa_80": 147, "recurrent": 218}
    assert orders(results(paper))[1] == []
    assert orders(results(paper | {"sent_lsa_80": 219}))[1] == [("sent_lsa_80", "recurrent")]
    assert orders(results({"ww_rnn_c5": 16, "recurrent": 10}))[1] == [], "what lies between them is missing"


def test_pages_without_rows_hold_no_tables(tmp_path: Path) -> None:
    write_joint_page(tmp_path / "page.md", results({"recurrent": 10.0}), "None")
    assert not [line for line in read_lines(tmp_path / "page.md") if line.startswith(("##", "|"))]
