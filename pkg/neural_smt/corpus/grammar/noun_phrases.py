"""Common nouns with their determiners, adjectives and complements: agreement and word order."""

from dataclasses import replace

from neural_smt.corpus.grammar.constituents import NounPhrase
from neural_smt.corpus.grammar.derivation import Derivation
from neural_smt.corpus.grammar.determiners import determine, determiner_choice
from neural_smt.corpus.grammar.fragments import Word, Words, words
from neural_smt.corpus.grammar.french import DE, LA, LE, LES, feminise, pluralise
from neural_smt.corpus.grammar.lexicon import Adjective, FrenchNoun, Noun
from neural_smt.corpus.grammar.proper_names import proper_name

_NEED_DEFINITE = frozenset(("same", "first", "last", "main", "next", "whole", "favourite"))


def _attributes(d: Derivation, noun: Noun, rate: float) -> list[Adjective]:
    table = d.lexicon.adjective_table(noun.kind)
    if not table.items or not d.chance(rate):
        return []
    first = d.dice.draw(table)
    if first.english in noun.singular:  # the public public, the national national team
        return []
    if d.chance(0.12):
        second = d.dice.draw(table)
        if second.prenominal != first.prenominal and second.english not in _NEED_DEFINITE:
            return [first, second] if first.prenominal else [second, first]
    return [first]


def _modifier_noun(d: Derivation, feminine: bool, plural: bool, adjectives: list[Adjective]) -> tuple[Words, Words]:
    """An English noun before the noun; French has an adjective or a de-phrase after it."""
    if adjectives or not d.chance(d.domain.modifier_noun):
        return (), ()
    phrase = d.dice.draw(d.lexicon.phrase_table("MODIFIER_NOUNS", "noun"))
    key = d.key()
    french = phrase.french
    if " " not in french:
        french = Adjective("", _regular_forms(french), False, "", "").french(feminine, plural)
    return words(phrase.english, key), words(french, key)


def _regular_forms(masculine: str) -> tuple[str, str, str, str]:
    feminine = feminise(masculine)
    return masculine, feminine, pluralise(masculine), f"{feminine}s"


def common_noun_phrase(
    d: Derivation,
    kinds: str,
    *,
    subject: bool = False,
    negated: bool = False,
    small: bool = False,
    noun: Noun | None = None,
    choice: str | None = None,
) -> NounPhrase:
    """A noun with determiner, adjectives and complement.

    ``subject``: bare plurals are generic (``les``); ``negated``: a direct object under negation (``de``);
    ``small``: neither adjective nor complement; ``choice``: force the determiner.
    """
    noun = noun or d.noun(kinds)
    if noun.numbers:
        source_plural, plural = noun.numbers[0] == "p", noun.numbers[1] == "p"
    else:
        source_plural = plural = d.chance(0.36) if noun.kind != "l" else d.chance(0.15)
    mass = noun.numbers[:1] == "s"
    french: FrenchNoun = noun.translation(d.domain.letter)
    key = d.key()
    adjectives = [] if small else _attributes(d, noun, d.domain.adjective)
    choice = choice or determiner_choice(d, source_plural, mass)
    if any(adjective.english in _NEED_DEFINITE for adjective in adjectives):
        choice = "the"
    if mass and choice in ("zero", "a", "every", "quantity") and plural:
        choice = "the"
    if source_plural and choice in ("a", "every"):
        choice = "zero"
    elif not source_plural and not mass and choice in ("zero", "quantity"):
        choice = "a"
    if choice == "zero" and subject:
        choice = "generic"
    if negated and choice in ("a", "zero"):
        choice = "negated"

    modifier = _modifier_noun(d, french.feminine, plural, adjectives) if not small else ((), ())
    source: Words = ()
    before: Words = ()
    after: Words = ()
    for adjective in adjectives:
        mark = d.key()
        source += words(adjective.english, mark)
        form = Word(adjective.french(french.feminine, plural), (mark,))
        before, after = ((*before, form), after) if adjective.prenominal else (before, (*after, form))
    source += modifier[0] + words(noun.plural if source_plural else noun.singular, key)
    target_noun = words(french.plural if plural else french.singular, key)
    rest = (*before, *target_noun, *modifier[1], *after)
    opening, target, partitive = determine(
        d, choice, key, rest, french.feminine, source_plural, plural, pre=bool(before)
    )
    phrase = NounPhrase(
        source=opening + source,
        target=target,
        source_person=5 if source_plural else 2,
        target_person=5 if plural else 2,
        feminine=french.feminine,
        kind=noun.kind,
        key=key,
        partitive=partitive,
        simple=choice in ("the", "this", "possessive") and not after and not modifier[0],
    )
    if not small and noun.kind in "tagem" and choice in ("the", "a") and d.chance(d.domain.complement):
        return _with_complement(d, phrase, opening)
    return phrase


def _with_complement(d: Derivation, phrase: NounPhrase, opening: Words) -> NounPhrase:
    """``the report of the committee`` or ``the committee's report``; French has ``de`` for both."""
    owner = (
        proper_name(d)
        if d.chance(d.domain.proper_name * 0.6)
        else common_noun_phrase(d, "pg", small=True, choice="the")
    )
    key = d.key()
    target = (*phrase.target, *owner.after(words(DE, key)))
    if owner.simple and phrase.target[0].form in (LE, LA, LES) and d.chance(0.55):
        mark = "'" if owner.source[-1].form.endswith("s") and owner.source_person == 5 else "'s"
        source = (*owner.source, Word(mark, (key, *opening[0].keys)), *phrase.source[len(opening) :])
    else:
        source = (*phrase.source, *words("of", key), *owner.object_words)
    return replace(phrase, source=source, target=target, simple=False)
