"""The tables of Mi et al. (2016) beside an experiment: which rows there are, their numbers, what is said of them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from report_files import comparisons, evaluations, unpadded, written
from safetensors.numpy import save_file

from neural_smt.decoding.attention_steps import HEADER
from neural_smt.errors import UserError
from neural_smt.io.files import read_csv, write_csv
from neural_smt.io.plots import BLUE, GREY, RED
from neural_smt.report import mi2016
from neural_smt.report.mi2016 import (
    Results,
    System,
    default_rows,
    draw_epochs,
    orders,
    page,
    size_rows,
    table_rows,
    training_rows,
    write_attention_tables,
)
from neural_smt.report.networks import TRAINING_FIGURES
from neural_smt.report.papers import load_paper
from neural_smt.training.learning_curve import Record, write_curve
from neural_smt.vocabulary_selection.coverage_steps import TRAINING, Coverage, write_coverage

BLEU = {
    "baseline": (30.0, 31.0),
    "jean": (25.0, 26.0),
    "limited": (26.0, 27.5),
    "limited_unk": (26.5, 27.4),
    "phrases_only": (25.5, 26.5),
    "rescored_attention": (30.5, 32.0),
    "top_50": (25.8, 27.0),
    "deep": (24.0, 25.0),
}
NETWORKS = {
    "jean": {"label": "parts", "network": "parts", "vocabulary": "list", "frequent": 500},
    "limited": {"label": "attention", "network": "attention", "vocabulary": "default", "frequent": 2000},
    "limited_unk": {"label": "replaced", "network": "attention", "vocabulary": "default", "frequent": 2000},
    "phrases_only": {"label": "phrases", "network": "attention_phrases", "vocabulary": "phrases", "frequent": 2000},
    "top_50": {"label": "N = 50", "network": "attention", "vocabulary": "top_50", "frequent": 50},
    "deep": {"label": "a deeper one", "network": "deep", "vocabulary": "all"},
}
NETWORKS["limited_unk"]["replace_unknown"] = True
TUNED = {"baseline": {"label": "phrases alone"}, "rescored_attention": {"label": "phrases, rescored"}}
SHARES = {
    ("V^P", None): 0.8,
    ("V^D", 10): 0.85,
    ("V^D", 20): 0.88,
    ("V^P + V^D", 10): 0.9,
    ("V^P + V^D", 20): 0.92,
    ("V^P + V^D + V^T", 10): 0.95,
    ("V^P + V^D + V^T", 20): 0.96,
}


def measured_coverage(path: Path) -> Path:
    """What the sets hold of 1,000 words, of which the network knows 970, by ``SHARES``."""
    held = Coverage(1000, 970, 970, 50, 10, sentence_size=321.4, batch_size=1234.6)
    rows = [
        (text, parts, top or "", *held._replace(covered=int(1000 * share)))
        for text in ("train", "dev", "test")
        for (parts, top), share in SHARES.items()
    ]
    rows.append(("train", TRAINING, 10, *held._replace(sentence_size=330.6, batch_size=1500.2)))
    frame = pd.DataFrame(rows, columns=["text", "parts", "top", *Coverage._fields])
    write_coverage(path, path.with_suffix(".md"), frame, top=10, batch=80)
    return path


def write_network(folder: Path, seconds: float) -> dict[str, str]:
    """The files of a network of 12 parameters, with 6,300 words in 20 updates; its last perplexity is not its best."""
    folder.mkdir(parents=True)
    save_file({"w": np.zeros((3, 4), np.float32)}, folder / "weights.safetensors")
    records = [Record(10, 640, 5.0, 3.1, 40.5, 3000, 0.4), Record(20, 1280, seconds, 2.9, 41.25, 6300, 0.8)]
    write_curve(folder / "curve.csv", records)
    return {"curve": str(folder / "curve.csv"), "model": str(folder)}


def arguments(folder: Path) -> dict:
    """The files of an experiment with the systems of ``BLEU``; those that are tuned have two runs."""
    sets = ("dev", "test")

    def translation(system: str, name: str) -> str:
        vocabulary = {"top_50": 210.0, "jean": 900.0, "deep": 10000.0}.get(system, 2110.0)
        speed = {"seconds": 12.5, "sentences_per_second": 1.6 if system == "deep" else 4.0}
        counts = {"words": 500, "unknown_words": 10, "unfinished": 1, "grown": 2, "mean_vocabulary": vocabulary}
        return written(folder / f"{system}.{name}.translation.json", speed | counts)

    p_values = dict.fromkeys(BLEU, 0.0004) | {"baseline": None, "jean": 0.25}
    epochs = {"attention": (20.0, 24.0, 23.0), "attention_fixed": (20.0, 23.5, 23.25)}
    for network, values in epochs.items():
        rows = [[n, 10 * n, "" if n == 3 else 50 - n, bleu, 1.5] for n, bleu in enumerate(values, start=1)]
        write_csv(folder / f"{network}.epochs.csv", HEADER, rows)
    bleu = {
        system: {
            name: [value, value + 1][: 2 if system in TUNED else 1] for name, value in zip(sets, values, strict=True)
        }
        for system, values in BLEU.items()
    }
    return {
        "systems": TUNED | NETWORKS,
        "scores": evaluations(folder, bleu),
        "significance": comparisons(folder, dict.fromkeys(sets, p_values)),
        "translations": {system: {name: [translation(system, name)] for name in sets} for system in NETWORKS},
        "curves": {
            "attention": write_network(folder / "attention", 10.0) | {"keep": "best"},
            "parts": write_network(folder / "parts", 16.0) | {"keep": "last"},
        },
        "epochs": {network: str(folder / f"{network}.epochs.csv") for network in epochs},
        "coverage": str(measured_coverage(folder / "coverage.csv")),
    }


@pytest.fixture
def outputs(outputs: dict[str, Path], tmp_path: Path) -> dict[str, Path]:
    return outputs | {"plot": tmp_path / "out.png"}


def held(parts: str, top: int | None, coverage: float, known: float = 0.97, text: str = "dev") -> dict:
    label = parts if top is None else f"{parts} ({top})"
    sizes = {"sentence": 100.0, "batch": 500.0}
    return {"text": text, "parts": parts, "top": top, "coverage": coverage, "known": known, "label": label, **sizes}


def results(bleu: dict[str, float], replaced: tuple[str, ...] = (), **parts: object) -> Results:
    """Systems with a BLEU of their own on both sets."""
    systems = {name: System(name, network=name, replace_unknown=name in replaced) for name in bleu}
    index = pd.MultiIndex.from_product([bleu, ["dev", "test"]], names=["system", "set"])
    scores = pd.DataFrame({"sacrebleu": [value for value in bleu.values() for _ in range(2)]}, index)
    scores = scores.assign(sacrebleu_std=None, tokenised=1.0, tokenised_std=None, p_value=None)
    scores = scores.assign(**dict.fromkeys(mi2016.TOOK, float("nan")))
    coverage = pd.DataFrame([held(parts, 10, 0.95) for parts in ("V^D", "V^P + V^D + V^T")])
    trainings = pd.DataFrame([], columns=["parameters", *TRAINING_FIGURES], dtype=float)
    return Results(
        **{"systems": scores, "made": systems, "trainings": trainings, "epochs": {}, "coverage": coverage} | parts
    )


def test_numbers_of_the_paper_are_those_of_its_tables() -> None:
    paper = load_paper("mi2016.yaml")
    assert len(paper.systems) == len(set(paper.systems)) == 19
    assert paper.rows("3")[["frequent", "bleu", "size"]].values.tolist() == [
        [50, 30.61, 202],
        [200, 30.65, 324],
        [500, 30.70, 605],
        [1000, 30.70, 1089],
        [2000, 30.72, 2067],
        [10000, 30.69, 10029],
    ]
    rows = paper.rows("4")[["system", "dev", "test"]].astype(object)
    assert rows.where(rows.notna(), None).values.tolist()[:5] == [
        ["baseline", None, 33.30],
        ["jean", 29.32, 33.36],
        ["jean_unk", 29.98, 34.11],
        ["limited", 30.15, 34.45],
        ["limited_unk", 30.72, 35.11],
    ]
    further = paper.rows("Further").set_index("system")["test"]
    assert (further["dictionary_only"], further["phrases_only"]) == (34.20, 34.23) and np.isnan(further["few_words"])


def test_tables_show_the_paper_beside_what_there_is(tmp_path: Path, outputs: dict[str, Path]) -> None:
    write_attention_tables(files=arguments(tmp_path), **outputs, title="Both", remarks="So it is.\n")
    lines = unpadded(outputs["markdown_output"])
    assert lines[0] == "# Both" and lines[-1] == "So it is."
    assert [line for line in lines if line.startswith("## ")] == [
        "## Tables 1 and 2: coverage of the reference and size of the vocabularies",
        "## Table 3: decoding with other numbers of most frequent words",
        "## Table 4: Single systems",
        "## Further: Parts of the vocabulary, the scorer, and the phrase-based system",
        "## Figure 2: learning curves",
        "## Speed of training",
        "## Speed of decoding",
        "## Remarks",
    ]
    for row in (
        "| V^P | 73.5 |  |  | 80.0 | 321 | 1235 |",
        "| V^P + V^D + V^T (10) | 91.7 | 2067 |  | 95.0 | 321 | 1235 |",
        "| V^P + V^D + V^T + V^R (10), train |  | 2080 | 6153 | 97.0 | 331 | 1500 |",
        "| 50 | 30.61 | 202 | 50 | 25.80 | 210 |",
        "| 2,000 | 30.72 | 2,067 | 2,000 | 26.00 | 2,110 |",
        "| Moses (Cho et al. 2014) | phrases alone |  | 33.30 | 30.50 ± 0.71 | 31.50 ± 0.71 |  |  |  |  |",
        "| Jean: candidate list | parts | 29.32 | 33.36 | 25.00 | 26.00 | 0.250 | 900 | 10 (2.0 %) | 12.5 |",
        "| Mi: + UNK replace | replaced | 30.72 | 35.11 | 26.50 | 27.40 | <0.001 | 2,110 | 10 (2.0 %) | 12.5 |",
        "| V^P and V^T | phrases |  | 34.23 | 25.50 | 26.50 | <0.001 | 2,110 | 10 (2.0 %) | 12.5 |",
        "| a deeper one | a deeper one |  |  | 24.00 | 25.00 | <0.001 | 10,000 | 10 (2.0 %) | 12.5 |",
        "| attention | 7 | 30.72 | 2 | 24.00 | 48.00 | 3 |",
        "| attention_fixed |  |  | 2 | 23.50 | 48.00 | 3 |",
        "| attention | 12 | 20 | 2.00 | 630 |  | 1.00 | 40.50 |",
        "| parts | 12 | 20 | 1.25 | 394 | 1.5 | 1.60 | 41.25 |",
        "| N = 50 | top_50 | 210 | 4.00 | 1.00 | 12.5 | 2 | 1 |",
        "| a deeper one | all | 10,000 | 1.60 | 2.50 | 12.5 | 2 | 1 |",
    ):
        assert row in lines, row
    text = "\n".join(lines)
    assert "On dev, the union covers more than each part alone, as in the paper. It covers 95.0 %" in text
    assert "BLEU changes by -0.20 (paper: -0.11). The paper's numbers are with unknown words replaced, these" in text
    assert (
        "2 of 5 orders of BLEU, mean of the test sets, are the paper's: limited (27.50) is not above baseline (31.50), "
        "limited_unk (27.40) is not above baseline (31.50), limited_unk (27.40) is not above limited (27.50)."
    ) in text
    assert "the best BLEU is -0.50 against learned ones" in text
    assert "V^D and V^T |" not in text, "no system stands for this row"
    assert outputs["plot"].read_bytes().startswith(b"\x89PNG")


def test_all_numbers_stand_in_the_csv(tmp_path: Path, outputs: dict[str, Path]) -> None:
    write_attention_tables(files=arguments(tmp_path), **outputs)
    found = read_csv(outputs["csv_output"])
    rows = {(r["table"], r["row"], r["system"], r["set"], r["quantity"]): (r["paper"], r["here"]) for r in found}
    assert len(rows) == len(found), "no number stands twice"
    assert rows["1", "V^D (10)", "", "dev", "coverage"] == ("80", "85")
    assert rows["2", "V^P + V^D + V^T + V^R (10)", "", "train", "batch_size"] == ("6153", "1500.2")
    assert rows["3", "N = 50", "top_50", "dev", "mean_vocabulary"] == ("202", "210")
    assert rows["3", "N = 2000", "limited", "dev", "bleu"] == ("30.72", "26")
    assert rows["4", "Jean: candidate list", "jean", "test", "bleu"] == ("33.36", "26")
    assert rows["4", "Jean: candidate list", "jean", "dev", "tokenised_bleu"] == ("29.32", "26")
    assert rows["4", "Jean: candidate list", "jean", "test", "p_value"] == ("", "0.25")
    assert rows["4", "Mi: voc. manipulation", "limited", "test", "unknown_words"] == ("", "10")
    baseline = "4", "Moses (Cho et al. 2014)", "baseline", "test"
    assert rows[*baseline, "bleu"] == ("33.3", "31.5") and rows[*baseline, "p_value"] == ("", "")
    assert (*baseline, "seconds") not in rows
    assert rows["Further", "a deeper one", "deep", "test", "bleu"] == ("", "25")
    assert rows["Figure 2", "best", "attention", "dev", "epoch"] == ("7", "2")
    assert rows["Figure 2", "best", "attention_fixed", "dev", "epoch"] == ("", "2")
    assert rows["Figure 2", "epoch 3", "attention", "dev", "perplexity"] == ("", "")
    assert rows["Training", "parts", "parts", "", "slowdown"] == ("1.5", "1.6")
    assert rows["Training", "attention", "attention", "", "words_per_second"] == ("", "630")
    assert rows["Decoding", "a deeper one", "deep", "test", "slowdown"] == ("", "2.5")
    assert rows["Decoding", "N = 50", "top_50", "dev", "sentences_per_second"] == ("", "4")


def test_default_row_of_table_3_does_with_unknown_words_what_the_others_do() -> None:
    bleu = {"limited": 1.0, "limited_unk": 2.0, "top_200": 1.5}
    assert list(size_rows(results(bleu))["system"]) == ["top_200", "limited"]
    replaced = results(bleu, replaced=("limited_unk", "top_200"))
    assert list(size_rows(replaced)["system"]) == ["top_200", "limited_unk"]
    assert "these are not" not in "\n".join(page(replaced, "")), "the paper's replace them too"
    assert size_rows(results({"limited": 1.0, "limited_unk": 2.0})).empty


def test_orders_hold_where_the_paper_has_them() -> None:
    paper = {"baseline": 33.30, "jean": 33.36, "jean_unk": 34.11, "limited": 34.45, "limited_unk": 35.11}
    paper |= {"dictionary_only": 34.20, "phrases_only": 34.23}
    known, failing = orders(results(paper))
    assert len(known) == 8 and failing == []
    # A part that replaces unknown words is compared with the whole that does so too.
    replaced = ("limited_unk", "phrases_only")
    for changed, replacing, failing in (
        ({"phrases_only": 35.0}, replaced, []),
        ({"phrases_only": 35.0}, (), [("phrases_only", "limited")]),
        ({"jean": 34.45}, (), [("jean", "limited"), ("jean", "jean_unk")]),
    ):
        assert orders(results(paper | changed, replaced=replacing))[1] == failing


def test_tables_need_rows_of_their_own() -> None:
    few = results({"baseline": 1.0})
    assert table_rows(few, "4").empty and table_rows(few, "Further").empty
    some = results({"baseline": 1.0, "limited": 2.0})
    assert list(table_rows(some, "4")["system"]) == ["baseline", "limited"]
    assert table_rows(some, "Further").empty
    text = page(few, "Few")
    assert [line for line in text if line.startswith("##")] == [
        "## Tables 1 and 2: coverage of the reference and size of the vocabularies"
    ]
    assert not [line for line in text if "orders of BLEU" in line]


def test_coverage_that_is_not_the_papers_is_explained() -> None:
    rows = [("V^P", None, 0.7), ("V^D", 10, 0.85), ("V^P + V^D + V^T", 10, 0.85)]
    coverage = pd.DataFrame([held(*row, known=0.9) for row in rows])
    text = "\n".join(page(results({"limited": 1.0}, coverage=coverage), ""))
    assert (
        "On dev, the union covers no more than V^D alone (85.0 %), unlike in the paper. It covers 85.0 % of the "
        "running words, below 90 % (paper: 91.7 %): 10.0 % are words that the network does not know, so no set has "
        "them, and 5.0 % are known but outside the sets.\n"
    ) in text


def test_the_default_is_what_training_has() -> None:
    union, larger = held("V^P + V^D + V^T", 5, 0.9), held("V^P + V^D + V^T", 20, 0.9)
    training = held("V^P + V^D + V^T + V^R", 20, 0.9, text="train")
    found = default_rows(pd.DataFrame([union, larger, training]), "dev")
    assert found[["text", "top"]].values.tolist() == [["dev", 20], ["train", 20]]
    assert found["paper_coverage"][1] == 92.7 and np.isnan(found["paper_sentence"][1]), "the paper's is of its default"
    found = default_rows(pd.DataFrame([larger, union]), "dev")
    assert found["top"].tolist() == [5]
    assert np.isnan(found["paper_coverage"]).all(), "the paper has no top 5"
    with pytest.raises(UserError, match=r"no row of V\^P \+ V\^D \+ V\^T for 'test'; run measure_candidates again"):
        default_rows(pd.DataFrame([union, training]), "test")


def test_an_update_is_timed_against_the_papers_network() -> None:
    trainings = pd.DataFrame({"updates_per_second": [2.0, 0.8]}, ["limited", "full"])
    found = training_rows(results({"limited": 1.0, "full": 2.0}, trainings=trainings))
    assert found["slowdown"].to_dict() == {"limited": 1.0, "full": 2.5}
    assert training_rows(results({"full": 2.0}, trainings=trainings))["slowdown"].isna().all()


def epochs_of(*bleu: float) -> pd.DataFrame:
    rows = [(number, 10 * number, None, value) for number, value in enumerate(bleu, start=1)]
    return pd.DataFrame(rows, columns=mi2016.EPOCHS)


def test_the_best_epoch_is_the_first_of_the_highest() -> None:
    lines = unpadded(page(results({"limited": 1.0}, epochs={"deep": epochs_of(20.0, 24.0, 23.0, 24.0)}), ""))
    assert "| deep |  |  | 2 | 24.00 |  | 4 |" in lines


def test_figure_2_has_the_papers_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures: list[Figure] = []
    monkeypatch.setattr(mi2016, "clean", lambda axes: figures.append(axes.figure))
    epochs = epochs_of(20.0, 21.0)
    names = ("full", "attention", "attention_fixed")
    draw_epochs(tmp_path / "a.png", dict.fromkeys(names, epochs), "dev")
    axes = figures[0].axes[0]
    assert axes.get_xlabel() == "epoch" and axes.get_ylabel() == "BLEU (tokens), dev"
    lines = {line.get_label(): line for line in axes.lines}
    assert list(lines["full"].get_xdata()) == [1, 2] and list(lines["full"].get_ydata()) == [20.0, 21.0]
    shown = {name: (to_hex(lines[name].get_color()), lines[name].get_linestyle()) for name in names}
    assert shown == {"full": (to_hex(GREY), "-"), "attention": (RED, "-"), "attention_fixed": (BLUE, "--")}
    draw_epochs(tmp_path / "b.png", {}, "dev")
    assert figures[1].axes[0].texts[0].get_text() == "no epoch was measured"
    assert (tmp_path / "b.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("coverage.csv", "a,b\n1,2\n", r"coverage.csv: has no column 'text'; run measure_candidates again"),
        ("attention.epochs.csv", "epoch,bleu\n1,2\n", r"attention.epochs.csv: has no column 'updates'; run"),
        ("jean.test.translation.json", '{"seconds": 1}', r"translation.json: has no 'sentences_per_second'"),
        ("parts/curve.csv", "updates\n1\n", r"curve.csv: has no column 'words'; train the"),
        ("significance.dev.json", "{}", r"significance.dev.json: has no 'baseline'"),
    ],
)
def test_a_file_that_is_another_is_named(
    tmp_path: Path, outputs: dict[str, Path], name: str, content: str, message: str
) -> None:
    files = arguments(tmp_path)
    (tmp_path / name).write_text(content)
    with pytest.raises(UserError, match=message):
        write_attention_tables(files=files, **outputs)
    assert not any(path.exists() for path in outputs.values())


def test_systems_that_cannot_be_shown_are_named(tmp_path: Path, outputs: dict[str, Path]) -> None:
    files = arguments(tmp_path)
    with pytest.raises(UserError, match=r"setting systems.jean.unk is unknown; use one of label, network, vocabulary"):
        write_attention_tables(files=files | {"systems": {"jean": {"label": "a", "unk": True}}}, **outputs)
    with pytest.raises(UserError, match=r"system 'full' has no scores to report on; those that have are baseline, "):
        write_attention_tables(files=files | {"systems": {"full": {"label": "a"}}}, **outputs)
    with pytest.raises(UserError, match=r"no system translates with an attention network"):
        write_attention_tables(files=files | {"systems": {}}, **outputs)
