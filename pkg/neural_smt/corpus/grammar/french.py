"""French forms: conjugation, agreement, contraction and elision.

Persons are numbered 0 to 5: je, tu, il/elle, nous, vous, ils/elles.
"""

from functools import cache
from typing import NamedTuple

from neural_smt.corpus.grammar.fragments import Word, Words, mapping, read_table, word_list


class Paradigm(NamedTuple):
    """What the forms of a verb are made from."""

    present: tuple[str, ...]
    imperfect_stem: str
    future_stem: str
    participle: str


_STRONG_E = ("lever", "mener", "acheter", "peser", "geler", "semer")
_DOUBLED = ("appeler", "jeter", "rappeler", "rejeter", "renouveler", "projeter")

ETRE_VERBS = frozenset(word_list("être verb"))
"""Verbs whose compound tenses take être: their participle agrees with the subject."""


def _irregular() -> dict[str, Paradigm]:
    table = {}
    for row in read_table("french_verbs.tsv"):
        forms = tuple(row["present"].split())
        table[row["infinitive"]] = Paradigm(forms, forms[3].removesuffix("ons"), row["future_stem"], row["participle"])
    table["être"] = table["être"]._replace(imperfect_stem="ét")
    return table


_IRREGULAR = _irregular()
_BY_LENGTH = sorted(_IRREGULAR, key=len, reverse=True)
_WHOLE_ONLY = frozenset(("être", "avoir", "aller", "rire", "lire", "naître"))
"""Patterns too short to be taken for the ending of another verb."""


@cache
def paradigm(infinitive: str) -> Paradigm:
    """The paradigm of a verb: irregular by its longest known ending, else of the -er, -ir (finir) or -re class."""
    for pattern in _BY_LENGTH:
        if infinitive == pattern or (infinitive.endswith(pattern) and pattern not in _WHOLE_ONLY):
            prefix = infinitive.removesuffix(pattern)
            base = _IRREGULAR[pattern]
            return Paradigm(
                tuple(prefix + form for form in base.present),
                prefix + base.imperfect_stem,
                prefix + base.future_stem,
                prefix + base.participle,
            )
    if infinitive.endswith("er"):
        return _first_group(infinitive)
    stem = infinitive[:-2]
    if infinitive.endswith("ir"):
        endings = ("is", "is", "it", "issons", "issez", "issent")
        return Paradigm(tuple(stem + ending for ending in endings), stem + "iss", infinitive, stem + "i")
    endings = ("s", "s", "", "ons", "ez", "ent")
    return Paradigm(tuple(stem + ending for ending in endings), stem, stem + "r", stem + "u")


def _first_group(infinitive: str) -> Paradigm:
    weak = strong = infinitive[:-2]
    closed = len(weak) > 2 and weak[-2] == "é" and weak[-1] not in "aeiouy"
    if closed or infinitive.endswith(_STRONG_E):
        strong = f"{weak[:-2]}è{weak[-1]}"
    elif infinitive in _DOUBLED:
        strong = weak + weak[-1]
    elif infinitive.endswith(("oyer", "uyer")):
        strong = f"{weak[:-1]}i"
    future = infinitive if closed else f"{strong}er"
    broad = {"g": f"{weak}e", "c": f"{weak[:-1]}ç"}.get(weak[-1], weak)
    present = (f"{strong}e", f"{strong}es", f"{strong}e", f"{broad}ons", f"{weak}ez", f"{strong}ent")
    return Paradigm(present, broad, future, f"{weak}é")


_IMPERFECT = ("ais", "ais", "ait", "ions", "iez", "aient")
_FUTURE = ("ai", "as", "a", "ons", "ez", "ont")


@cache
def conjugate(infinitive: str, mood: str, person: int) -> str:
    """The form of a verb in a simple tense: mood ``present``, ``imperfect``, ``future`` or ``conditional``."""
    forms = paradigm(infinitive)
    if mood == "present":
        return forms.present[person]
    if mood == "future":
        return forms.future_stem + _FUTURE[person]
    if mood == "conditional":
        return forms.future_stem + _IMPERFECT[person]
    stem = forms.imperfect_stem
    if person in (3, 4):  # mangeais but mangions, commençais but commencions
        stem = f"{stem[:-1]}c" if stem.endswith("ç") else stem.removesuffix("e") if stem.endswith("ge") else stem
    return stem + _IMPERFECT[person]


def participle(infinitive: str, feminine: bool = False, plural: bool = False) -> str:
    """The past participle, agreeing."""
    form = paradigm(infinitive).participle
    if form == "dû" and (feminine or plural):
        form = "du"
    form = f"{form}e" if feminine else form
    return _add_s(form) if plural else form


def _add_s(form: str) -> str:
    return form if form.endswith(("s", "x", "z")) else f"{form}s"


def pluralise(noun: str) -> str:
    """The regular plural of a noun or masculine adjective."""
    if noun.endswith("al"):
        return f"{noun[:-1]}ux"
    if noun.endswith(("eau", "eu")):
        return f"{noun}x"
    return _add_s(noun)


def feminise(adjective: str) -> str:
    """The regular feminine singular of an adjective."""
    for ending, feminine in mapping("feminine ending").items():
        if adjective.endswith(ending):
            return adjective.removesuffix(ending) + feminine
    return f"{adjective}e"


_ASPIRATED = ("haut-parleur", "hausse", "haut", "héros", "honte", "huit", "onze", "hasard", "handicap", "hors")


@cache
def vowel_sound(form: str) -> bool:
    """Whether a French word makes the word before it elide (its h is mute, unless it is listed as aspirated)."""
    lowered = form.lower()
    return lowered[0] in "aeiouhàâéèêëîïôœ" and not lowered.startswith(_ASPIRATED)


LE, LA, LES = "le|l'", "la|l'", "les"
DE, QUE, NE = "de|d'", "que|qu'", "ne|n'"
_ELIDABLE = {"de": DE, "que": QUE, "je": "je|j'"}

_CONTRACTED = {(DE, LE): "du", (DE, LES): "des", ("à", LE): "au", ("à", LES): "aux"}


def prepositional(preposition: Words, phrase: Words) -> Words:
    """A preposition before a noun phrase: ``de``/``à`` contract with ``le``/``les`` unless the article elides.

    ``de`` swallows a partitive or plural article (``beaucoup de`` + ``des livres``).
    """
    if not preposition or not phrase:
        return (*preposition, *phrase)
    last, article = preposition[-1], phrase[0]
    if last.form == DE and article.form in ("des", "du|de l'", "de la|de l'", DE):
        return (*preposition[:-1], Word(DE, (*last.keys, *article.keys)), *phrase[1:])
    contracted = _CONTRACTED.get((last.form, article.form))
    elides = article.form == LE and len(phrase) > 1 and vowel_sound(phrase[1].form)
    if contracted is None or elides:
        return (*preposition, *phrase)
    return (*preposition[:-1], Word(contracted, (*last.keys, *article.keys)), *phrase[1:])


def elidable(text: str, *keys: int) -> Words:
    """The words of ``text``, with ``de``, ``que`` and ``je`` ready to elide."""
    return tuple([Word(_ELIDABLE.get(form, form), keys) for form in text.split()])
