"""Tables 2 and 3 and Figure 3 on a small table and network."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from moses_tables import moses_vocabularies, read_moses
from scipy.stats import spearmanr

from neural_smt.analysis import plots
from neural_smt.analysis.phrase_tables import (
    Preferred,
    Sampled,
    draw_groups,
    known_phrases,
    phrase_counts,
    phrases_page,
    preferred,
    sampled,
)
from neural_smt.analysis.steps import plot_pair_scores, show_phrases
from neural_smt.errors import UserError
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
    random = np.random.default_rng(3)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += torch.from_numpy(random.normal(0.0, 0.4, parameter.shape)).float()
        network.output.bias[EOS] += 2.0
    return Trained(network, *vocabularies)


def texts(table: PhraseTable, vocabulary: Vocabulary, numbers: np.ndarray) -> list[str]:
    return [vocabulary.text(table.source[number]) for number in numbers]


def test_groups_are_long_known_have_three_targets_and_do_not_overlap(table: tuple) -> None:
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
    assert texts(phrases, source, np.flatnonzero(~known_phrases(phrases, ids))) == ["e f g h"]
    assert sorted(phrase_counts(phrases).tolist()) == [2, 3, 20, 30, 40, 50, 99]


def test_preferred_target_phrases_of_both_models(table: tuple) -> None:
    phrases, vocabularies = table
    number = next(n for n, p in enumerate(phrases.source) if vocabularies[0].text(p) == "e f g h")
    column = np.zeros(len(phrases), dtype=np.float32)
    start = int(phrases.entry_offsets[number])
    own = [vocabularies[1].text(phrases.target[row]) for row in range(start, start + 4)]
    scores = {"x": -3.0, "y": -1.0, "x y": -4.0, "y x <z>": -2.0}
    column[start : start + 4] = [scores[text] for text in own]
    rows = preferred(phrases, column, {"frequent": np.array([number])}, vocabularies)
    assert [row[:6] for row in rows] == [
        ("frequent", "e f g h", 30, "translation model", 1, "x"),
        ("frequent", "e f g h", 30, "translation model", 2, "y"),
        ("frequent", "e f g h", 30, "translation model", 3, "x y"),
        ("frequent", "e f g h", 30, "network", 1, "y"),
        ("frequent", "e f g h", 30, "network", 2, "y x <z>"),
        ("frequent", "e f g h", 30, "network", 3, "x"),
    ]
    np.testing.assert_allclose([row.log_probability for row in rows[:3]], np.log(PROBABILITIES[:3]), rtol=1e-6)
    assert [row.log_probability for row in rows[3:]] == [-1.0, -2.0, -3.0]


def test_samples_are_ranked_by_the_networks_score(table: tuple) -> None:
    phrases, vocabularies = table
    model = model_of(vocabularies)
    ids = shortlist_ids(vocabularies[0], model.source)
    groups = {"frequent": np.array([1, 2]), "rare": np.array([3])}
    rows = sampled(model, ids, phrases, groups, 30, seed=1)
    assert [row.group for row in rows] == ["frequent"] * 10 + ["rare"] * 5
    assert [row.rank for row in rows] == [1, 2, 3, 4, 5] * 3
    for start in (0, 5, 10):
        part = rows[start : start + 5]
        assert len({row.target for row in part}) == 5
        assert [row.log_probability for row in part] == sorted((row.log_probability for row in part), reverse=True)
        assert 5 <= sum(row.samples for row in part) <= 30
    source, target = (v.encode(row[side] for row in rows) for v, side in zip(vocabularies, (1, 3), strict=True))
    scores, _ = PairScorer(model.network).score(source, target, 8)
    np.testing.assert_allclose([row.log_probability for row in rows], scores, atol=1e-4)


def test_the_page_escapes_what_it_shows() -> None:
    favourites = [
        Preferred("rare", "a <b>", 2, "translation model", 1, "l&apos; un", -0.5),
        Preferred("rare", "a <b>", 2, "network", 1, "x & y", -1.25),
    ]
    page = "\n".join(phrases_page(favourites, [Sampled("rare", "a <b>", 1, "l&apos; un", 7, -2.0)], 50))
    assert "a &lt;b&gt; <small>extracted 2 times</small>" in page
    assert page.count('<li class="both">l&#39; un <small>') == 2
    assert "x &amp; y <small>-1.25</small>" in page and "×7, -2.00" in page
    assert "Long, rare source phrases" in page and "Best of 50 samples" in page


def test_rank_correlation_is_spearmans() -> None:
    random = np.random.default_rng(1)
    first, second = random.integers(0, 5, 50).astype(float), random.normal(size=50)
    assert plots.rank_correlation(first, second) == pytest.approx(spearmanr(first, second).statistic)
    assert plots.rank_correlation(np.ones(3), np.arange(3.0)) == 0.0


def test_the_scatter_names_its_axes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    figures = []

    @contextmanager
    def kept(path: Path, width: float, height: float) -> Iterator[Figure]:
        figures.append(Figure(figsize=(width, height)))
        FigureCanvasAgg(figures[0])
        yield figures[0]

    monkeypatch.setattr(plots, "drawing", kept)
    plots.draw_scatter(tmp_path / "x.png", np.array([-1.0, -2.0]), np.array([-3.0, -1.0]), np.array([1, 9]))
    left, right = figures[0].axes[:2]
    assert left.get_xlabel() == right.get_xlabel() == "network, log p(target | source) (nats)"
    assert left.get_ylabel() == "translation model, log p(target | source) (nats)"
    assert left.get_title() == "2 phrase pairs, rank correlation -1.00"
    assert {axes.get_ylabel() for axes in figures[0].axes[2:]} == {
        "phrase pairs in a cell (log scale)",
        "times the source phrase was extracted",
    }
    np.testing.assert_array_equal(right.collections[0].get_offsets(), [[-1.0, -3.0], [-2.0, -1.0]])


def test_steps_write_tables_page_and_plot(table: tuple, tmp_path: Path) -> None:
    phrases, vocabularies = table
    model = model_of(vocabularies)
    phrases.save(tmp_path / "table")
    model.save(tmp_path / "model")
    for vocabulary, name in zip(vocabularies, ("source", "target"), strict=True):
        vocabulary.save(tmp_path / name)
    source = Ragged(np.asarray(phrases.source.values), np.asarray(phrases.source.offsets))
    column, _ = PairScorer(model.network).score(source.take(phrases.entry_source), phrases.target, 8)
    save_column(tmp_path / "column.safetensors", column, phrases)
    inputs = {
        "phrase_table": tmp_path / "table",
        "column": tmp_path / "column.safetensors",
        "source_vocabulary": tmp_path / "source",
        "target_vocabulary": tmp_path / "target",
        "settings": {"phrases": 2, "rare": 5, "samples": 20, "pairs": 10},
        "seed": 1,
    }
    outputs = {name: tmp_path / name for name in ("preferences", "samples", "page")}
    show_phrases(**inputs, **outputs, model=tmp_path / "model")
    rows = read_csv(tmp_path / "preferences")
    assert len(rows) == 2 * 2 * 2 * 3
    assert {row["group"] for row in read_csv(tmp_path / "samples")} == {"frequent", "rare"}
    assert "j k l m" in (tmp_path / "page").read_text()
    plot_pair_scores(**inputs, plot=tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    save_column(tmp_path / "column.safetensors", column, replace(phrases, max_length=3, source_digest="another"))
    with pytest.raises(UserError, match="the scores of another phrase table"):
        plot_pair_scores(**inputs, plot=tmp_path / "plot2.png")
