"""Figures 4 and 5: projection, regions, labels, and the page that needs nothing else."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from lxml import html
from lxml.etree import Element
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from refusals import check_refused

from neural_smt.analysis.embedding import embed_words, project, summaries, write_points
from neural_smt.analysis.maps import _neighbours, show_map
from neural_smt.analysis.plots import Region, _label, densest_regions, plot_embedding, read_points
from neural_smt.io.ragged import Ragged
from neural_smt.networks.encoder_decoder import EncoderDecoder, EncoderDecoderConfig
from neural_smt.networks.folder import Trained
from neural_smt.networks.packing import pack
from neural_smt.vocabulary import Vocabulary

NASTY = '</script><img src="http://example.org/x"> & \u2028 é'


def test_summaries_are_those_of_single_phrases() -> None:
    network = EncoderDecoder(EncoderDecoderConfig(9, 9, 6, 5, 4, 3))
    phrases = Ragged.from_lists([[3, 4, 5], [6], [7, 8, 3, 4], [5, 5]])
    vectors = summaries(network, phrases, batch=3)
    with torch.no_grad():
        for number in range(4):
            packed, _ = pack(phrases.take([number]), torch.device("cpu"))
            np.testing.assert_allclose(vectors[number], network.encode(packed)[0].numpy(), atol=1e-6)


def test_the_projection_keeps_clusters_together_and_repeats_itself() -> None:
    random = np.random.default_rng(2)
    vectors = np.concatenate([random.normal(0, 0.1, (20, 8)), random.normal(5, 0.1, (20, 8))])
    places = project(vectors, 30.0, seed=1)
    assert places.shape == (40, 2)
    nearest = [np.argsort(((places - place) ** 2).sum(1))[1] for place in places]
    assert all((i < 20) == (j < 20) for i, j in enumerate(nearest))
    np.testing.assert_array_equal(places, project(vectors, 30.0, seed=1))
    check_refused(["t-SNE", "4 points"], project, vectors[:4], 30.0, seed=1)


def test_regions_are_the_densest_squares_that_lie_apart() -> None:
    grid = np.array([(x, y) for x in range(3) for y in range(3)], dtype=float)
    places = np.concatenate([grid * 0.5, 100 + grid, 200 + grid * 0.25, [[100.0, 300.0]]])
    first, second = densest_regions(places, 2, neighbours=8)
    # at least a fortieth of the picture (300 / 40), round the middle of the 9 points
    assert first == Region(200.25 - 3.75, 200.25 - 3.75, 7.5)
    assert second == Region(0.5 - 3.75, 0.5 - 3.75, 7.5)
    assert len(densest_regions(places, 3, neighbours=8)) == 3
    # one spot of many points gives one square, not three of the same
    assert len(densest_regions(np.tile(grid * 1e-3, (5, 1)), 3, neighbours=8)) == 1


def test_points_survive_a_round_trip_most_frequent_first(tmp_path: Path) -> None:
    write_points(tmp_path / "p.csv", ["a, b", 'c"'], np.array([2, 7]), np.array([[1.0, 2.0], [-0.5, 0.25]]))
    assert read_points(tmp_path / "p.csv").values.tolist() == [['c"', 7, -0.5, 0.25], ["a, b", 2, 1.0, 2.0]]


def test_labels_do_not_overlap_and_the_most_frequent_come_first() -> None:
    figure = Figure(figsize=(4, 4), dpi=100)
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    places = np.array([(0.5, 0.5), (0.5001, 0.5), (0.1, 0.1), *[(0.5, 0.5)] * 20])
    axes.set(xlim=(0, 1), ylim=(0, 1))
    figure.draw_without_rendering()
    words = [f"${number}#$" for number in range(len(places))]  # no mathematics
    _label(axes, words, places, 9.0)
    boxes = [text.get_window_extent().extents for text in axes.texts]
    assert [text.get_text() for text in axes.texts][:3] == words[:3]
    assert 3 <= len(boxes) < 23
    for number, one in enumerate(boxes):
        for other in boxes[:number]:
            assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
    few = figure.add_subplot()
    _label(few, words, places, 9.0, most=1)
    assert len(few.texts) == 1


def test_the_picture_has_a_panel_for_every_region(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    panels = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: panels.extend(figure.axes))
    random = np.random.default_rng(1)
    places = np.array([random.normal(n % 4 * 20, 1, 2) for n in range(200)])
    write_points(tmp_path / "p.csv", [f"w{n}" for n in range(200)], np.arange(200, 0, -1), places)
    plot_embedding(points=tmp_path / "p.csv", plot=tmp_path / "p.png", title="Words", settings={"zooms": 3})
    whole, *zooms = panels
    assert "200 points" in whole.get_title()
    assert all(axes.get_xlabel() and axes.get_ylabel() for axes in panels)
    assert [zoom.get_xlim()[0] for zoom in zooms] == pytest.approx([patch.get_x() for patch in whole.patches], abs=0.5)
    assert len(zooms) == 3


def test_the_page_refers_to_nothing_outside_and_cannot_be_broken_by_its_data(tmp_path: Path) -> None:
    files = {name: tmp_path / f"{name}.csv" for name in ("words", "phrases")}
    write_points(files["words"], [NASTY], np.array([3]), np.array([[1.2346, -2.0]]))
    write_points(files["phrases"], ["l&apos; un"], np.array([1]), np.zeros((1, 2)))
    show_map(**files, output=tmp_path / "map.html", title=NASTY)
    page = html.document_fromstring((tmp_path / "map.html").read_text(encoding="utf-8"))
    elements = list(page.iter(Element))
    names = [element.tag for element in elements]
    assert not {"img", "link", "iframe", "object", "embed"} & set(names)
    assert not any(set(element.keys()) & {"src", "href", "action", "data"} for element in elements)
    meta = page.findall(".//meta[@http-equiv]")
    assert [rule.get("content").split(";")[0] for rule in meta] == ["default-src 'none'"]
    *data, script = (element.text for element in page.iter("script"))
    assert not any(NASTY in text for text in data) and any("1.235" in text for text in data)
    assert not re.search(r"https?:|fetch\(|import\(|XMLHttpRequest|innerHTML|eval\(|url\(", script)
    assert names.count("input") == 1
    wanted = set(re.findall(r'byId\("(\w+)"\)', script))
    assert wanted == {element.get("id") for element in elements} & wanted


def test_the_page_is_the_same_in_every_run(tmp_path: Path) -> None:
    write_points(tmp_path / "w.csv", ["a", "b"], np.array([2, 1]), np.eye(2))
    pages = []
    for name in ("one.html", "other.html"):
        show_map(words=tmp_path / "w.csv", phrases=tmp_path / "w.csv", output=tmp_path / name)
        # a process numbers its models from 1001, and this one writes two pages
        pages.append(re.sub(r"\bp\d+\b", "p", (tmp_path / name).read_text(encoding="utf-8")))
    assert pages[0] == pages[1]


def test_neighbours_are_named_nearest_first() -> None:
    places = np.array([(0.0, 0.0), (1.0, 0.0), (3.0, 0.0)])
    assert _neighbours(["a", "b", "c"], places) == ["b · c", "a · c", "b · a"]
    assert _neighbours([], places[:0]) == [] and _neighbours(["a"], places[:1]) == [""]


def test_steps_from_network_to_page(tmp_path: Path) -> None:
    words = [f"w{number}" for number in range(40)]
    vocabulary = Vocabulary(["<unk>", "<s>", "</s>", *words], [0, 0, 0, *range(40, 0, -1)])
    network = EncoderDecoder(EncoderDecoderConfig(43, 43, 6, 5, 4, 3))
    Trained(network, vocabulary, vocabulary).save(tmp_path / "model")
    settings = {"words": 30, "perplexity": 5}
    embed_words(model=tmp_path / "model", output=tmp_path / "w.csv", settings=settings, seed=1)
    points = read_points(tmp_path / "w.csv")
    assert points["text"].tolist() == words[:30] and points["count"].tolist() == list(range(40, 10, -1))
    plot_embedding(points=tmp_path / "w.csv", plot=tmp_path / "w.png", title="Words", settings=settings)
    assert (tmp_path / "w.png").read_bytes().startswith(b"\x89PNG")
    show_map(words=tmp_path / "w.csv", phrases=tmp_path / "w.csv", output=tmp_path / "map.html")
    assert "w29" in (tmp_path / "map.html").read_text()
