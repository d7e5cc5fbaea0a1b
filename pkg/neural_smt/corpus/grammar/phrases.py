"""Common nouns with their determiners, adjectives and complements, and adjuncts: places, times, adverbs.

An adjunct may be the cue that tells an ambiguous noun's sense.
"""

from dataclasses import replace

from neural_smt.corpus.grammar.derivation import Derivation
from neural_smt.corpus.grammar.fragments import NOTHING, Pair, Word, Words, expressions, join, words
from neural_smt.corpus.grammar.french import DE, LA, LE, LES, elidable, prepositional
from neural_smt.corpus.grammar.lexicon import CLASSES, Adjective, Noun, adjective_forms
from neural_smt.corpus.grammar.noun_phrases import NounPhrase, proper_name
from neural_smt.corpus.grammar.verb_groups import TENSES


def determiner_choice(d: Derivation, plural: bool, mass: bool) -> str:
    """Which determiner: the, zero, a, this, that, possessive or quantity."""
    roll = d.dice.fraction()
    possessive = d.domain.possessive
    if roll < possessive:
        return "possessive"
    if roll < possessive + 0.08:
        return "this" if d.chance(0.75) else "that"
    if roll < 0.68:
        return "the"
    if mass:
        return "the" if d.chance(0.5) else "zero"
    if plural:
        return "quantity" if d.chance(0.45) else "zero"
    return "every" if d.chance(0.06) else "a"


def determine(
    d: Derivation, choice: str, noun_key: int, rest: Words, feminine: bool, source_plural: bool, plural: bool, pre: bool
) -> tuple[Words, Words, int]:
    """English determiner, complete French phrase, and the length of its partitive article.

    ``rest``: the French words after the determiner; ``pre``: whether an adjective opens them.
    """
    key = d.key()
    article = LES if plural else (LE, LA)[feminine]
    if choice == "negated":  # a direct object under negation
        return () if source_plural else words("a|an", key), (*words(DE, key, noun_key), *rest), 1
    if choice == "generic":
        return (), (*words(article, noun_key), *rest), 0
    if choice == "zero" and plural:
        return (), (*words(DE if pre else "des", noun_key), *rest), 1
    if choice == "zero":  # du, de la, de l'
        phrase = prepositional(words(DE, noun_key), (*words(article, noun_key), *rest))
        return (), phrase, len(phrase) - len(rest)
    if choice == "the":
        source, target = "the", article
    elif choice == "a":
        source, target = "a|an", ("un", "une")[feminine]
    elif choice in ("this", "that"):
        source = {"this": "these", "that": "those"}[choice] if source_plural else choice
        target = "ces" if plural else ("ce|cet", "cette")[feminine]
    elif choice == "possessive":
        source, forms = d.dice.choice(expressions(f"possessive {d.domain.name}"))
        target = forms.split()[2 if plural else int(feminine)]
    elif choice == "every":
        source, target = "every" if d.chance(0.7) else "each", "chaque"
    else:
        source, forms = d.dice.skewed(expressions("quantity"))
        masculine, _, other = forms.partition("/")
        target = other if feminine and other else masculine
    return words(source, key), (*elidable(target, key), *rest), 0


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


def _modifier_noun(d: Derivation, feminine: bool, plural: bool) -> Pair:
    """An English noun before the noun; French has an adjective or a de-phrase after it."""
    phrase = d.dice.draw(d.lexicon.phrase_table("modifier"))
    french = phrase.french if " " in phrase.french else adjective_forms(phrase.french)[2 * plural + feminine]
    return d.block(phrase.english, french)


def _settle(
    choice: str, definite: bool, source_plural: bool, plural: bool, mass: bool, subject: bool, negated: bool
) -> str:
    """The determiner that the noun's number, its adjectives and its place in the sentence allow."""
    if definite or (mass and choice in ("zero", "a", "every", "quantity") and plural):
        choice = "the"
    if source_plural and choice in ("a", "every"):
        choice = "zero"
    elif not source_plural and not mass and choice in ("zero", "quantity"):
        choice = "a"
    if choice == "zero" and subject:
        choice = "generic"
    return "negated" if negated and choice in ("a", "zero") else choice


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
        source_plural = plural = d.chance(0.15 if noun.kind == "l" else 0.36)
    mass = noun.numbers[:1] == "s"
    french = noun.translation(d.domain.letter)
    key = d.key()
    adjectives = [] if small else _attributes(d, noun, d.domain.adjective)
    choice = choice or determiner_choice(d, source_plural, mass)
    definite = any(adjective.english in _NEED_DEFINITE for adjective in adjectives)
    choice = _settle(choice, definite, source_plural, plural, mass, subject, negated)
    modified = not small and not adjectives and d.chance(d.domain.modifier_noun)
    modifier = _modifier_noun(d, french.feminine, plural) if modified else NOTHING

    source: Words = ()
    before: Words = ()
    after: Words = ()
    for adjective in adjectives:
        mark = d.key()
        source += words(adjective.english, mark)
        form = Word(adjective.french(french.feminine, plural), (mark,))
        before, after = ((*before, form), after) if adjective.prenominal else (before, (*after, form))
    source += modifier.source + words(noun.plural if source_plural else noun.singular, key)
    rest = (*before, *words(french.plural if plural else french.singular, key), *modifier.target, *after)
    numbers = source_plural, plural
    opening, target, partitive = determine(d, choice, key, rest, french.feminine, *numbers, pre=bool(before))
    persons = 5 if source_plural else 2, 5 if plural else 2
    simple = choice in ("the", "this", "possessive") and not after and not modified
    agreement = *persons, french.feminine, noun.kind, key
    phrase = NounPhrase(opening + source, target, *agreement, partitive=partitive, simple=simple)
    if not small and noun.kind in "tagem" and choice in ("the", "a") and d.chance(d.domain.complement):
        return _with_complement(d, phrase, opening)
    return phrase


