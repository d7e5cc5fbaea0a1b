"""Tables 2 and 3 and Figure 3 on a small table and network."""

from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from moses_tables import moses_vocabularies, read_moses
from network_cases import enlarge
from refusals import check_refused

from neural_smt.analysis import phrase_tables, plots
from neural_smt.analysis.phrase_tables import PREFERRED, SAMPLED, draw_groups
from neural_smt.analysis.plots import plot_pair_scores
from neural_smt.experiment.settings import section_settings
from neural_smt.io.files import read_csv, write_lines
from neural_smt.io.ragged import Ragged
from neural_smt.networks.encoder_decoder import EncoderDecoder, EncoderDecoderConfig
from neural_smt.networks.folder import Trained
from neural_smt.phrases.table import PhraseTable, save_column
from neural_smt.rescoring.scorer import PairScorer
from neural_smt.shortlist import shortlist_ids
from neural_smt.vocabulary import EOS, Vocabulary

SOURCES = {"a b c d": 40, "e f g h": 30, "a b c i": 20, "j k l m": 3, "n o p q": 2, "a b": 99}
"""Long phrases (and a short one) and how often each was extracted."""

PROBABILITIES = (0.5, 0.25, 0.125, 0.0625)
TARGETS = ("x", "y", "x y", "y x <z>")
SETTINGS = section_settings("analysis", {"phrases": 2, "frequent": 3, "rare": 5, "samples": 30})


@pytest.fixture
def table(tmp_path: Path) -> tuple[PhraseTable, tuple[Vocabulary, Vocabulary]]:
    lines = [
        f"{source} ||| {target} ||| 1 1 {probability} 1 ||| 0-0 ||| 9 {count} 1 ||| |||"
        for source, count in sorted(SOURCES.items())
        for target, probability in zip(TARGETS, PROBABILITIES, strict=True)
    ]
    write_lines(tmp_path / "table.txt", [*lines, "r s t u ||| x ||| 1 1 1 1 ||| 0-0 ||| 9 50 1 ||| |||"])
    vocabularies = moses_vocabularies(tmp_path / "table.txt")
    return read_moses(tmp_path / "table.txt", None, *vocabularies), vocabularies


def model_of(vocabularies: tuple[Vocabulary, Vocabulary]) -> Trained[EncoderDecoder]:
    network = EncoderDecoder(EncoderDecoderConfig(len(vocabularies[0]), len(vocabularies[1]), 6, 5, 4, 3))
    enlarge(network, 0.4)
    network.output.bias.data[EOS] += 2.0
    return Trained(network, *vocabularies)


def texts(table: PhraseTable, vocabulary: Vocabulary, numbers: np.ndarray) -> list[str]:
    return [vocabulary.text(table.source[number]) for number in numbers]


def test_groups_are_long_known_have_three_targets_and_do_not_overlap(
    table: tuple, monkeypatch: pytest.MonkeyPatch
) -> None:
    phrases, (source, _) = table
    ids = np.arange(len(source))
    groups = draw_groups(phrases, ids, SETTINGS, seed=1)
    assert texts(phrases, source, groups["rare"]) == ["j k l m", "n o p q"]
    frequent = texts(phrases, source, groups["frequent"])
    # `a b` is short, `r s t u` has one target phrase, `a b c d` and `a b c i` share three words
    assert frequent in (["a b c d", "e f g h"], ["e f g h", "a b c i"])
    seen = {tuple(texts(phrases, source, draw_groups(phrases, ids, SETTINGS, s)["frequent"])) for s in range(20)}
    assert seen == {("a b c d", "e f g h"), ("e f g h", "a b c i")}
    top = draw_groups(phrases, ids, SETTINGS.replace(frequent=1), seed=1)["frequent"]
    assert texts(phrases, source, top) == ["a b c d"]
    ids[source.index["e"]] = 0
    assert "e f g h" not in texts(phrases, source, draw_groups(phrases, ids, SETTINGS, 1)["frequent"])
    every = np.arange(len(phrases.source))
    assert sorted(phrase_tables.phrase_counts(phrases, every).tolist()) == [2, 3, 20, 30, 40, 50, 99]
    known = phrase_tables.long_phrases(phrases, ids, words=1)
    assert texts(phrases, source, np.setdiff1d(every, known)) == ["e f g h"]
    monkeypatch.setattr(phrase_tables, "PIECE", 5)
    np.testing.assert_array_equal(phrase_tables.long_phrases(phrases, ids, words=1), known)
    assert len(known) > len(phrase_tables.long_phrases(phrases, ids, words=3))


def test_preferred_target_phrases_of_both_models(table: tuple) -> None:
    phrases, vocabularies = table
    number = next(n for n, p in enumerate(phrases.source) if vocabularies[0].text(p) == "e f g h")
    column = np.zeros(len(phrases), dtype=np.float32)
    start = int(phrases.entry_offsets[number])
    own = [vocabularies[1].text(phrases.target[row]) for row in range(start, start + 4)]
    scores = {"x": -3.0, "y": -1.0, "x y": -4.0, "y x <z>": -2.0}
    column[start : start + 4] = [scores[text] for text in own]
    rows = phrase_tables.preferred(phrases, column, {"frequent": np.array([number])}, vocabularies)
    assert list(rows.columns) == PREFERRED
    assert (rows[["group", "source", "extracted"]] == ["frequent", "e f g h", 30]).all(axis=None)
    assert rows[["model", "rank", "target"]].values.tolist() == [
        *(["translation model", rank, text] for rank, text in enumerate(["x", "y", "x y"], start=1)),
        *(["network", rank, text] for rank, text in enumerate(["y", "y x <z>", "x"], start=1)),
    ]
    scores = [*np.log(PROBABILITIES[:3]), -1.0, -2.0, -3.0]
    np.testing.assert_allclose(rows["log_probability"], scores, rtol=1e-6)


