"""The languages that sacremoses tokenises, and which of two a text looks like."""

import csv
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from neural_smt.errors import UserError

with open(Path(__file__).with_name("languages.tsv"), encoding="utf-8", newline="") as _table:
    _ROWS = {row["code"]: row for row in csv.DictReader(_table, delimiter="\t", quoting=csv.QUOTE_NONE)}
"""Of each language: its scripts, as Unicode's names of letters begin; whether spaces separate words; for those in Latin
script, some of the most frequent words."""

LANGUAGES = frozenset(_ROWS)
"""Codes of languages that sacremoses has rules for; any other it would silently take for a kind of English."""

UNSPACED = frozenset(code for code, row in _ROWS.items() if row["spaces"] == "no")
"""Of these, languages that are written without spaces: sacremoses does not find their words."""

_UNSPLIT = re.compile("[\u3041-\u309f\u3400-\u9fff\uf900-\ufaff]{5,}|[\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff]{11,}")
"""Longer than words are: of hiragana and Chinese characters; of Thai, Lao, Burmese and Khmer letters. Words in katakana
are of any length.
"""

_COMPARED = ("scripts", "frequent_words")

ENOUGH = 100
"""Letters, or frequent words, that an opinion about a text needs."""

CLEARLY = 5
"""Times as many of them as speak for the other language."""


def check_language(code: str, setting: str) -> None:
    """Raise ``UserError``, naming the setting that gave the code, for a language that sacremoses has no rules for."""
    if code not in LANGUAGES:
        raise UserError(
            f"{setting}: sacremoses does not tokenise '{code}'; it knows {', '.join(sorted(LANGUAGES))}; "
            "split the text into words and say --tokenised, or set tokenised: true"
        )


def count_unsplit(text: str) -> int:
    """Characters that stand in runs longer than words of scripts that are written without spaces."""
    return 0 if text.isascii() else sum(map(len, _UNSPLIT.findall(text)))


def check_split(path: Path, unsplit: int, characters: int) -> None:
    """Raise ``UserError`` where most of a text is not split into words; unsplit: as ``count_unsplit`` counts."""
    if 2 * unsplit > characters:
        raise UserError(
            f"{path}: written without spaces, and sacremoses does not find the words of its script; "
            "split it into words first"
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
        scripts, words = ([set(_ROWS[code][column].split()) for code in (other, own)] for column in _COMPARED)
        if not scripts[0] & scripts[1]:
            counts = self._letters()
            return _clearly(*(sum(counts[script] for script in of_one) for of_one in scripts))
        return all(words) and _clearly(self._count(words[0] - words[1]), self._count(words[1] - words[0]))

    def _count(self, words: Iterable[str]) -> int:
        return sum(self.words[word] for word in words)

    def _letters(self) -> Counter[str]:
        scripts: Counter[str] = Counter()
        for word, count in self.words.items():
            for letter in word:
                scripts[unicodedata.name(letter, "").partition(" ")[0]] += count
        return scripts


def _clearly(other: int, own: int) -> bool:
    return other >= ENOUGH and other > CLEARLY * own
