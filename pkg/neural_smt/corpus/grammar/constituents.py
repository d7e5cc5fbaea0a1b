"""Noun phrases as rules see them: words, and what everything around them must agree with."""

from dataclasses import dataclass

from neural_smt.corpus.grammar.fragments import Word, Words, words
from neural_smt.corpus.grammar.french import DE, prepositional


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


def coordinated(first: NounPhrase, second: NounPhrase, key: int) -> NounPhrase:
    """Two phrases joined by and; French agrees in the masculine unless both are feminine."""
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
