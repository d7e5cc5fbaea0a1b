"""The languages that sacremoses tokenises, and which of two a text looks like."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

from neural_smt.errors import UserError

# fmt: off
LANGUAGES = frozenset((
    "as", "bn", "ca", "cs", "de", "el", "en", "es", "et", "fi", "fr", "ga", "gu", "hi", "hu", "is", "it", "ja", "kn",
    "ko", "lt", "lv", "ml", "mni", "mr", "nl", "or", "pa", "pl", "pt", "ro", "ru", "sk", "sl", "sv", "ta", "tdt", "te",
    "yue", "zh",
))
# fmt: on
"""Codes of languages that sacremoses has rules for; any other it would silently take for a kind of English."""

UNSPACED = frozenset(("ja", "yue", "zh"))
"""Of these, languages that are written without spaces: sacremoses does not find their words."""

_WORDS = {
    "ca": "el els i una per amb que del és les va són",
    "cs": "a se na je že v s pro jsou nebo si by",
    "de": "der die und das ist nicht ein den von mit eine zu sie auf für",
    "en": "the of and to in is that for with are was this on by",
    "es": "el los las y una por con para del que es se un",
    "et": "ja on ei et see oli kui ning mis selle",
    "fi": "ja on ei että se oli ovat joka mutta myös tai",
    "fr": "le la les et des est une dans pour que du pas en un",
    "ga": "agus an na ar is i le go bhí tá ag",
    "hu": "a az és hogy nem egy is van meg csak",
    "is": "og að er í á sem ekki það við um",
    "it": "il di che gli della per non una sono con del è un",
    "lt": "ir yra kad su iš bet ar į tai kaip",
    "lv": "un ir ar no par kas uz nav tas lai",
    "nl": "de het een van en niet op zijn met voor dat is",
    "pl": "i w nie na się z do jest że to jak o",
    "pt": "o os não uma do da em para com são é um",
    "ro": "și în de la nu cu pe care este o un să",
    "sk": "a sa na je že v s pre sú alebo si by",
    "sl": "in je se na da za ki so ni pa ali",
    "sv": "och att det som en på är för inte den av ett",
    "tdt": "no iha ba ne'e sira la nia hodi husi",
}
"""Some of the most frequent words of languages in Latin script."""

_SCRIPTS = {
    "as": "BENGALI",
    "bn": "BENGALI",
    "el": "GREEK",
    "gu": "GUJARATI",
    "hi": "DEVANAGARI",
    "ja": "CJK HIRAGANA KATAKANA",
    "kn": "KANNADA",
    "ko": "HANGUL",
    "ml": "MALAYALAM",
    "mni": "BENGALI MEETEI",
    "mr": "DEVANAGARI",
    "or": "ORIYA",
    "pa": "GURMUKHI",
    "ru": "CYRILLIC",
    "ta": "TAMIL",
    "te": "TELUGU",
    "yue": "CJK",
    "zh": "CJK",
}
"""Scripts as Unicode's names of letters begin; languages that are not here are written in Latin."""

ENOUGH = 100
"""Letters, or frequent words, that an opinion about a text needs."""

CLEARLY = 5
"""Times as many of them as speak for the other language."""


def check_language(code: str, setting: str) -> None:
    """Raise ``UserError``, naming the setting that gave the code, for a language that sacremoses has no rules for."""
    if code not in LANGUAGES:
        raise UserError(
            f"{setting}: sacremoses does not tokenise '{code}'; it knows {', '.join(sorted(LANGUAGES))}; "
            "split the text into words yourself and say that it is tokenised"
        )


class LanguageClues:
    """Letters and words of a text, as far as they tell languages apart."""

    def __init__(self) -> None:
        self.words: Counter[str] = Counter()

    def add(self, line: str) -> None:
        """Count a line."""
        self.words.update(re.findall(r"[^\W\d_]+(?:'\w+)?", line.lower()))

    def favours(self, other: str, own: str) -> bool:
        """Whether the text clearly looks like the language ``other`` and not like ``own``; False in doubt."""
        if not {other, own} <= LANGUAGES:
            return False
        scripts = [set(_SCRIPTS.get(language, "LATIN").split()) for language in (other, own)]
        if not scripts[0] & scripts[1]:
            counts = self._letters()
            return _clearly(*(sum(counts[script] for script in scripts_of) for scripts_of in scripts))
        if other in _WORDS and own in _WORDS:
            words = [set(_WORDS[language].split()) for language in (other, own)]
            return _clearly(self._count(words[0] - words[1]), self._count(words[1] - words[0]))
        return False

    def _count(self, words: Iterable[str]) -> int:
        return sum(self.words[word] for word in words)

    def _letters(self) -> Counter[str]:
        letters: Counter[str] = Counter()
        for word, count in self.words.items():
            for letter in word:
                letters[letter] += count
        scripts: Counter[str] = Counter()
        for letter, count in letters.items():
            scripts[unicodedata.name(letter, "").partition(" ")[0]] += count
        return scripts


def _clearly(other: int, own: int) -> bool:
    return other >= ENOUGH and other > CLEARLY * own
