"""Drawings of lattices, alignments and attention."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import asdict
from itertools import combinations, product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from refusals import check_refused

from neural_smt.errors import UserError
from neural_smt.io.files import read_yaml, write_json, write_lines
from neural_smt.io.plots import svg
from neural_smt.report import drawings
from neural_smt.report.translations import Arc, DrawnLattice, Explained, Explanation, phrase_boxes

LANGUAGES = {"source": "en", "target": "fr"}

CASES = read_yaml(Path(__file__).with_name("drawings.yaml"))
LATTICE = DrawnLattice(**CASES["lattice"] | {"arcs": [Arc(*arc) for arc in CASES["lattice"]["arcs"]]})

SVG = "{http://www.w3.org/2000/svg}"


def drawn(html: str) -> ElementTree.Element:
    """The drawing in a piece of a page."""
    return ElementTree.fromstring(html[html.index("<svg") : html.rindex("</svg>") + 6])


def texts(drawing: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in drawing.iter(f"{SVG}text")]


def test_arcs_side_by_side_have_lanes_of_their_own_and_the_best_the_first() -> None:
    found = drawings.lanes(LATTICE)
    assert found == [0, 1, 0, 2, 1]
    spans = [(LATTICE.covered[arc.tail], LATTICE.covered[arc.head]) for arc in LATTICE.arcs]
    for (one, lane), (other, lane_of_other) in combinations(zip(spans, found, strict=True), 2):
        assert lane != lane_of_other or one[1] <= other[0] or other[1] <= one[0]


def test_a_lattice_shows_words_scores_and_its_axis() -> None:
    figure, titles = drawings.draw_lattice(LATTICE)
    drawing = drawn(svg(figure, titles))
    shown = texts(drawing)
    assert {"A", "B C", "(nothing)", "<b> c"} <= set(shown)
    assert [text for text in shown if text.isdigit()] == ["0", "1", "2", "3"]
    assert "source words translated so far (number of words)" in shown
    (axes,) = figure.axes
    assert axes.collections[0].get_offsets()[:, 0].tolist() == LATTICE.covered and len(axes.patches) == 5
    groups = {group.get("id"): group for group in drawing.iter(f"{SVG}g")}
    assert {name: groups[name].find(f"{SVG}title").text for name in CASES["titles"]} == CASES["titles"]
    assert sum(patch.get_linewidth() > 2 for patch in axes.patches) == 2, "the best translation is drawn thick"
    assert svg(drawings.draw_lattice(LATTICE)[0], titles) == svg(drawings.draw_lattice(LATTICE)[0], titles)


def test_a_matrix_names_its_axes_and_words_and_marks_what_belongs_together() -> None:
    figure, axes = drawings.matrix(["x", "$y$"], ["u", "v"], LANGUAGES)
    names = "source words (en) \u2192", "\u2190 target words (fr)"
    assert texts(drawn(svg(figure, {}))) == ["x", "$y$", names[0], "u", "v", names[1]]
    drawings.mark_links(axes, {(0, 0), (1, 0)}, {(0, 0)}, {(0, 0)}, {(0, 0), (1, 1)})
    marked = {marks.get_label(): marks.get_offsets().tolist() for marks in axes.collections}
    assert marked == {"gold": [[0, 0], [1, 1]], "kept": [[0, 0]], "one direction": [[1, 0]]}
    assert drawings.mark_weights(axes, [[0.25, 0.0, 1.0]]) == {"weight0.0": "0.250", "weight0.2": "1.000"}
    assert [patch.get_width() for patch in axes.patches] == pytest.approx([0.45, 0.9]), "the area is the weight"


def test_the_pages_of_lattices_and_attention(tmp_path: Path) -> None:
    sentence = Explained(["a", "b"], ["A"], links=[[0, 0]], attention=[[0.5, 0.25, 0.25], [0, 0, 1]])
    write_json(tmp_path / "search.json", asdict(Explanation([Explained(["a"], ["A"])], LATTICE)))
    write_json(tmp_path / "network.json", asdict(Explanation([Explained(["c"], []), sentence])))
    files = {name: str(tmp_path / f"{name}.json") for name in ("search", "network")}
    drawings.show_lattices(explanations=files, output=tmp_path / "lattices.html", about="About.")
    page = (tmp_path / "lattices.html").read_text()
    assert page.count("<svg") == 1 and "5 of 1,234 phrase pairs" in page and "<h2>search</h2>" in page
    drawings.show_attention(explanations=files, languages=LANGUAGES, output=tmp_path / "attention.html")
    page = (tmp_path / "attention.html").read_text()
    assert page.count("<svg") == 1 and "<h2>network</h2>" in page
    assert [text for text in texts(drawn(page)) if "words" not in text] == ["a", "b", "(end)", "A", "(end)"]
    drawings.show_lattices(explanations={"network": files["network"]}, output=tmp_path / "none.html")
    assert "No system has a lattice" in (tmp_path / "none.html").read_text()
    write_json(tmp_path / "search.json", {"sentences": []})
    output = tmp_path / "lattices.html"
    check_refused(["search.json", "'lattice'"], drawings.show_lattices, explanations=files, output=output)


ODD = [None, True, "x", "3", -1, 2.0, 7, 10**40, float("nan"), float("inf"), [], {}, [0, 2], [[0.5]]]
"""What may stand in place of any value of a damaged file."""


def values(content: Any) -> Iterator[tuple[Any, Any]]:
    """Every value inside a value: what holds it, and its key there."""
    for key in content if isinstance(content, dict) else range(len(content)) if isinstance(content, list) else ():
        yield content, key
        yield from values(content[key])


def test_a_damaged_explanation_is_drawn_or_refused_with_a_sentence(tmp_path: Path) -> None:
    sentence = Explained(["a", "b"], ["A"], [[0, 2, 0, 1]], [[0, 0]], [[0.5, 0.25, 0.25], [0, 0, 1]])
    whole = asdict(Explanation([sentence], LATTICE))
    refused = []
    for number, odd in product(range(len([*values(whole)])), ODD):
        damaged = deepcopy(whole)
        holder, key = [*values(damaged)][number]
        holder[key] = odd
        write_json(tmp_path / "damaged.json", damaged)
        try:
            loaded = Explanation.load(tmp_path / "damaged.json")
        except UserError as error:
            refused.append(str(error))
        else:
            assert loaded.sentences == [] or phrase_boxes(loaded.sentences[0])
            if loaded.lattice not in (None, LATTICE):
                assert len(drawings.lanes(loaded.lattice)) == len(drawings.draw_lattice(loaded.lattice)[1])
    assert len(refused) > 900 and all(message.startswith(f"{tmp_path}/damaged.json: ") for message in refused)


def alignment_files(folder: Path) -> dict:
    """What the page of alignments is made of."""
    for name, lines in CASES["alignment"].items():
        write_lines(folder / name, lines)
    files = {"sources": [folder / "en"], "targets": [folder / "fr"], "output": folder / "page.html"}
    files |= {name: folder / name for name in ("forward", "backward")}
    return files | {"heuristic": "intersection", "pairs": 4, "seed": 1, "languages": LANGUAGES}


def test_the_page_of_alignments(tmp_path: Path) -> None:
    files = alignment_files(tmp_path)
    drawings.show_alignments(**files, gold=[tmp_path / "gold"])
    page = (tmp_path / "page.html").read_text()
    assert page.count("<svg") == 1 and "<h2>Sentence pair 2</h2>" in page and "'e</text>" in page
    groups = [group for group in drawn(page).iter(f"{SVG}g") if str(group.get("id")).startswith("PathCollection")]
    uses = [len(group.findall(f".//{SVG}use")) or len(group.findall(f"{SVG}path")) for group in groups]
    assert uses == [5, 3, 2], "gold, kept, of one direction"
    drawings.show_alignments(**files)
    assert "PathCollection_3" not in (tmp_path / "page.html").read_text()


def test_alignments_must_fit_their_text(tmp_path: Path) -> None:
    files = alignment_files(tmp_path)
    write_lines(tmp_path / "gold", ["0-0"])
    check_refused(["gold", "1", "3"], drawings.show_alignments, **files, gold=[tmp_path / "gold"])
    write_lines(tmp_path / "forward", ["0-0", "0-5", "0-0"])
    check_refused(["forward", "line 2", "0-5"], drawings.show_alignments, **files)
    assert not (tmp_path / "page.html").exists()
