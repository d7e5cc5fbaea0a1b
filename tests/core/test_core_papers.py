"""The experiments of the papers' size beside the papers' figures, and what the docs quote beside the papers' texts."""

import re
from functools import reduce
from operator import getitem
from pathlib import Path

import pytest

from neural_smt.experiment.configuration import complete
from neural_smt.io.files import read_yaml

FIGURES = read_yaml(Path(__file__).with_name("papers.yaml"))
PAGE = "docs/fidelity.md"
TITLES = {"cho2014": "Cho", "auli2013": "Auli", "mi2016": "Mi"}


def letters(text: str) -> str:
    """Letters and digits alone: the texts were taken from pages, with blanks and hyphens of their own."""
    return re.sub(r"[^a-z0-9]", "", text.lower())


@pytest.mark.parametrize(("paper", "says", "experiment", "settings"), FIGURES)
def test_what_a_paper_says_is_set(paper: str, says: str, experiment: str, settings: dict, repository: Path) -> None:
    config = complete(read_yaml(repository / "experiments" / f"{experiment}.yaml"))
    assert {path: reduce(getitem, path.split("."), config) for path in settings} == settings
    section = (repository / PAGE).read_text(encoding="utf-8").partition(f"## {TITLES[paper]}")[2].partition("\n## ")[0]
    assert f'"{says}"' in section, "what is checked is told"


@pytest.mark.parametrize("paper", TITLES)
def test_quotations_are_the_papers(paper: str, repository: Path, shared: Path) -> None:
    section = (repository / PAGE).read_text(encoding="utf-8").partition(f"## {TITLES[paper]}")[2].partition("\n## ")[0]
    rows = [line.split(" | ")[0] for line in section.splitlines() if line.startswith("| ")]
    quoted = [quotation for row in rows for quotation in re.findall(r'"([^"]+)"', row)]
    text = letters("".join(path.read_text(encoding="utf-8") for path in sorted((shared / "papers").glob(f"{paper}*"))))
    assert len(quoted) > 9 and [quotation for quotation in quoted if letters(quotation) not in text] == []
