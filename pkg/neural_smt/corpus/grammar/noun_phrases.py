"""Noun phrases: determiners, agreement, the order of adjectives, genitives, names and pronouns."""

from dataclasses import dataclass, replace

from neural_smt.corpus.grammar import names
from neural_smt.corpus.grammar.derivation import Derivation
from neural_smt.corpus.grammar.fragments import Word, Words, words
from neural_smt.corpus.grammar.french import DE, LA, LE, LES, prepositional
from neural_smt.corpus.grammar.lexicon import Adjective, FrenchNoun, Noun


@dataclass(frozen=True)
class Clitics:
    """The forms of a pronoun elsewhere than as a subject."""

    source_object: str
    direct: str
    indirect: str
    strong: str


@dataclass(frozen=True)
class NounPhrase:
    """A constituent with everything that what stands around it must agree with.

    Persons: 0 to 5 (I, you, he/she/it, we, you, they), each language its own, for nouns may differ in number.
    ``partitive``: how many words of an indefinite French article open the phrase; ``de`` swallows them.
    """

    source: Words
    target: Words
    source_person: int
    target_person: int
    feminine: bool
    kind: str
    key: int
    partitive: int = 0
    clitics: Clitics | None = None
    simple: bool = False  # bare enough for an English genitive
    conjuncts: tuple["NounPhrase", "NounPhrase"] | None = None

    @property
    def plural(self) -> bool:
        """Whether the French phrase is plural."""
        return self.target_person >= 3

    @property
    def object_words(self) -> Words:
        """The English words in object position."""
        return words(self.clitics.source_object, self.key) if self.clitics else self.source

    def after(self, preposition: Words) -> Words:
        """The French phrase after a preposition (repeated before conjuncts): pronouns strong,
        articles contracted, partitives swallowed by de."""
        if self.conjuncts and preposition:
            first, second = self.conjuncts
            conjunction = self.target[len(first.target) : len(first.target) + 1]
            return (*first.after(preposition), *conjunction, *second.after(preposition))
        if self.clitics:
            return (*preposition, Word(self.clitics.strong, (self.key,)))
        if self.partitive and preposition and preposition[-1].form == DE:
            return (*preposition, *self.target[self.partitive :])
        return prepositional(preposition, self.target)


_ARTICLES = {True: (LE, LA), False: ("un", "une")}
_POSSESSIVES = (
    ("my", ("mon", "ma|mon", "mes")),
    ("your", ("ton", "ta|ton", "tes")),
    ("his", ("son", "sa|son", "ses")),
    ("our", ("notre", "notre", "nos")),
    ("your", ("votre", "votre", "vos")),
    ("their", ("leur", "leur", "leurs")),
    ("her", ("son", "sa|son", "ses")),
    ("its", ("son", "sa|son", "ses")),
)
_QUANTITIES = (
    ("several", "plusieurs"),
    ("many", "de_nombreux/de_nombreuses"),
    ("some", "quelques"),
    ("two", "deux"),
    ("three", "trois"),
    ("most", "la_plupart_des"),
    ("all_the", "tous_les/toutes_les"),
    ("a_few", "quelques"),
    ("four", "quatre"),
    ("both", "les_deux"),
    ("five", "cinq"),
    ("certain", "certains/certaines"),
    ("ten", "dix"),
    ("hundreds_of", "des_centaines_de"),
    ("twenty", "vingt"),
    ("dozens_of", "des_dizaines_de"),
)
_NEED_DEFINITE = frozenset(("same", "first", "last", "main", "next", "whole", "favourite"))


def determiner_choice(d: Derivation, plural: bool, mass: bool) -> str:
    """Which determiner: the, zero, a, this, that, possessive or quantity."""
    roll = d.dice.fraction()
    possessive = 0.16 if d.domain.letter == "e" else 0.06
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


