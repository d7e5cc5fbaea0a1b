"""The material rules build with: words of two languages, tied by the keys they share.

A rule gives every concept it expresses a fresh key and marks the words of both sides with it. Wherever the words end
up, in whatever order and form, source word i and target word j are aligned exactly when they share a key: the gold
alignment of a sentence falls out of its derivation.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple


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
    """The sentence with a capital first letter."""
    first = sentence[0]
    return (first._replace(form=first.form[:1].upper() + first.form[1:]), *sentence[1:])
