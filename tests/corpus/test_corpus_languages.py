"""The languages that sacremoses tokenises, German and others among them, and telling them apart."""

from pathlib import Path

import pytest
import yaml
from sacremoses.corpus import NonbreakingPrefixes

from neural_smt.corpus.languages import LANGUAGES, LanguageClues

LINES = yaml.safe_load(Path(__file__).with_name("languages.yaml").read_text(encoding="utf-8"))


def clues(line: str, times: int = 60) -> LanguageClues:
    found = LanguageClues()
    for _ in range(times):
        found.add(line)
    return found


def test_the_languages_are_those_of_sacremoses() -> None:
    # of Japanese and Korean it has no abbreviations, but knows their letters
    assert set(NonbreakingPrefixes().available_langs.values()) | {"ja", "ko"} == LANGUAGES


@pytest.mark.parametrize(("line", "other", "own", "favoured"), LINES["favoured"])
def test_texts_look_like_their_languages(line: str, other: str, own: str, favoured: bool) -> None:
    assert clues(line).favours(other, own) is favoured


@pytest.mark.parametrize(("line", "times", "language"), LINES["doubtful"])
def test_a_few_words_are_no_evidence(line: str, times: int, language: str) -> None:
    assert not clues(line, times).favours(language, "en")