def test_samples_are_ranked_by_the_networks_score(table: tuple) -> None:
    phrases, vocabularies = table
    model = model_of(vocabularies)
    ids = shortlist_ids(vocabularies[0], model.source)
    groups = {"frequent": np.array([1, 2]), "rare": np.array([3])}
    rows = phrase_tables.sampled(model, ids, phrases, groups, 30, seed=1)
    assert list(rows.columns) == SAMPLED and rows["group"].tolist() == ["frequent"] * 10 + ["rare"] * 5
    assert rows["rank"].tolist() == [1, 2, 3, 4, 5] * 3
    for _, part in rows.groupby("source"):
        assert part["target"].is_unique and part["log_probability"].is_monotonic_decreasing
        assert 5 <= part["samples"].sum() <= 30
    source, target = (v.encode(rows[side]) for v, side in zip(vocabularies, ("source", "target"), strict=True))
    scores, _ = PairScorer(model.network).score(source, target, 8)
    np.testing.assert_allclose(rows["log_probability"], scores, atol=1e-4)


def test_the_page_escapes_what_it_shows(tmp_path: Path) -> None:
    found = ("translation model", 1, "l&apos; un", -0.5), ("network", 1, "x & y", -1.25)
    favourites = [("rare", "a <b>", 2, *row) for row in found]
    samples = pd.DataFrame([("rare", "a <b>", 1, "l&apos; un", 7, -2.0)], columns=SAMPLED)
    phrase_tables.write_phrases(tmp_path / "page.html", pd.DataFrame(favourites, columns=PREFERRED), samples, 50)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "a &lt;b&gt; <small>extracted 2 times</small>" in page
    assert page.count('<li class="both">l&#39; un <small>') == 2
    assert "x &amp; y <small>-1.25</small>" in page and "×7, -2.00" in page
    assert "Long, rare source phrases" in page and "Best of 50 samples" in page


def test_the_scatter_names_its_axes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    figures = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: figures.append(figure))
    plots.draw_scatter(tmp_path / "x.png", np.array([-1.0, -2.0]), np.array([-3.0, -1.0]), np.array([1, 9]))
    left, right, *bars = figures[0].axes
    assert left.get_xlabel() == right.get_xlabel() == "network, log p(target | source) (nats)"
    assert left.get_ylabel() == "translation model, log p(target | source) (nats)"
    assert left.get_title() == "2 phrase pairs, rank correlation -1.00"
    names = {"phrase pairs in a cell (log scale)", "times the source phrase was extracted"}
    assert {axes.get_ylabel() for axes in bars} == names
    np.testing.assert_array_equal(right.collections[0].get_offsets(), [[-1.0, -3.0], [-2.0, -1.0]])
    plots.draw_scatter(tmp_path / "x.png", np.ones(3), -np.arange(3.0), np.ones(3))
    assert figures[1].axes[0].get_title() == "3 phrase pairs, rank correlation 0.00", "one of them is constant"


def test_steps_write_tables_page_and_plot(table: tuple, tmp_path: Path) -> None:
    phrases, vocabularies = table
    model = model_of(vocabularies)
    phrases.save(tmp_path / "phrase_table")
    model.save(tmp_path / "model")
    for vocabulary, side in zip(vocabularies, ("source", "target"), strict=True):
        vocabulary.save(tmp_path / f"{side}_vocabulary")
    source = Ragged(np.asarray(phrases.source.values), np.asarray(phrases.source.offsets))
    column, _ = PairScorer(model.network).score(source.take(phrases.entry_source), phrases.target, 8)
    save_column(tmp_path / "column.safetensors", column, phrases)
    inputs = {name: tmp_path / name for name in ("phrase_table", "source_vocabulary", "target_vocabulary")}
    inputs |= {"settings": {"phrases": 2, "rare": 5, "samples": 20, "pairs": 10}, "seed": 1}
    inputs["column"] = tmp_path / "column.safetensors"
    outputs = {name: tmp_path / name for name in ("preferences", "samples", "page")}
    phrase_tables.show_phrases(**inputs, **outputs, model=tmp_path / "model")
    preferred = Counter((row["group"], row["model"], row["rank"]) for row in read_csv(tmp_path / "preferences"))
    models = phrase_tables.TRANSLATION_MODEL, phrase_tables.NETWORK
    assert preferred == dict.fromkeys(product(("frequent", "rare"), models, "123"), 2), "of two source phrases"
    assert {row["group"] for row in read_csv(tmp_path / "samples")} == {"frequent", "rare"}
    assert "j k l m" in (tmp_path / "page").read_text()
    plot_pair_scores(**inputs, plot=tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    save_column(tmp_path / "column.safetensors", column, replace(phrases, max_length=3, source_digest="another"))
    check_refused("another phrase table", plot_pair_scores, **inputs, plot=tmp_path / "plot2.png")
