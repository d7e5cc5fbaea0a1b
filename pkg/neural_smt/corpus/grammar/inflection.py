"""The forms of English and French words: plurals, agreement, conjugation, contraction, and what a vowel changes.

French persons are numbered 0 to 5: je, tu, il/elle, nous, vous, ils/elles.
"""

from functools import cache
from typing import NamedTuple

from neural_smt.corpus.grammar.fragments import Word, Words, mapping, read_table, word_list

_VOWELS = {"en": "aeiou", "fr": "aeiouhàâéèêëîïôœ"}
"""Of each language the letters that sound as vowels, but in words that the lists of its onsets except."""


@cache
def vowel_sound(form: str, language: str) -> bool:
    """Whether ``an`` rather than ``a`` stands before an English word, and a word elides before a French one."""
    lowered = form.lower()
    consonants, exceptions = word_list(f"{language} consonant onset"), word_list(f"{language} vowel onset")
    return (lowered[0] in _VOWELS[language] and not lowered.startswith(consonants)) or lowered.startswith(exceptions)


def resolve(sentence: Words, language: str) -> Words:
    """Choose between the two forms of each word by the sound that follows (a consonant where nothing follows)."""
    resolved: list[Word] = []
    following = ""
    for word in reversed(sentence):
        if "|" in word.form:
            consonant, _, vowel = word.form.partition("|")
            word = Word(vowel if following and vowel_sound(following, language) else consonant, word.keys)
        resolved.append(word)
        following = word.form
    return tuple(reversed(resolved))


class VerbForms(NamedTuple):
    """The principal parts of an English verb, without particle."""

    base: str
    past: str
    participle: str

    @property
    def third(self) -> str:
        """Third person singular present."""
        return mapping("third person").get(self.base) or english_plural(self.base)

    @property
    def gerund(self) -> str:
        """The -ing form."""
        base = self.base
        if base in _DOUBLING:
            return f"{base}{base[-1]}ing"
        if base.endswith("ie"):
            return f"{base[:-2]}ying"
        return f"{base if base.endswith(('ee', 'be', 'oe')) else base.removesuffix('e')}ing"


_DOUBLING = frozenset(word_list("doubling verb"))
"""Verbs that double their last consonant before -ed and -ing (British spelling)."""


def english_plural(noun: str) -> str:
    """The regular plural of an English noun."""
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{noun}es"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}s"


def verb_forms(entry: str) -> VerbForms:
    """Read ``write/wrote/written`` (irregular) or ``decide`` (regular)."""
    if "/" in entry:
        return VerbForms(*entry.split("/"))
    if entry in _DOUBLING:
        past = f"{entry}{entry[-1]}ed"
    elif entry.endswith("y") and entry[-2] not in "aeiou":
        past = f"{entry[:-1]}ied"
    else:
        past = f"{entry.removesuffix('e')}ed"
    return VerbForms(entry, past, past)


class Paradigm(NamedTuple):
    """What the forms of a French verb are made from."""

    present: tuple[str, ...]
    imperfect_stem: str
    future_stem: str
    participle: str


_STRONG_E, _DOUBLED = word_list("strong e verb"), word_list("doubling French verb")

_IRREGULAR = {
    row["infinitive"]: Paradigm(
        tuple(row["present"].split()),
        row["imperfect_stem"] or row["present"].split()[3].removesuffix("ons"),
        row["future_stem"],
        row["participle"],
    )
    for row in read_table("french_verbs.tsv")
}
_BY_LENGTH = sorted(_IRREGULAR, key=len, reverse=True)
_WHOLE_ONLY = frozenset(word_list("whole verb"))
"""Patterns too short to be taken for the ending of another verb."""


@cache
def paradigm(infinitive: str) -> Paradigm:
    """The paradigm of a verb: irregular by its longest known ending, else of the -er, -ir (finir) or -re class."""
    for pattern in _BY_LENGTH:
        if infinitive == pattern or (infinitive.endswith(pattern) and pattern not in _WHOLE_ONLY):
            prefix, (present, *stems) = infinitive.removesuffix(pattern), _IRREGULAR[pattern]
            return Paradigm(tuple(prefix + form for form in present), *(prefix + stem for stem in stems))
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
    if mood != "imperfect":
        return forms.future_stem + (_FUTURE if mood == "future" else _IMPERFECT)[person]
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


def french_plural(noun: str) -> str:
    """The regular plural of a French noun or masculine adjective."""
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


def adjective_forms(masculine: str) -> tuple[str, str, str, str]:
    """The regular forms of a French adjective: masculine, feminine, and their plurals."""
    feminine = feminise(masculine)
    return masculine, feminine, french_plural(masculine), f"{feminine}s"


LE, LA, LES = "le|l'", "la|l'", "les"
DE, QUE, NE = "de|d'", "que|qu'", "ne|n'"
_ELIDABLE = {"de": DE, "que": QUE, "je": "je|j'"}

_CONTRACTED = {(DE, LE): "du", (DE, LES): "des", ("à", LE): "au", ("à", LES): "aux"}
_CONTRACTED |= {(DE, article): DE for article in ("des", "du|de l'", "de la|de l'", DE)}


def prepositional(preposition: Words, phrase: Words) -> Words:
    """A preposition before a noun phrase: ``de``/``à`` contract with ``le``/``les`` unless the article elides.

    ``de`` swallows a partitive or plural article (``beaucoup de`` + ``des livres``).
    """
    if not preposition or not phrase:
        return preposition + phrase
    last, article = preposition[-1], phrase[0]
    contracted = _CONTRACTED.get((last.form, article.form))
    elides = article.form == LE and len(phrase) > 1 and vowel_sound(phrase[1].form, "fr")
    if contracted is None or elides:
        return preposition + phrase
    return (*preposition[:-1], Word(contracted, last.keys + article.keys), *phrase[1:])


def elidable(text: str, *keys: int) -> Words:
    """The words of ``text``, with ``de``, ``que`` and ``je`` ready to elide."""
    return tuple([Word(_ELIDABLE.get(form, form), keys) for form in text.split()])
