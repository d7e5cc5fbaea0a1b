"""Noun phrases as rules see them, words and what everything around them must agree with: pronouns, names, common nouns
with their determiners, adjectives and complements; and adjuncts made of them: places, times, adverbs.

An adjunct may be the cue that tells an ambiguous noun's sense.
"""

from typing import NamedTuple

from neural_smt.corpus.grammar.fragments import NOTHING, Pair, Word, Words, expressions, read_table, word_list, words
from neural_smt.corpus.grammar.inflection import DE, LA, LE, LES, adjective_forms, elidable, prepositional
from neural_smt.corpus.grammar.lexicon import Adjective, Derivation, Noun, adjective_table, cue_table, phrase_table

TENSES = {row["tense"]: row for row in read_table("tenses.tsv")}
"""Of each tense: the ``time`` its adverbs are of, the ``mood`` of the French verb, or of its ``auxiliary``; the
``english`` auxiliary where it has one, and the part of the verb that this ``governs``."""

_CLASSES = {row["class"][0]: row["class"] for row in read_table("nouns.tsv")}
"""Classes of nouns by their first letters."""


class NounPhrase(NamedTuple):
    """A constituent with everything that what stands around it must agree with.

    Persons: 0 to 5 (I, you, he/she/it, we, you, they), each language its own, for nouns may differ in number.
    ``partitive``: how many words of an indefinite French article open the phrase; ``de`` swallows them. ``clitics``:
    of a pronoun its forms elsewhere than as a subject, as columns of ``pronouns.tsv``; the ``object`` is English.
    """

    source: Words
    target: Words
    source_person: int
    target_person: int
    feminine: bool
    kind: str
    key: int
    partitive: int = 0
    clitics: dict[str, str] | None = None
    simple: bool = False  # bare enough for an English genitive
    conjuncts: tuple["NounPhrase", "NounPhrase"] | None = None

    @property
    def plural(self) -> bool:
        """Whether the French phrase is plural."""
        return self.target_person >= 3

    @property
    def agreement(self) -> tuple[bool, bool]:
        """What French words that agree with the phrase are: (feminine, plural)."""
        return self.feminine, self.plural

    @property
    def object_words(self) -> Words:
        """The English words in object position."""
        return words(self.clitics["object"], self.key) if self.clitics else self.source

    def after(self, preposition: Words) -> Words:
        """The French phrase after a preposition (repeated before conjuncts): pronouns strong,
        articles contracted, partitives swallowed by de."""
        if self.conjuncts and preposition:
            first, second = self.conjuncts
            conjunction = self.target[len(first.target) : len(first.target) + 1]
            return first.after(preposition) + conjunction + second.after(preposition)
        if self.clitics:
            return preposition + words(self.clitics["strong"], self.key)
        if self.partitive and preposition and preposition[-1].form == DE:
            return preposition + self.target[self.partitive :]
        return prepositional(preposition, self.target)


def coordinated(d: Derivation, first: NounPhrase, second: NounPhrase) -> NounPhrase:
    """Two phrases joined by and; French agrees in the masculine unless both are feminine."""
    key = d.key()
    return NounPhrase(
        source=first.source + words("and", key) + second.source,
        target=first.target + words("et", key) + second.target,
        source_person=5,
        target_person=5,
        feminine=first.feminine and second.feminine,
        kind=first.kind,
        key=key,
        conjuncts=(first, second),
    )


_PRONOUNS = {(int(row["person"]), row["feminine"] == "yes"): row for row in read_table("pronouns.tsv")}
"""Pronouns by person and whether they are feminine; the English ones are those of people."""


def _pronoun(d: Derivation, kind: str, feminine: bool, source_person: int, target_person: int) -> NounPhrase:
    """English goes by sex or thing, French by gender."""
    key = d.key()
    english, french = _PRONOUNS[source_person, feminine], _PRONOUNS[target_person, feminine]
    thing = source_person == 2 and kind != "p"
    clitics = french | {"object": "it" if thing else english["object"]}
    sides = words("it" if thing else english["english"], key), words(french["french"], key)
    return NounPhrase(*sides, source_person, target_person, feminine, kind, key, clitics=clitics)


def personal_pronoun(d: Derivation, person: int | None = None) -> NounPhrase:
    """I, you, he, she, we or they, without an antecedent; ``you`` is ``tu`` in everyday talk, ``vous`` elsewhere."""
    if person is None:
        person = d.dice.choice((0, 0, 0, 3, 3, 3, 4) if d.domain.letter == "p" else (0, 0, 0, 1, 1, 2, 2, 2, 3, 5))
    if person in (1, 4):
        person = 4 if d.domain.formal or d.chance(0.15) else 1
    return _pronoun(d, "p", person == 2 and d.chance(0.45), person, person)


