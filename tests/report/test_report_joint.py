"""The tables of Auli et al. (2013) beside an experiment: which rows there are, their numbers, what is said of them."""

from pathlib import Path

import pandas as pd
import pytest
from report_files import check_written, comparisons, evaluations, written

from neural_smt.errors import UserError
from neural_smt.io.files import read_lines
from neural_smt.report.auli2013 import Results, orders, write_joint_page, write_joint_tables
from neural_smt.report.papers import load_paper

BLEU = {
    "baseline": (20.0, 30.0),
    "recurrent": (21.0, 31.0),
    "nbest_1000": (21.1, 31.5),
    "sent_lsa_80": (21.2, 31.2),
    "ww_rnn_c5": (20.8, 31.1),
    "no_forward": (18.0, 28.0),
    "no_forward_recurrent": (19.0, 29.0),
}


def arguments(folder: Path) -> dict:
    """The files of an experiment with two runs and the systems of ``BLEU``."""
    sets = ("dev", "test")

    bleu = {
        system: {name: [value, value + 1] for name, value in zip(sets, values, strict=True)}
        for system, values in BLEU.items()
    }
    chosen = [system for system in BLEU if system != "baseline"]
    choice = {"seconds_per_sentence": 0.002, "mean_recurrent": -40.0}
    slow = {"seconds_per_sentence": 0.1, "mean_recurrent": -41.0}
    (folder / "oracles.csv").write_text(
        "candidates,per_sentence,oracle,bleu,mean_sentence_bleu,seconds_per_sentence\n"
        "1-best,1,model,30,30,0.1\n1000-best,900,sentence,49,50,0.1\n1000-best,900,corpus,50,50,0.1\n"
        "lattice,400,corpus,60,60,0.1\n"
    )
    figures = {"recurrent": (200.0, 250.0), "sent_lsa_80": (150.0, 250.0), "ww_rnn_c5": (160.0, 250.0)}
    return {
        "scores": evaluations(folder, bleu),
        "significance": comparisons(folder, dict.fromkeys(sets, dict.fromkeys(BLEU, 0.2) | {"baseline": 0.0002})),
        "perplexities": {
            system: written(folder / f"{system}.perplexity.json", {"test.en": {"network": own, "ngram": ngram}})
            for system, (own, ngram) in figures.items()
        },
        "choices": {
            system: {
                name: [written(folder / f"{system}.{name}.choice.json", slow if system == "nbest_1000" else choice)]
                for name in sets
            }
            for system in chosen
        },
        "searches": {name: [written(folder / f"{name}.search.json", {"seconds_per_sentence": 0.01})] for name in sets},
        "oracles": {"test": str(folder / "oracles.csv")},
    }


def test_every_row_of_the_paper_has_a_system_of_its_own() -> None:
    paper = load_paper("auli2013.yaml")
    assert len(paper.systems) == len(set(paper.systems)) == 43
    sizes = {name: len(table["rows"]) for name, table in paper.tables.items()}
    assert sizes == {"1": 6, "2": 3, "5": 10, "7": 6, "8": 4, "Further": 6, "6": 9}


def test_tables_show_all_numbers_beside_the_papers(tmp_path: Path, plotted: dict[str, Path]) -> None:
    write_joint_tables(files=arguments(tmp_path), **plotted, title="Both", remarks="So it is.")
    check_written(plotted, "joint")


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


def test_a_table_that_is_none_is_named(tmp_path: Path, plotted: dict[str, Path]) -> None:
    files = arguments(tmp_path)
    (tmp_path / "oracles.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UserError, match=r"oracles.csv: has no column 'candidates'; run measure_oracles again"):
        write_joint_tables(files=files, **plotted)
    assert not plotted["csv_output"].exists()


def test_pages_without_rows_hold_no_tables(tmp_path: Path) -> None:
    write_joint_page(tmp_path / "page.md", results({"recurrent": 10.0}), "None")
    assert not [line for line in read_lines(tmp_path / "page.md") if line.startswith(("##", "|"))]
