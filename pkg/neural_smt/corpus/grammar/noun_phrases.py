"""Noun phrases as rules see them: words, and what everything around them must agree with; pronouns and names."""

from dataclasses import dataclass, replace

from neural_smt.corpus.grammar.derivation import Derivation
from neural_smt.corpus.grammar.fragments import Word, Words, expressions, word_list, words
from neural_smt.corpus.grammar.french import DE, LE, prepositional


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
    def agreement(self) -> tuple[bool, bool]:
        """What French words that agree with the phrase are: (feminine, plural)."""
        return self.feminine, self.plural

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


def coordinated(d: Derivation, first: NounPhrase, second: NounPhrase) -> NounPhrase:
    """Two phrases joined by and; French agrees in the masculine unless both are feminine."""
    key = d.key()
    source = (*first.source, *words("and", key), *second.source)
    target = (*first.target, *words("et", key), *second.target)
    feminine = first.feminine and second.feminine
    return NounPhrase(source, target, 5, 5, feminine, first.kind, key, conjuncts=(first, second))


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
        person = 4 if d.domain.formal or d.chance(0.15) else 1
    key = d.key()
    if person in _PERSONAL:
        source, target, clitics = _PERSONAL[person]
        return NounPhrase(words(source, key), words(target, key), person, person, False, "p", key, clitics=clitics)
    feminine = person == 2 and d.chance(0.45)
    return _third_person(key, "p", feminine, source_plural=person == 5, plural=person == 5)


def pronoun_for(d: Derivation, antecedent: NounPhrase) -> NounPhrase:
    """The pronoun that takes up an antecedent: English by sex or thing, French by the noun's gender and number."""
    numbers = antecedent.source_person == 5, antecedent.plural
    return _third_person(d.key(), antecedent.kind, antecedent.feminine, *numbers)


def _third_person(key: int, kind: str, feminine: bool, source_plural: bool, plural: bool) -> NounPhrase:
    target, clitics = _THIRD[feminine, plural]
    if source_plural:
        source, accusative = "they", "them"
    elif kind == "p":
        source, accusative = ("she", "her") if feminine else ("he", "him")
    else:
        source, accusative = "it", "it"
    persons, clitics = (5 if source_plural else 2, 5 if plural else 2), replace(clitics, source_object=accusative)
    return NounPhrase(words(source, key), words(target, key), *persons, feminine, kind, key, clitics=clitics)


def reference(d: Derivation, antecedent: NounPhrase) -> NounPhrase:
    """The pronoun for an antecedent; pronouns refer to themselves again."""
    return replace(antecedent, source=antecedent.source[:1]) if antecedent.clitics else pronoun_for(d, antecedent)


def _surname(d: Derivation) -> Words:
    """A surname: mostly a known one, sometimes one nobody has heard of, the long tail that a test text always has."""
    if d.chance(0.07):
        name = "".join(d.dice.choice(word_list("syllable")) for _ in range(d.dice.integer(2, 3))).capitalize()
    else:
        name = d.dice.skewed(word_list("surname"))
    return words(name, d.key())


def proper_name(d: Derivation) -> NounPhrase:
    """A person's name: first name, full name, Mr/Mrs or a title with the surname."""
    feminine = d.chance(0.45)
    key = d.key()
    first = words(d.dice.skewed(word_list("female" if feminine else "male")), key)
    if not d.domain.formal and d.chance(0.85):
        source = target = first
    elif d.chance(0.4):
        source = target = (*first, *_surname(d))
    elif d.chance(0.5):
        last = _surname(d)
        mister = "Mr." if d.domain.letter == "n" else "Mr"
        title = d.block("Mrs", "Mme") if feminine else d.block(mister, "M.")
        source, target = (*title.source, *last), (*title.target, *last)
    else:
        last = _surname(d)
        title = d.block(*d.dice.skewed(expressions("title")))
        feminine = False
        source, target = (*title.source, *last), (*words(LE, *title.target[0].keys), *title.target, *last)
    return NounPhrase(source, target, 2, 2, feminine, "p", key, simple=True)
