"""The tables of Mi et al. (2016) beside an experiment: which rows there are, their numbers, what is said of them."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from refusals import check_refused
from report_files import arguments, write

from neural_smt.io.plots import BLUE, GREY, RED
from neural_smt.report import mi2016
from neural_smt.report.mi2016 import Results
from neural_smt.report.networks import TRAINING_FIGURES

SETS = ("dev", "test")


def held(parts: str, top: int | None, coverage: float, known: float = 0.97, text: str = "dev") -> dict:
    label = parts if top is None else f"{parts} ({top})"
    sizes = {"sentence": 100.0, "batch": 500.0}
    return {"text": text, "parts": parts, "top": top, "coverage": coverage, "known": known, "label": label, **sizes}


def results(bleu: dict[str, float], replaced: tuple[str, ...] = (), **parts: object) -> Results:
    """Systems with a BLEU of their own on both sets, and a network of their own name."""
    index = pd.MultiIndex.from_product([bleu, SETS], names=["system", "set"])
    names = index.get_level_values("system")
    scores = pd.DataFrame({"sacrebleu": [bleu[name] for name in names], "label": names, "network": names}, index)
    scores = scores.assign(
        sacrebleu_std=None, tokenised=1.0, tokenised_std=None, p_value=None, p_tests=None, frequent=None
    )
    scores = scores.assign(vocabulary="", replace_unknown=names.isin(replaced), **dict.fromkeys(mi2016.TOOK, np.nan))
    coverage = pd.DataFrame([held(parts, 10, 0.95) for parts in ("V^D", "V^P + V^D + V^T")])
    trainings = pd.DataFrame([], columns=["parameters", *TRAINING_FIGURES], dtype=float)
    return Results(**{"systems": scores, "trainings": trainings, "epochs": {}, "coverage": coverage} | parts)


@pytest.fixture
def page(tmp_path: Path) -> Callable[[Results], str]:
    """What the page says of results."""

    def write(found: Results) -> str:
        mi2016.write_attention_page(tmp_path / "page.md", found, "")
        return (tmp_path / "page.md").read_text(encoding="utf-8")

    return write


def test_default_row_of_table_3_does_with_unknown_words_what_the_others_do(page: Callable[[Results], str]) -> None:
    bleu = {"limited": 1.0, "limited_unk": 2.0, "top_200": 1.5}
    assert list(mi2016.size_rows(results(bleu))["system"]) == ["top_200", "limited"]
    replaced = results(bleu, replaced=("limited_unk", "top_200"))
    assert list(mi2016.size_rows(replaced)["system"]) == ["top_200", "limited_unk"]
    assert "these are not" not in page(replaced), "the paper's replace them too"
    assert mi2016.size_rows(results({"limited": 1.0, "limited_unk": 2.0})).empty


def test_orders_hold_where_the_paper_has_them() -> None:
    paper = {"baseline": 33.30, "jean": 33.36, "jean_unk": 34.11, "limited": 34.45, "limited_unk": 35.11}
    paper |= {"dictionary_only": 34.20, "phrases_only": 34.23}
    known, failing = mi2016.orders(results(paper))
    pairs = {(name, "limited") for name in ("baseline", "jean", "dictionary_only", "phrases_only")}
    pairs |= {(name, "limited_unk") for name in ("baseline", "jean_unk", "limited")} | {("jean", "jean_unk")}
    assert ({*map(tuple, known)}, failing) == (pairs, [])
    # A part that replaces unknown words is compared with the whole that does so too.
    replaced = ("limited_unk", "phrases_only")
    for changed, replacing, failing in (
        ({"phrases_only": 35.0}, replaced, []),
        ({"phrases_only": 35.0}, (), [("phrases_only", "limited")]),
        ({"jean": 34.45}, (), [("jean", "limited"), ("jean", "jean_unk")]),
    ):
        assert mi2016.orders(results(paper | changed, replaced=replacing))[1] == failing


def test_tables_need_rows_of_their_own(page: Callable[[Results], str]) -> None:
    few = results({"baseline": 1.0})
    assert mi2016.table_rows(few, "4").empty and mi2016.table_rows(few, "Further").empty
    some = results({"baseline": 1.0, "limited": 2.0})
    assert list(mi2016.table_rows(some, "4")["system"]) == ["baseline", "limited"]
    assert mi2016.table_rows(some, "Further").empty
    text = page(few)
    assert [line for line in text.splitlines() if line.startswith("##")] == [
        "## Tables 1 and 2: coverage of the reference and size of the vocabularies"
    ]
    assert "orders of BLEU" not in text


def test_coverage_that_is_not_the_papers_is_explained(page: Callable[[Results], str]) -> None:
    rows = [("V^P", None, 0.7), ("V^D", 10, 0.85), ("V^P + V^D + V^T", 10, 0.85)]
    coverage = pd.DataFrame([held(*row, known=0.9) for row in rows])
    assert (
        "On dev, the union covers no more than V^D alone (85.0 %), unlike in the paper. It covers 85.0 % of the "
        "running words, below 90 % (paper: 91.7 %): 10.0 % are words that the network does not know, so no set has "
        "them, and 5.0 % are known but outside the sets.\n"
    ) in page(results({"limited": 1.0}, coverage=coverage))


def test_the_default_is_what_training_has() -> None:
    union, larger = held("V^P + V^D + V^T", 5, 0.9), held("V^P + V^D + V^T", 20, 0.9)
    training = held("V^P + V^D + V^T + V^R", 20, 0.9, text="train")
    found = mi2016.default_rows(pd.DataFrame([union, larger, training]), "dev")
    assert found[["text", "top"]].values.tolist() == [["dev", 20], ["train", 20]]
    assert found["paper_coverage"][1] == 92.7 and np.isnan(found["paper_sentence"][1]), "the paper's is of its default"
    found = mi2016.default_rows(pd.DataFrame([larger, union]), "dev")
    assert found["top"].tolist() == [5]
    assert np.isnan(found["paper_coverage"]).all(), "the paper has no top 5"
    pieces = "V^P + V^D + V^T", "'test'", "measure_candidates"
    check_refused(pieces, mi2016.default_rows, pd.DataFrame([union, training]), "test")


def test_an_update_is_timed_against_the_papers_network() -> None:
    trainings = pd.DataFrame({"updates_per_second": [2.0, 0.8]}, ["limited", "full"])
    found = mi2016.training_rows(results({"limited": 1.0, "full": 2.0}, trainings=trainings))
    assert found["slowdown"].to_dict() == {"limited": 1.0, "full": 2.5}
    assert mi2016.training_rows(results({"full": 2.0}, trainings=trainings))["slowdown"].isna().all()


def epochs_of(*bleu: float) -> pd.DataFrame:
    rows = [(number, 10 * number, None, value) for number, value in enumerate(bleu, start=1)]
    return pd.DataFrame(rows, columns=mi2016.EPOCHS)


def test_the_best_epoch_is_the_first_of_the_highest() -> None:
    deep = epochs_of(20.0, 24.0, 23.0, 24.0)
    (best,) = mi2016.best_rows(results({"limited": 1.0}, epochs={"deep": deep})).itertuples()
    assert (best.network, best.epoch, best.bleu, best.epochs) == ("deep", 2, 24.0, 4)


def test_figure_2_has_the_papers_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures: list[Figure] = []
    monkeypatch.setattr(mi2016, "clean", lambda axes: figures.append(axes.figure))
    epochs = epochs_of(20.0, 21.0)
    names = ("full", "attention", "attention_fixed")
    mi2016.draw_epochs(tmp_path / "a.png", dict.fromkeys(names, epochs), "dev")
    axes = figures[0].axes[0]
    assert axes.get_xlabel() == "epoch" and axes.get_ylabel() == "BLEU (tokens), dev"
    lines = {line.get_label(): line for line in axes.lines}
    assert list(lines["full"].get_xdata()) == [1, 2] and list(lines["full"].get_ydata()) == [20.0, 21.0]
    shown = {name: (to_hex(lines[name].get_color()), lines[name].get_linestyle()) for name in names}
    assert shown == {"full": (to_hex(GREY), "-"), "attention": (RED, "-"), "attention_fixed": (BLUE, "--")}
    mi2016.draw_epochs(tmp_path / "b.png", {}, "dev")
    assert figures[1].axes[0].texts[0].get_text() == "no epoch was measured"
    assert (tmp_path / "b.png").read_bytes().startswith(b"\x89PNG")


def test_an_experiment_without_attention_has_no_tables(tmp_path: Path) -> None:
    given = arguments("attention", tmp_path)
    given["files"]["systems"] = {}
    check_refused(["no system", "attention network"], write, "attention", given, tmp_path)
