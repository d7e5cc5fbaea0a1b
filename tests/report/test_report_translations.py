"""The page of translations side by side."""

from pathlib import Path

import numpy as np
import pytest

from neural_smt.errors import UserError
from neural_smt.files import write_lines
from neural_smt.report.steps import show_translations
from neural_smt.report.translations import choose, mark_differences


def test_words_that_differ_from_the_reference_are_marked() -> None:
    assert mark_differences("le chat noir dort", "le chat blanc dort") == "le chat <mark>noir</mark> dort"
    assert mark_differences("a < b", "a < c") == "a &lt; <mark>b</mark>"
    assert mark_differences("", "a") == ""


def test_lines_are_drawn_where_systems_differ() -> None:
    first, second = ["same", "one", "same", "three"], ["same", "two", "same", "four"]
    assert choose([first, second], 5, np.random.default_rng(1)) == [1, 3]
    assert len(choose([first], 3, np.random.default_rng(1))) == 3
    twice = [choose([list("abcdefgh"), list("ABCDEFGH")], 3, np.random.default_rng(7)) for _ in range(2)]
    assert twice[0] == twice[1]


def test_page_shows_source_reference_and_systems(tmp_path: Path) -> None:
    for name, lines in {
        "source": ["the <cat>", "yes"],
        "reference": ["le chat", "oui"],
        "first": ["le chien", "oui"],
        "second": ["le chat", "oui"],
    }.items():
        write_lines(tmp_path / name, lines)
    arguments = {
        "source": tmp_path / "source",
        "reference": tmp_path / "reference",
        "sentences": 5,
        "seed": 1,
        "output": tmp_path / "page.html",
    }
    show_translations(**arguments, systems={"A & B": str(tmp_path / "first"), "C": str(tmp_path / "second")})
    page = (tmp_path / "page.html").read_text()
    assert page.count("<table>") == 1
    assert "the &lt;cat&gt;" in page and "A &amp; B" in page
    assert "le <mark>chien</mark>" in page and "<td>le chat</td>" in page
    write_lines(tmp_path / "first", ["le chien"])
    with pytest.raises(UserError, match=r"first has 1 lines but .*source has 2"):
        show_translations(**arguments, systems={"A": str(tmp_path / "first")})
