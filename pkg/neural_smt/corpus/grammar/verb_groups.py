"""Verb groups: auxiliaries, negation, passive, modals and clitics, in the order each language wants."""

from dataclasses import dataclass
from typing import NamedTuple

from neural_smt.corpus.grammar.fragments import Word, Words, expressions, mapping, read_table, words
from neural_smt.corpus.grammar.french import NE, conjugate, participle
from neural_smt.corpus.grammar.lexicon import Verb

TENSES = {row["tense"]: row for row in read_table("tenses.tsv")}
"""Of each tense: the ``time`` its adverbs are of, the ``mood`` of the French verb, or of its ``auxiliary``."""

MODALS = expressions("modal")
"""English modal, French verb and its mood."""


@dataclass(frozen=True)
class Group:
    """The choices that shape a verb group."""

    verb: Verb
    key: int
    tense: str  # a key of TENSES
    negation: tuple[str, str] | None = None
    negation_key: int = 0
    modal: tuple[str, str] | None = None
    modal_key: int = 0
    passive: bool = False
    contracted: bool = False


def _be(tense: str, person: int) -> str:
    if tense in ("past", "imperfect", "past_progressive"):
        return "was" if person in (0, 2) else "were"
    return "am" if person == 0 else "is" if person == 2 else "are"


class EnglishGroup(NamedTuple):
    """Finite verb (empty when the main verb is the finite one), middle auxiliaries, main verb."""

    finite: str
    middle: str
    main: str


def english_group(group: Group, person: int, supported: bool) -> EnglishGroup:
    """The forms of an English verb group; ``supported``: a question or ``not`` calls for ``do``."""
    forms, third, be = group.verb.forms, person == 2, _be(group.tense, person)
    # what the auxiliaries govern: the verb, or be in the passive
    base, perfect, progressive = (
        ("be", "been", "being") if group.passive else (forms.base, forms.participle, forms.gerund)
    )
    auxiliaries = {
        "modal": (group.modal[0] if group.modal else "", base),
        "future": ("will", base),
        "conditional": ("would", base),
        "perfect": ("has" if third else "have", perfect),
        "pluperfect": ("had", perfect),
        "progressive": (be, progressive),
        "past_progressive": (be, progressive),
    }
    if group.tense in auxiliaries:
        finite, governed = auxiliaries[group.tense]
        return EnglishGroup(finite, governed if group.passive else "", forms.participle if group.passive else governed)
    if base == "be":
        return EnglishGroup(be, "", forms.participle if group.passive else "")
    if group.tense in ("past", "imperfect"):
        return EnglishGroup("did", "", base) if supported else EnglishGroup("", "", forms.past)
    if supported:
        return EnglishGroup("does" if third else "do", "", base)
    return EnglishGroup("", "", forms.third if third else base)


class FrenchGroup(NamedTuple):
    """Finite verb, the participles after it, and the infinitive clitics attach to (modals only)."""

    finite: str
    participles: str
    infinitive: str


def french_group(
    group: Group, person: int, agreement: tuple[bool, bool], object_agreement: tuple[bool, bool] | None
) -> FrenchGroup:
    """The forms of a French verb group.

    ``agreement``: (feminine, plural) of the subject, for être and the passive; ``object_agreement``: that of a direct
    object standing before the verb, for avoir.
    """
    verb = group.verb
    passive = participle(verb.french, *agreement) if group.passive else ""
    if group.modal is not None and group.tense == "modal":
        infinitive = f"être {passive}" if passive else verb.french
        return FrenchGroup(conjugate(*group.modal[1].split(), person), "", infinitive)
    mood = TENSES[group.tense]["mood"]
    if not TENSES[group.tense]["auxiliary"]:
        return FrenchGroup(conjugate("être" if passive else verb.french, mood, person), passive, "")
    if passive:
        auxiliary, participles = "avoir", f"été {passive}"
    elif verb.takes_etre:
        auxiliary, participles = "être", participle(verb.french, *agreement)
    else:
        auxiliary, participles = "avoir", participle(verb.french, *(object_agreement or (False, False)))
    return FrenchGroup(conjugate(auxiliary, mood, person), participles, "")


REFLEXIVES = ("me|m'", "te|t'", "se|s'", "nous", "vous", "se|s'")
_CLITIC_ORDER = ("me|m'", "te|t'", "se|s'", "nous", "vous"), ("le|l'", "la|l'", "les"), ("lui", "leur"), ("y",), ("en",)
_CLITIC_RANKS = {form: rank for rank, forms in enumerate(_CLITIC_ORDER) for form in forms}


def order_clitics(clitics: Words) -> Words:
    """Clitics in the order French wants before the verb: me te se nous vous, le la les, lui leur, y, en."""
    return tuple(sorted(clitics, key=lambda word: _CLITIC_RANKS[word.form]))


def negate_english(group: Group, finite: str) -> tuple[Words, bool]:
    """The finite auxiliary with its negation, and whether the negation found a place there."""
    keys = (group.modal_key,) if group.tense == "modal" else (group.key,)
    auxiliary = words(finite, *keys)
    if group.negation is None or not finite:
        return auxiliary, False
    if group.negation[0] == "not" and group.contracted:
        stem = mapping("before 't").get(finite, f"{finite}n")
        if stem:
            return (*words(stem, *keys), Word("'t", (group.negation_key,))), True
    return (*auxiliary, *words(group.negation[0], group.negation_key)), True


def shorten(auxiliary: Words) -> Words:
    """``'s``, ``'ll`` ... for a finite auxiliary after a pronoun."""
    short = mapping("shortened").get(auxiliary[0].form)
    return (auxiliary[0]._replace(form=short), *auxiliary[1:]) if short else auxiliary


def french_core(group: Group, forms: FrenchGroup, clitics: Words, middle: Words) -> Words:
    """Everything from ``ne`` to the last participle or infinitive; ``middle``: an adverb after the finite verb."""
    clitics = order_clitics(clitics)
    own = group.verb.french_fixed
    finite_key = group.modal_key if forms.infinitive else group.key
    opening = words(NE, group.negation_key) if group.negation else ()
    second = words(group.negation[1], group.negation_key) if group.negation else ()
    finite = words(forms.finite, finite_key)
    if forms.infinitive:
        return (*opening, *finite, *second, *middle, *clitics, *words(f"{forms.infinitive} {own}", group.key))
    return (*opening, *clitics, *finite, *second, *middle, *words(f"{forms.participles} {own}", group.key))
