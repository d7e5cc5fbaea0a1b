"""What rules build with: words of two languages, tied by the keys they share; the tables of words; ordinary text.

A rule gives every concept it expresses a fresh key and marks the words of both sides with it. Wherever the words end
up, in whatever order and form, source word i and target word j are aligned exactly when they share a key: the gold
alignment of a sentence falls out of its derivation.
"""

import csv
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

WORDS = Path(__file__).with_name("words")
"""The folder of the tables: tab-separated, a header first, French with a space after an elided word (``l' eau``)."""


@cache
def read_table(name: str) -> tuple[dict[str, str], ...]:
    """The rows of a table in ``words``, each column -> text."""
    with open(WORDS / name, encoding="utf-8", newline="") as stream:
        return tuple(csv.DictReader(stream, delimiter="\t", restval="", quoting=csv.QUOTE_NONE))


@cache
def expressions(kind: str) -> tuple[tuple[str, str], ...]:
    """The (English, French) expressions of a kind, in the order of their table, the likelier first."""
    return tuple((row["english"], row["french"]) for row in read_table("expressions.tsv") if row["kind"] == kind)


@cache
def word_list(kind: str) -> tuple[str, ...]:
    """The words of a kind, such as ``surname`` or ``stative verb``, in the order of their table."""
    return tuple(row["word"] for row in read_table("lists.tsv") if row["kind"] == kind)


@cache
def mapping(kind: str) -> dict[str, str]:
    """What forms of a kind become, such as ``shortened``, in the order of their table."""
    return {row["form"]: row["becomes"] for row in read_table("forms.tsv") if row["kind"] == kind}


class Word(NamedTuple):
    """A token and the keys of the concepts it expresses.

    ``form`` may hold two forms, ``before_consonant|before_vowel`` (``de|d'``, ``a|an``), until the sentence is whole.
    """

    form: str
    keys: tuple[int, ...] = ()


Words = tuple[Word, ...]


class Pair(NamedTuple):
    """The two sides of one constituent; constituents are added in the same order on both sides."""

    source: Words
    target: Words

    def __add__(self, other: "Pair") -> "Pair":  # type: ignore[override]  # joins what the pairs hold
        return Pair(self.source + other.source, self.target + other.target)


NOTHING = Pair((), ())


def words(text: str, *keys: int) -> Words:
    """The space-separated tokens of ``text``, each with all of ``keys``."""
    return tuple([Word(form, keys) for form in text.split()])


def write(tokens: Sequence[str], language: str) -> str:
    """Join tokens as ``en`` or ``fr`` prints them: the inverse of the tokeniser on what the grammar says.

    English clitics and closing punctuation lean on the word before (``it`` ``'s`` ``.``), French elided words on the
    word after (``l'`` ``eau``); French sets a space before ``?``, ``!``, ``:`` and ``%``, English does not.
    """
    text = ""
    for token in tokens:
        if language == "en":
            leans = token[0] in ".,)?!:%'"
        else:
            leans = token in (".", ",", ")") or text.endswith("'")
        text += token if leans or not text else f" {token}"
    return text