def _with_complement(d: Derivation, phrase: NounPhrase, opening: Words) -> NounPhrase:
    """``the report of the committee`` or ``the committee's report``; French has ``de`` for both."""
    if d.chance(d.domain.proper_name * 0.6):
        owner = proper_name(d)
    else:
        owner = common_noun_phrase(d, "pg", small=True, choice="the")
    key = d.key()
    target = (*phrase.target, *owner.after(words(DE, key)))
    if owner.simple and phrase.target[0].form in (LE, LA, LES) and d.chance(0.55):
        mark = "'" if owner.source[-1].form.endswith("s") and owner.source_person == 5 else "'s"
        source = (*owner.source, Word(mark, (key, *opening[0].keys)), *phrase.source[len(opening) :])
    else:
        source = (*phrase.source, *words("of", key), *owner.object_words)
    return replace(phrase, source=source, target=target, simple=False)


def numbered(d: Derivation, source: str, target: str) -> Pair:
    """A block translation with finer ties: words with the same number are tied (``last.1 week.2``), as are those
    without one."""
    keys: dict[str, int] = {}

    def side(text: str) -> Words:
        tokens = (token.partition(".") for token in text.split())
        return tuple([Word(form, (keys.setdefault(label, d.key()),)) for form, _, label in tokens])

    pair = Pair(side(source), side(target))
    return pair._replace(target=tuple([word for form, keys in pair.target for word in elidable(form, *keys)]))


def time_adjunct(d: Derivation, tense: str) -> Pair:
    """When something happens, in keeping with the tense."""
    source, target = d.dice.skewed(expressions(f"time {TENSES[tense]['time']}"))
    years = range(1990, 2013) if tense != "future" else range(2013, 2031)
    slots = {
        "DAY": expressions("weekday"),
        "MONTH": expressions("month"),
        "NUMBER": expressions("number"),
        "YEAR": [(str(year), str(year)) for year in years],
        "DATE": [(str(day), str(day)) for day in range(2, 31)],
    }
    for slot, values in slots.items():
        if slot in source:
            english, french = d.dice.choice(values)
            source, target = source.replace(slot, english), target.replace(slot, french)
    return numbered(d, source, target)


def prepositional_phrase(d: Derivation, phrase: NounPhrase) -> Pair:
    """A preposition that suits the noun, before it."""
    preposition = d.block(*d.dice.skewed(expressions(f"preposition {CLASSES[phrase.kind]}")))
    return Pair((*preposition.source, *phrase.object_words), phrase.after(preposition.target))


def place(d: Derivation) -> Pair:
    """In a city or country: ``à`` Paris, ``en`` France, ``au`` Canada, ``aux`` États-Unis."""
    english, french = d.dice.skewed(expressions("city" if d.chance(0.5) else "country"))
    preposition, _, name = french.partition(" ")
    return join(d.block("in", preposition), d.block(english, name))


def adjunct(d: Derivation) -> Pair:
    """A place, or a prepositional phrase about something else."""
    if d.chance(d.domain.place):
        return place(d)
    kind = d.kind(d.domain.adjuncts)
    named = kind == "p" and d.chance(d.domain.proper_name)
    return prepositional_phrase(d, proper_name(d) if named else common_noun_phrase(d, kind))


def cue(d: Derivation) -> Pair:
    """A phrase whose noun belongs to the sentence's topic alone."""
    table = d.lexicon.cue_table(d.topic)
    if not table.items:
        return NOTHING
    noun = d.dice.draw(table)
    d.mention(noun)
    return prepositional_phrase(d, common_noun_phrase(d, noun.kind, noun=noun, small=True, choice="the"))


def adverb(d: Derivation, kind: str) -> Pair:
    """An adverb (or adverbial idiom) of a kind: manner, frequency, degree, sentence."""
    phrase = d.dice.draw(d.lexicon.phrase_table(kind))
    return d.block(phrase.english, phrase.french)


def comma(d: Derivation) -> Pair:
    """A comma in both languages."""
    return d.block(",", ",")
