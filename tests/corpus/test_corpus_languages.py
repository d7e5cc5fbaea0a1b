"""The languages that sacremoses tokenises, German and others among them, and telling them apart."""

import pytest
from sacremoses.corpus import NonbreakingPrefixes

from neural_smt.corpus.languages import LANGUAGES, LanguageClues, check_language
from neural_smt.corpus.tokenisation import tokenise_lines
from neural_smt.errors import UserError
from neural_smt.evaluation.scores import detokenise_lines

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


def test_a_language_that_is_not_known_is_named_with_those_that_are() -> None:
    with pytest.raises(
        UserError, match=r"^--source: sacremoses does not tokenise 'tlh'; it knows as, bn, ca, .*, zh; "
    ):
        check_language("tlh", "--source")
    check_language("ru", "--source")


@pytest.mark.parametrize(
    ("language", "text", "tokens"),
    [
        ("de", "Das ist z. B. Dr. Müllers Straße, am 5. Mai.", "Das ist z. B. Dr. Müllers Straße , am 5. Mai ."),
        ("de", "Es kostet 3,50 € (ungefähr)!", "Es kostet 3,50 € ( ungefähr ) !"),
        ("de", "„Öffnen“ und ‚Ändern‘", "&quot; Öffnen &quot; und &apos; Ändern &apos;"),
        ("ru", "Он сказал: «Да, конечно».", "Он сказал : &quot; Да , конечно &quot; ."),
        ("cs", "Kolik to stojí? 3,50 Kč.", "Kolik to stojí ? 3,50 Kč ."),
        ("el", "Τι κάνεις; Καλά.", "Τι κάνεις ; Καλά ."),
        ("hi", "यह एक किताब है।", "यह एक किताब है ।"),
    ],
)
def test_text_of_other_languages_becomes_words(language: str, text: str, tokens: str) -> None:
    assert tokenise_lines([text], language) == [tokens]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "Das ist z. B. Dr. Müllers Straße, Nr. 5."),
        ("de", 'Er rief: "Öffnen Sie die Tür!" und ging (langsam) fort.'),
        ("de", "Die Benutzer- und Gruppenverwaltung kostet 1.234,50 € im Jahr."),
        ("de", "Bei 5 € oder 3 £ und nicht für $7 oder €9 (plus 3 € (drei) Gebühr)."),
        ("fr", "Il paie 50 € par mois"),
        ("en", "It costs $5 a month, or £3."),
        ("ru", "Мальчик (7 лет) читает книгу, а девочка пишет письмо."),
        ("cs", "Kolik to stojí? Nevím, asi tři koruny."),
        ("el", "Τι κάνεις; Καλά, ευχαριστώ!"),
    ],
)
def test_words_become_the_text_again(language: str, text: str) -> None:
    assert detokenise_lines(tokenise_lines([text], language), language) == [text]


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
