"""The page of translations side by side."""

import re
from dataclasses import asdict
from pathlib import Path

import numpy as np
from refusals import check_refused

from neural_smt.io.files import read_json, write_json, write_lines
from neural_smt.report import translations
from neural_smt.report.translations import Explained, Explanation, mark_differences, show_translations


def test_words_that_differ_from_reference_and_baseline_are_marked() -> None:
    assert mark_differences("le chat noir dort", "le chat blanc dort") == [("", "le chat"), ("r", "noir"), ("", "dort")]
    assert mark_differences("", "a") == []
    assert mark_differences("a b c d", "a x c d", "a b y z") == [("", "a"), ("r", "b"), ("b", "c d")]
    assert mark_differences("q r", "a", "a") == [("r b", "q r")]


def test_a_word_is_held_to_the_longest_common_order() -> None:
    assert translations.differing("a b a", "b a") == [True, False, False]
    assert translations.differing("b a", "a b").count(True) == 1


def test_lines_are_drawn_where_systems_differ() -> None:
    first, second = ["same", "one", "same", "three"], ["same", "two", "same", "four"]
    assert translations.choose([first, second], 5, np.random.default_rng(1)) == [1, 3]
    of_one = translations.choose([first], 3, np.random.default_rng(1))
    assert of_one == sorted({*of_one} & {*range(4)}) and of_one[2:], "three of the four"
    twice = [translations.choose([list("abcdefgh"), list("ABCDEFGH")], 3, np.random.default_rng(7)) for _ in range(2)]
    assert twice[0] == twice[1]


def test_the_sentence_that_is_drawn_has_about_nine_words(tmp_path: Path) -> None:
    write_lines(tmp_path / "source", ["", "a " * 20, "a " * 8, "a " * 9])
    write_lines(tmp_path / "one", list("abcd"))
    write_lines(tmp_path / "two", list("ABCd"))
    systems = {name: str(tmp_path / name) for name in ("one", "two")}
    files = {"source": tmp_path / "source", "output": tmp_path / "chosen.json", "systems": systems}
    translations.choose_sentences(**files, sentences=9, seed=1)
    assert read_json(tmp_path / "chosen.json") == {"sentences": [0, 1, 2], "drawn": 2}
    write_lines(tmp_path / "source", [""] * 4)
    translations.choose_sentences(**files, sentences=9, seed=1)
    assert read_json(tmp_path / "chosen.json") == {"sentences": [0, 1, 2], "drawn": None}


def test_phrases_are_shown_with_the_words_they_translate() -> None:
    phrases = Explained(["the", "<b>", "c"], ["la", "C"], [[2, 3, 0, 1], [0, 2, 1, 2]], [])
    shown = [tuple(box.values()) for box in translations.phrase_boxes(phrases)]
    assert shown == [("la", "3 c"), ("C", "1\u20132 the <b>")]
    network = Explained(["a", "b"], ["x", "y"], links=[[1, 0]])
    assert [tuple(box.values()) for box in translations.phrase_boxes(network)] == [("x", "2 b"), ("y", "no word")]
    assert translations.phrase_boxes(Explained([], [])) == []


def test_page_shows_source_reference_and_systems(tmp_path: Path) -> None:
    texts = {"source": "the <cat>\nyes", "reference": "le chat\noui", "first": "le chien\noui"}
    for name, text in (texts | {"second": texts["reference"]}).items():
        (tmp_path / name).write_text(f"{text}\n")
    write_json(tmp_path / "chosen.json", {"sentences": [0], "drawn": 0})
    explained = Explained(["the", "<cat>"], ["le", "chien"], [[0, 2, 0, 2]])
    write_json(tmp_path / "first.json", asdict(Explanation([explained])))
    arguments = {name: tmp_path / name for name in ("source", "reference")}
    arguments |= {"chosen": tmp_path / "chosen.json", "output": tmp_path / "page.html"}
    show_translations(
        **arguments,
        systems={"A & B": str(tmp_path / "first"), "C": str(tmp_path / "second")},
        explanations={"A & B": str(tmp_path / "first.json")},
        languages={"source": 'e"n', "target": "fr"},
    )
    page = (tmp_path / "page.html").read_text()
    assert page.count("<article>") == 1 and page.count('<ol class="phrases"') == 1
    assert '<p lang="e&#34;n">the &lt;cat&gt;</p>' in page and "A &amp; B" in page
    assert '<p lang="fr">le <span class="r">chien</span></p>' in page
    assert '<p lang="fr">le <span class="b">chat</span></p>' in page
    write_json(tmp_path / "chosen.json", {"sentences": [], "drawn": None})
    explained = {"systems": {}, "explanations": {"A": str(tmp_path / "first.json")}}
    check_refused(["first.json", 1, "chosen.json", 0], show_translations, **arguments, **explained)
    write_lines(tmp_path / "first", ["le chien"])
    check_refused(["first", "1", "source", "2"], show_translations, **arguments, systems={"A": str(tmp_path / "first")})
    # many systems are not shown all at once
    write_json(tmp_path / "chosen.json", {"sentences": [0], "drawn": 0})
    show_translations(**arguments, systems={f"n{number}": str(tmp_path / "second") for number in range(10)})
    page = (tmp_path / "page.html").read_text()
    assert page.count(" checked>") == 8 and len(re.findall(r'data-show="\d+">', page)) == 2
    assert re.findall(r'data-system="(\d)" hidden', page) == ["8", "9"]
