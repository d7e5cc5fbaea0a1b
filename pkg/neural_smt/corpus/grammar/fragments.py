"""What rules build with: words of two languages, tied by the keys they share; the tables of words; ordinary text.

A rule gives every concept it expresses a fresh key and marks the words of both sides with it. Wherever the words end
up, in whatever order and form, source word i and target word j are aligned exactly when they share a key: the gold
alignment of a sentence falls out of its derivation.
"""

import csv
from collections.abc import Callable, Iterable, Sequence
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

    ``form`` may hold two forms, ``before_consonant|before_vowel`` (``de|d'``, ``a|an``), until ``resolve`` settles it.
    """

    form: str
    keys: tuple[int, ...] = ()


Words = tuple[Word, ...]


class Pair(NamedTuple):
    """The two sides of one constituent."""

    source: Words
    target: Words


NOTHING = Pair((), ())


def words(text: str, *keys: int) -> Words:
    """The space-separated tokens of ``text``, each with all of ``keys``."""
    return tuple([Word(form, keys) for form in text.split()])


def join(*pairs: Pair) -> Pair:
    """The constituents in the same order on both sides."""
    return Pair(
        tuple(word for pair in pairs for word in pair.source), tuple(word for pair in pairs for word in pair.target)
    )


def resolve(sentence: Iterable[Word], vowel_sound: Callable[[str], bool]) -> Words:
    """Choose between the two forms of each word by the sound that follows (a consonant where nothing follows)."""
    resolved: list[Word] = []
    following = ""
    for word in reversed(tuple(sentence)):
        if "|" in word.form:
            consonant, _, vowel = word.form.partition("|")
            word = Word(vowel if following and vowel_sound(following) else consonant, word.keys)
        resolved.append(word)
        following = word.form
    return tuple(reversed(resolved))


def links(source: Words, target: Words) -> list[tuple[int, int]]:
    """The aligned positions (source, target), 0-based, in order."""
    positions: dict[int, list[int]] = {}
    for j, word in enumerate(target):
        for key in word.keys:
            positions.setdefault(key, []).append(j)
    return sorted({(i, j) for i, word in enumerate(source) for key in word.keys for j in positions.get(key, ())})


def capitalise(sentence: Words) -> Words:
    """The sentence with a capital first letter, in both forms of the first word where it has two."""
    first = sentence[0]
    if "|" in first.form:
        form = "|".join(form.capitalize() for form in first.form.split("|"))
    else:
        form = first.form[:1].upper() + first.form[1:]
    return (first._replace(form=form), *sentence[1:])


def write(tokens: Sequence[str], language: str) -> str:
    """Join tokens as ``en`` or ``fr`` prints them: the inverse of the tokeniser on what the grammar says.

    English clitics and closing punctuation lean on the word before (``it`` ``'s`` ``.``), French elided words on the
    word after (``l'`` ``eau``); French sets a space before ``?``, ``!``, ``:`` and ``%``, English does not.
    """
    if language == "en":
        leans_left = [token[0] in ".,)?!:%'" for token in tokens]
        leans_right = [False] * len(tokens)
    else:
        leans_left = [token in (".", ",", ")") for token in tokens]
        leans_right = [token.endswith("'") for token in tokens]
    text = []
    for position, token in enumerate(tokens):
        if position and not leans_left[position] and not leans_right[position - 1]:
            text.append(" ")
        text.append(token)
    return "".join(text)
