"""Adjuncts: prepositional phrases, places, times, adverbs, and the cue that tells an ambiguous noun's sense."""

from neural_smt.corpus.grammar import names
from neural_smt.corpus.grammar.constituents import NounPhrase
from neural_smt.corpus.grammar.derivation import Derivation
from neural_smt.corpus.grammar.fragments import NOTHING, Pair, Word, Words, words
from neural_smt.corpus.grammar.french import elidable
from neural_smt.corpus.grammar.noun_phrases import common_noun_phrase
from neural_smt.corpus.grammar.proper_names import proper_name

PREPOSITIONS = {
    "l": "in=dans in=dans near=près_de in_front_of=devant behind=derrière around=autour_de in=dans opposite=en_face_de",
    "e": "during=pendant after=après before=avant because_of=à_cause_de despite=malgré on_the_eve_of=à_la_veille_de",
    "p": "with=avec for=pour without=sans against=contre thanks_to=grâce_à according_to=selon in_front_of=devant",
    "g": "with=avec within=au_sein_de against=contre for=pour according_to=selon on_behalf_of=au_nom_de",
    "a": "because_of=à_cause_de despite=malgré thanks_to=grâce_à in_favour_of=en_faveur_de in_terms_of=en_matière_de",
    "o": "with=avec without=sans next_to=à_côté_de with=avec",
    "f": "with=avec without=sans",
    "t": "according_to=selon with=avec in=dans by_virtue_of=en_vertu_de",
    "m": "because_of=à_cause_de despite=malgré thanks_to=grâce_à",
    "n": "with=avec near=près_de behind=derrière",
}
"""Prepositions by class of noun, the likelier first."""

_PREPOSITIONS = {
    kind: [tuple(entry.replace("_", " ").split("=")) for entry in entries.split()]
    for kind, entries in PREPOSITIONS.items()
}

TIMES = {
    "past": """
    yesterday=hier; last.1 week.2=la.2 semaine.2 dernière.1; last.1 year.2=l'.2 année.2 dernière.1;
    on.1 DAY.2=DAY.2; last.1 month.2=le.2 mois.2 dernier.1; in.1 YEAR.2=en.1 YEAR.2;
    NUMBER.1 years.2 ago.3=il.3 y.3 a.3 NUMBER.1 ans.2; this.1 morning.2=ce.1 matin.2;
    NUMBER.1 days.2 ago.3=il.3 y.3 a.3 NUMBER.1 jours.2; last night=hier soir; in.1 MONTH.2=en.1 MONTH.2;
    on.1 DATE.2 MONTH.3=le.1 DATE.2 MONTH.3; a few.1 weeks.2 ago.3=il.3 y.3 a.3 quelques.1 semaines.2;
    the day before yesterday=avant-hier; in.1 the.1 past.2=par.1 le.1 passé.2
    """,
    "future": """
    tomorrow=demain; next.1 week.2=la.2 semaine.2 prochaine.1; next.1 year.2=l'.2 année.2 prochaine.1;
    soon=bientôt; in.1 NUMBER.2 days.3=dans.1 NUMBER.2 jours.3; on.1 DAY.2=DAY.2;
    next.1 month.2=le.2 mois.2 prochain.1; tonight=ce soir; in.1 MONTH.2=en.1 MONTH.2;
    by.1 YEAR.2=d'.1 ici.1 YEAR.2; sooner or later=tôt ou tard; from.1 now.2 on.1=à.1 partir.1 de.1 maintenant.2
    """,
    "present": """
    today=aujourd' hui; now=maintenant; every.1 day.2=tous.1 les.1 jours.2; at the moment=en ce moment;
    nowadays=de nos jours; this.1 year.2=cette.1 année.2; every.1 week.2=chaque.1 semaine.2;
    more and more=de plus en plus; on.1 DAYs.2=le.1 DAY.2; day.1 after.2 day.3=jour.1 après.2 jour.3
    """,
}
"""Time expressions; a number after a word ties it to the words with that number, words without one are a block."""