def reference(d: Derivation, antecedent: NounPhrase) -> NounPhrase:
    """The pronoun that takes up an antecedent; pronouns refer to themselves again."""
    if antecedent.clitics:
        return antecedent._replace(source=antecedent.source[:1])
    return _pronoun(d, antecedent.kind, antecedent.feminine, antecedent.source_person, antecedent.target_person)


def _surname(d: Derivation) -> Words:
    """A surname: mostly a known one, sometimes one nobody has heard of, the long tail that a test text always has."""
    if d.chance(d.domain.invented):
        length = d.dice.integer(2, d.domain.syllables)
        name = "".join(d.dice.choice(word_list("syllable")) for _ in range(length)).capitalize()
    else:
        name = d.dice.skewed(word_list("surname"))
    return words(name, d.key())


def proper_name(d: Derivation) -> NounPhrase:
    """A person's name: first name, full name, Mr/Mrs or a title with the surname."""
    feminine = d.chance(0.45)
    key = d.key()
    first = words(d.dice.skewed(word_list("female" if feminine else "male")), key)
    opening, last = Pair(first, first), Words()
    if d.domain.formal or not d.chance(0.85):
        style = "full" if d.chance(0.4) else "polite" if d.chance(0.5) else "titled"
        last = _surname(d)
        if style == "polite":
            opening = d.block(*expressions(f"polite {d.domain.name}")[feminine])
        elif style == "titled":
            title = d.block(*d.dice.skewed(expressions("title")))
            opening, feminine = title._replace(target=words(LE, *title.target[0].keys) + title.target), False
    return NounPhrase(opening.source + last, opening.target + last, 2, 2, feminine, "p", key, simple=True)


def _choose_determiner(d: Derivation, plural: bool, mass: bool) -> str:
    """the, zero, a, every, this, that, possessive or quantity, as the English noun's number suggests."""
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


def _settle(choice: str, source_plural: bool, mass: bool, subject: bool, negated: bool) -> str:
    """The determiner that the noun's number and its place in the sentence allow."""
    if source_plural and choice in ("a", "every"):
        choice = "zero"
    elif not source_plural and not mass and choice in ("zero", "quantity"):
        choice = "a"
    if choice == "zero" and subject:
        choice = "generic"
    return "negated" if negated and choice in ("a", "zero") else choice


def _determine(d: Derivation, choice: str, bare: NounPhrase, described: bool) -> NounPhrase:
    """A phrase with its determiner; described: whether an adjective opens the French words."""
    key = d.key()
    article = LES if bare.plural else (LE, LA)[bare.feminine]
    source: Words = ()
    target, partitive = words(article, bare.key), 0  # generic
    if choice == "negated":  # a direct object under negation
        source = words("a|an", key) if bare.source_person == 2 else ()
        target, partitive = words(DE, key, bare.key), 1
    elif choice == "zero" and bare.plural:
        target, partitive = words(DE if described else "des", bare.key), 1
    elif choice == "zero":  # du, de la, de l'
        whole = prepositional(words(DE, bare.key), target + bare.target)
        partitive = len(whole) - len(bare.target)
        target = whole[:partitive]
    elif choice != "generic":
        english, french = _determiner(d, choice, bare, article)
        source, target = words(english, key), elidable(french, key)
    return bare._replace(source=source + bare.source, target=target + bare.target, partitive=partitive)


def _determiner(d: Derivation, choice: str, bare: NounPhrase, article: str) -> tuple[str, str]:
    """The English and the French determiner of a phrase; article: the definite one in French."""
    if choice == "the":
        return "the", article
    if choice == "every":
        return expressions("determiner every")[0 if d.chance(0.7) else 1]
    if choice in ("a", "this", "that"):
        english, forms = expressions(f"determiner {choice}")[0]
        return english.split()[0 if bare.source_person == 2 else 1], forms.split()[2 if bare.plural else bare.feminine]
    if choice == "possessive":
        english, forms = d.dice.choice(expressions(f"possessive {d.domain.name}"))
        return english, forms.split()[2 if bare.plural else bare.feminine]
    english, forms = d.dice.skewed(expressions("quantity"))
    masculine, _, other = forms.partition("/")
    return english, other if bare.feminine and other else masculine


_NEED_DEFINITE = frozenset(word_list("definite adjective"))


def _attributes(d: Derivation, noun: Noun) -> list[Adjective]:
    """At most one adjective before and one after the French noun, in this order."""
    table = adjective_table(d.domain.letter, noun.kind)
    if not table.items or not d.chance(d.domain.adjective):
        return []
    first = d.dice.draw(table)
    if first.english in noun.singular:  # the public public, the national national team
        return []
    if d.chance(0.12):
        second = d.dice.draw(table)
        if second.prenominal != first.prenominal and second.english not in _NEED_DEFINITE:
            return [first, second] if first.prenominal else [second, first]
    return [first]


