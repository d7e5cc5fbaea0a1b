"""The languages that sacremoses tokenises, German and others among them, and telling them apart."""

import pytest
from sacremoses.corpus import NonbreakingPrefixes

from neural_smt.corpus.languages import LANGUAGES, LanguageClues

GERMAN = "Die Frau und der Hund sind nicht in der Stadt, und das ist für den Mann eine Freude."
ENGLISH = "The woman and the dog are not in the town, and that is for the man to be happy about."
RUSSIAN = "Мальчик читает книгу, а девочка пишет письмо своей бабушке в деревню."


def clues(line: str, times: int = 60) -> LanguageClues:
    found = LanguageClues()
    for _ in range(times):
        found.add(line)
    return found


def test_the_languages_are_those_of_sacremoses() -> None:
    # of Japanese and Korean it has no abbreviations, but knows their letters
    assert set(NonbreakingPrefixes().available_langs.values()) | {"ja", "ko"} == LANGUAGES


@pytest.mark.parametrize(
    ("line", "other", "own", "favoured"),
    [
        (GERMAN, "de", "en", True),
        (GERMAN, "en", "de", False),
        (ENGLISH, "en", "de", True),
        (ENGLISH, "de", "en", False),
        (RUSSIAN, "ru", "en", True),
        (RUSSIAN, "en", "ru", False),
        (ENGLISH, "en", "ru", True),
        # nothing is known that tells these apart
        (RUSSIAN, "ru", "uk", False),
        ("12 + 13 = 25", "de", "en", False),
    ],
)
def test_texts_look_like_their_languages(line: str, other: str, own: str, favoured: bool) -> None:
    assert clues(line).favours(other, own) is favoured


def test_a_few_words_are_no_evidence() -> None:
    assert not clues(GERMAN, times=2).favours("de", "en")
    assert not clues(RUSSIAN, times=1).favours("ru", "en")