_TIMES = {
    group: [tuple(" ".join(entry.split()).split("=")) for entry in table.split(";")] for group, table in TIMES.items()
}
_DAYS = [tuple(entry.split("=")) for entry in names.WEEKDAYS.split()]
_MONTHS = [tuple(entry.split("=")) for entry in names.MONTHS.split()]
_NUMBERS = [("two", "deux"), ("three", "trois"), ("ten", "dix"), ("four", "quatre"), ("five", "cinq"), ("six", "six")]
_CITIES = [tuple(entry.split("=")) for entry in names.CITIES.split()]
_COUNTRIES = [tuple(entry.replace("_", " ").split("=")) for entry in names.COUNTRIES.split()]

TIME_GROUPS = {
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


def join(*pairs: Pair) -> Pair:
    """The constituents in the same order on both sides."""
    return Pair(
        tuple(word for pair in pairs for word in pair.source), tuple(word for pair in pairs for word in pair.target)
    )


def comma(d: Derivation) -> Pair:
    """A comma in both languages."""
    key = d.key()
    return Pair(words(",", key), words(",", key))


def numbered(d: Derivation, source: str, target: str) -> Pair:
    """A block translation with finer ties where its words carry numbers (see ``TIMES``)."""
    keys: dict[str, int] = {}

    def side(text: str) -> Words:
        result = []
        for token in text.split():
            form, _, label = token.partition(".")
            result.append(Word(form, (keys.setdefault(label, d.key()),)))
        return tuple(result)

    return Pair(side(source), side(target))


def time_adjunct(d: Derivation, tense: str) -> Pair:
    """When something happens, in keeping with the tense."""
    source, target = d.dice.skewed(_TIMES[TIME_GROUPS[tense]])
    slots = (
        ("DAY", _DAYS),
        ("MONTH", _MONTHS),
        ("NUMBER", _NUMBERS),
        ("YEAR", [(str(year), str(year)) for year in (range(1990, 2013) if tense != "future" else range(2013, 2031))]),
        ("DATE", [(str(day), str(day)) for day in range(2, 31)]),
    )
    for slot, values in slots:
        if slot in source:
            english, french = d.dice.choice(values)
            source, target = source.replace(slot, english), target.replace(slot, french)
    return numbered(d, source, target)


def prepositional_phrase(d: Derivation, phrase: NounPhrase) -> Pair:
    """A preposition that suits the noun, before it."""
    english, french = d.dice.skewed(_PREPOSITIONS[phrase.kind])
    key = d.key()
    return Pair((*words(english, key), *phrase.object_words), phrase.after(elidable(french, key)))


def place(d: Derivation) -> Pair:
    """In a city or country: ``à`` Paris, ``en`` France, ``au`` Canada, ``aux`` États-Unis."""
    key, name = d.key(), d.key()
    if d.chance(0.5):
        english, french = d.dice.skewed(_CITIES)
        return Pair((*words("in", key), *words(english, name)), (*words("à", key), *words(french, name)))
    english, entry = d.dice.skewed(_COUNTRIES)
    french, gender = entry.split(":")
    preposition = {"f": "en", "m": "au", "p": "aux"}[gender]
    if gender == "m" and french[0] in "IÉ":
        preposition = "en"
    return Pair((*words("in", key), *words(english, name)), (*words(preposition, key), *words(french, name)))


def adjunct(d: Derivation) -> Pair:
    """A place, or a prepositional phrase about something else."""
    roll = d.dice.fraction()
    if d.domain.letter == "n" and roll < 0.35:
        return place(d)
    if roll < 0.15 and d.domain.letter == "e":
        return place(d)
    kinds = {"n": "lllgeeap", "p": "aagegtl", "e": "lllllppoe"}[d.domain.letter]
    kind = d.kind(kinds)
    if kind == "p" and d.chance(d.domain.proper_name):
        return prepositional_phrase(d, proper_name(d))
    return prepositional_phrase(d, common_noun_phrase(d, kind))


def cue(d: Derivation) -> Pair:
    """A phrase whose noun belongs to the sentence's topic alone."""
    table = d.lexicon.cue_table(d.topic)
    if not table.items:
        return NOTHING
    noun = d.dice.draw(table)
    d.mention(noun)
    return prepositional_phrase(d, common_noun_phrase(d, noun.kind, noun=noun, small=True, choice="the"))


def block(d: Derivation, table: str, kind: str) -> Pair:
    """An adverb (or adverbial idiom) of a kind."""
    phrase = d.dice.draw(d.lexicon.phrase_table(table, kind))
    key = d.key()
    return Pair(words(phrase.english, key), words(phrase.french, key))