def _target_possessive(d: Derivation, feminine: bool, plural: bool) -> tuple[str, str]:
    if d.domain.letter == "p":
        source, forms = _POSSESSIVES[d.dice.choice((0, 3, 3, 3, 4, 5))]
    elif d.domain.letter == "n":
        source, forms = _POSSESSIVES[d.dice.choice((2, 2, 5, 5, 6, 7))]
    else:
        source, forms = _POSSESSIVES[d.dice.choice((0, 0, 0, 1, 1, 2, 3, 5, 6))]
    return source, forms[2 if plural else int(feminine)]


def _partitive(key: int, feminine: bool, rest: Words) -> tuple[Words, int]:
    """``du``, ``de la`` or ``de l'`` before ``rest``, and how many words that is."""
    phrase = prepositional(words(DE, key), (*words(LA if feminine else LE, key), *rest))
    return phrase, len(phrase) - len(rest)


def determine(
    d: Derivation, choice: str, noun_key: int, rest: Words, feminine: bool, source_plural: bool, plural: bool, pre: bool
) -> tuple[Words, Words, int]:
    """English determiner, complete French phrase, and the length of its partitive article.

    ``rest``: the French words after the determiner; ``pre``: whether an adjective opens them.
    """
    key = d.key()
    if choice == "the":
        return words("the", key), (*words(LES if plural else _ARTICLES[True][feminine], key), *rest), 0
    if choice == "a":
        return words("a|an", key), (*words(_ARTICLES[False][feminine], key), *rest), 0
    if choice == "negated":  # a direct object under negation
        source = () if source_plural else words("a|an", key)
        return source, (*words(DE, key, noun_key), *rest), 1
    if choice in ("this", "that"):
        source = {"this": "these", "that": "those"}[choice] if source_plural else choice
        form = "ces" if plural else ("ce|cet", "cette")[feminine]
        return words(source, key), (*words(form, key), *rest), 0
    if choice == "possessive":
        source, form = _target_possessive(d, feminine, plural)
        return words(source, key), (*words(form, key), *rest), 0
    if choice == "every":
        return words("every" if d.chance(0.7) else "each", key), (*words("chaque", key), *rest), 0
    if choice == "quantity":
        source, form = d.dice.skewed(_QUANTITIES)
        masculine, _, other = form.partition("/")
        target = words((other if feminine and other else masculine).replace("_", " "), key)
        target = tuple(word._replace(form=DE) if word.form == "de" else word for word in target)
        return words(source.replace("_", " "), key), (*target, *rest), 0
    if choice == "generic":
        article = LES if plural else _ARTICLES[True][feminine]
        return (), (*words(article, noun_key), *rest), 0
    if plural:
        return (), (*words(DE if pre else "des", noun_key), *rest), 1
    phrase, length = _partitive(noun_key, feminine, rest)
    return (), phrase, length


def _attributes(d: Derivation, noun: Noun, rate: float) -> list[Adjective]:
    table = d.lexicon.adjective_table(noun.kind)
    if not table.items or not d.chance(rate):
        return []
    first = d.dice.draw(table)
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
    from neural_smt.corpus.grammar.french import feminise, pluralise

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


def _parsed(table: str) -> list[tuple[str, str]]:
    return [tuple(entry.split("=")) for entry in table.replace("_", " ").replace("\n", ";").split(";") if entry]


_FIRST_NAMES = {line[0] == "f": line[3:].split() for line in names.FIRST_NAMES.strip().splitlines()}
_SURNAMES = names.SURNAMES.split()
_TITLES = (
    ("President", "président"),
    ("Minister", "ministre"),
    ("Judge", "juge"),
    ("General", "général"),
    ("Professor", "professeur"),
)


def surname(d: Derivation) -> str:
    """A surname: mostly a known one, sometimes one nobody has heard of."""
    if d.chance(0.07):
        return "".join(d.dice.choice(names.SYLLABLES) for _ in range(d.dice.integer(2, 3))).capitalize()
    return d.dice.skewed(_SURNAMES)