def _modifier_noun(d: Derivation, agreement: tuple[bool, bool]) -> Pair:
    """An English noun before the noun; French has an adjective or a de-phrase after it."""
    phrase = d.dice.draw(phrase_table(d.domain.letter, "modifier"))
    feminine, plural = agreement
    french = phrase.french if " " in phrase.french else adjective_forms(phrase.french)[2 * plural + feminine]
    return d.block(phrase.english, french)


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
    numbers = noun.numbers or ("pp" if d.chance(0.15 if noun.kind == "l" else 0.36) else "ss")
    source_plural, plural = (number == "p" for number in numbers)
    mass = noun.numbers[:1] == "s"
    french = noun.variants.get(d.domain.letter, noun.french)
    agreement = french.feminine, plural
    adjectives = [] if small else _attributes(d, noun)
    choice = choice or _choose_determiner(d, source_plural, mass)
    definite = any(adjective.english in _NEED_DEFINITE for adjective in adjectives)
    if definite or (mass and plural and choice in ("zero", "a", "every", "quantity")):
        choice = "the"
    choice = _settle(choice, source_plural, mass, subject, negated)
    modified = not small and not adjectives and d.chance(d.domain.modifier_noun)
    modifier = _modifier_noun(d, agreement) if modified else NOTHING

    key = d.key()
    before, after = NOTHING, modifier
    for adjective in adjectives:
        attribute = d.block(adjective.english, adjective.french(*agreement))
        before, after = (attribute, after) if adjective.prenominal else (before, attribute)
    bare = NounPhrase(
        source=before.source + after.source + words(noun.plural if source_plural else noun.singular, key),
        target=before.target + words(french.plural if plural else french.singular, key) + after.target,
        source_person=5 if source_plural else 2,
        target_person=5 if plural else 2,
        feminine=french.feminine,
        kind=noun.kind,
        key=key,
        simple=choice in ("the", "this", "possessive") and after is NOTHING,
    )
    phrase = _determine(d, choice, bare, described=before is not NOTHING)
    if not small and noun.kind in "tagem" and choice in ("the", "a") and d.chance(d.domain.complement):
        return _with_complement(d, phrase)
    return phrase


def _with_complement(d: Derivation, phrase: NounPhrase) -> NounPhrase:
    """``the report of the committee`` or ``the committee's report``; French has ``de`` for both."""
    if d.chance(d.domain.proper_name * 0.6):
        owner = proper_name(d)
    else:
        owner = common_noun_phrase(d, "pg", small=True, choice="the")
    key = d.key()
    if owner.simple and phrase.target[0].form in (LE, LA, LES) and d.chance(0.55):
        mark = "'" if owner.source[-1].form.endswith("s") and owner.source_person == 5 else "'s"
        article, *rest = phrase.source
        source = (*owner.source, Word(mark, (key, *article.keys)), *rest)
    else:
        source = phrase.source + words("of", key) + owner.object_words
    return phrase._replace(source=source, target=phrase.target + owner.after(words(DE, key)), simple=False)


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
    return d.block(source, target)


def _prepositional_phrase(d: Derivation, phrase: NounPhrase) -> Pair:
    """A preposition that suits the noun, before it."""
    preposition = d.block(*d.dice.skewed(expressions(f"preposition {_CLASSES[phrase.kind]}")))
    return Pair(preposition.source + phrase.object_words, phrase.after(preposition.target))


def adjunct(d: Derivation) -> Pair:
    """A place (``à`` Paris, ``en`` France, ``au`` Canada), or a prepositional phrase about something else."""
    if d.chance(d.domain.place):
        english, french = d.dice.skewed(expressions("city" if d.chance(0.5) else "country"))
        preposition, _, name = french.partition(" ")
        return d.block("in", preposition) + d.block(english, name)
    kind = d.kind(d.domain.adjuncts)
    named = kind == "p" and d.chance(d.domain.proper_name)
    return _prepositional_phrase(d, proper_name(d) if named else common_noun_phrase(d, kind))


def cue(d: Derivation) -> Pair:
    """A phrase whose noun belongs to the sentence's topic alone."""
    table = cue_table(d.domain.letter, d.topic)
    if not table.items:
        return NOTHING
    noun = d.dice.draw(table)
    d.mention(noun)
    return _prepositional_phrase(d, common_noun_phrase(d, noun.kind, noun=noun, small=True, choice="the"))


def adverb(d: Derivation, kind: str) -> Pair:
    """An adverb (or adverbial idiom) of a kind: manner, frequency, degree, sentence."""
    phrase = d.dice.draw(phrase_table(d.domain.letter, kind))
    return d.block(phrase.english, phrase.french)
