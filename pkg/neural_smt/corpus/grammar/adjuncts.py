"""Adjuncts: prepositional phrases, places, times, adverbs, and the cue that tells an ambiguous noun's sense."""

from neural_smt.corpus.grammar.common_nouns import common_noun_phrase
from neural_smt.corpus.grammar.derivation import Derivation
from neural_smt.corpus.grammar.fragments import NOTHING, Pair, Word, Words, expressions, join
from neural_smt.corpus.grammar.french import elidable
from neural_smt.corpus.grammar.lexicon import CLASSES
from neural_smt.corpus.grammar.noun_phrases import NounPhrase, proper_name

_TIME_GROUPS = {
    "past": "past",
    "pluperfect": "past",
    "imperfect": "past",
    "past_progressive": "past",
    "future": "future",
    "modal": "future",
    "conditional": "future",
    "present": "present",
    "progressive": "present",
    "perfect": "present",
}


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
    source, target = d.dice.skewed(expressions(f"time {_TIME_GROUPS[tense]}"))
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