def proper_name(d: Derivation) -> NounPhrase:
    """A person's name: first name, full name, Mr/Mrs or a title with the surname."""
    feminine = d.chance(0.45)
    first = d.dice.skewed(_FIRST_NAMES[feminine])
    key = d.key()
    if not d.domain.formal and d.chance(0.85):
        source = target = words(first, key)
    elif d.chance(0.4):
        last = surname(d)
        source = target = (*words(first, key), *words(last, d.key()))
    elif d.chance(0.5):
        last, title = words(surname(d), d.key()), d.key()
        mister = "Mr." if d.domain.letter == "n" else "Mr"
        source = (*words("Mrs" if feminine else mister, title), *last)
        target = (*words("Mme" if feminine else "M.", title), *last)
    else:
        last, title = words(surname(d), d.key()), d.key()
        english, french = d.dice.skewed(_TITLES)
        feminine = False
        source = (*words(english, title), *last)
        target = (*words(LE, title), *words(french, title), *last)
    return NounPhrase(source, target, 2, 2, feminine, "p", key, simple=True)


_YOU_FAMILIAR, _YOU_FORMAL = 1, 4
_PERSONAL = {
    0: ("I", "je|j'", Clitics("me", "me|m'", "me|m'", "moi")),
    1: ("you", "tu", Clitics("you", "te|t'", "te|t'", "toi")),
    3: ("we", "nous", Clitics("us", "nous", "nous", "nous")),
    4: ("you", "vous", Clitics("you", "vous", "vous", "vous")),
}
_THIRD = {
    (False, False): ("il", Clitics("", "le|l'", "lui", "lui")),
    (True, False): ("elle", Clitics("", "la|l'", "lui", "elle")),
    (False, True): ("ils", Clitics("", "les", "leur", "eux")),
    (True, True): ("elles", Clitics("", "les", "leur", "elles")),
}


def personal_pronoun(d: Derivation, person: int | None = None) -> NounPhrase:
    """I, you, he, she, we or they, without an antecedent; ``you`` is ``tu`` in everyday talk, ``vous`` elsewhere."""
    if person is None:
        person = d.dice.choice((0, 0, 0, 3, 3, 3, 4) if d.domain.letter == "p" else (0, 0, 0, 1, 1, 2, 2, 2, 3, 5))
    if person in (1, 4):
        person = _YOU_FORMAL if d.domain.formal else _YOU_FAMILIAR
    key = d.key()
    if person in _PERSONAL:
        source, target, clitics = _PERSONAL[person]
        return NounPhrase(words(source, key), words(target, key), person, person, False, "p", key, clitics=clitics)
    feminine = person == 2 and d.chance(0.45)
    return _third_person(key, "p", feminine, source_plural=person == 5, plural=person == 5, human=True)


def _third_person(key: int, kind: str, feminine: bool, source_plural: bool, plural: bool, human: bool) -> NounPhrase:
    target, clitics = _THIRD[feminine, plural]
    if source_plural:
        source, accusative = "they", "them"
    elif human:
        source, accusative = ("she", "her") if feminine else ("he", "him")
    else:
        source, accusative = "it", "it"
    return NounPhrase(
        words(source, key),
        words(target, key),
        5 if source_plural else 2,
        5 if plural else 2,
        feminine,
        kind,
        key,
        clitics=replace(clitics, source_object=accusative),
    )


def pronoun_for(d: Derivation, antecedent: NounPhrase) -> NounPhrase:
    """The pronoun that takes up an antecedent: English by sex or thing, French by the noun's gender and number."""
    return _third_person(
        d.key(),
        antecedent.kind,
        antecedent.feminine,
        source_plural=antecedent.source_person == 5,
        plural=antecedent.plural,
        human=antecedent.kind == "p",
    )


def coordinated(d: Derivation, first: NounPhrase, second: NounPhrase) -> NounPhrase:
    """Two phrases joined by and; French agrees in the masculine unless both are feminine."""
    key = d.key()
    return NounPhrase(
        source=(*first.source, *words("and", key), *second.source),
        target=(*first.target, *words("et", key), *second.target),
        source_person=5,
        target_person=5,
        feminine=first.feminine and second.feminine,
        kind=first.kind,
        key=key,
        conjuncts=(first, second),
    )
