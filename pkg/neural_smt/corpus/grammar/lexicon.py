"""The lexicon: entries of the tables in ``words/``, weighted by Zipf's law, and the state of a sentence that uses them.

Each row of a table belongs to the domains whose letters it names: n(ews), p(arliament), e(veryday). Classes of nouns
are named by their first letters: person, group, text, object, food, location, event, abstract, money, nature.

- ``nouns.tsv``: ``topic`` ties a noun to a subject matter (``-``: none); the same English word in two topics is
  ambiguous, and only the rest of the sentence (or the domain) tells which French word is meant. ``numbers`` gives the
  grammatical numbers of the English and the French noun where they do not vary, such as ``sp``; ``variant`` the domain
  that uses another French noun, that noun, and its gender. Plurals are given where irregular.
- ``verbs.tsv``: frames are transitive, intransitive, dative (give something to somebody), clausal (say that ...),
  infinitive (want to ...), swapped (``miss``/``manquer à``: the French subject is the English object), copula, and
  verbal idioms. English: ``write/wrote/written`` where irregular; ``fixed`` words follow the verb (``look at``), a
  ``particle`` may follow the object (``put the meeting off``). ``subjects`` and ``objects`` are classes of nouns
  (``*``: any): an English verb in two rows is translated by what its subject or object is.
- ``adjectives.tsv``: the feminine and plural where irregular; ``position``: ``pre`` or ``post`` of the noun.
- ``phrases.tsv``: adverbs by kind, and nouns that modify a noun (``modifier``): a masculine adjective or a de-phrase.
- ``pronouns.tsv``: by person (see ``noun_phrases``), with their forms elsewhere than as a subject.
- ``expressions.tsv``: what is said in set words; those that are marked alike (``last#1 week#2``) are tied.
- ``domains.yaml``: what distinguishes the domains.
"""

from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import yaml

from neural_smt.corpus.grammar import inflection
from neural_smt.corpus.grammar.fragments import WORDS, Pair, Words, read_table, words
from neural_smt.corpus.grammar.inflection import DE, VerbForms
from neural_smt.experiment.settings import Settings, section_settings

Item = TypeVar("Item")


class FrenchNoun(NamedTuple):
    """One translation of a noun."""

    singular: str
    plural: str
    feminine: bool


@dataclass(frozen=True, eq=False)
class Noun:
    """An English noun in one of its senses."""

    singular: str
    plural: str
    french: FrenchNoun
    kind: str  # first letter of its class
    topic: str
    domains: str
    numbers: str  # "" when it inflects, else the fixed numbers of the two languages, such as "sp"
    variants: dict[str, FrenchNoun]  # what a domain says instead


@dataclass(frozen=True, eq=False)
class Verb:
    """An English verb in one of its senses; ``french`` is the bare infinitive."""

    frame: str
    forms: VerbForms
    fixed: str  # English words that follow the verb
    particle: str  # an English particle that may follow the object
    french: str
    reflexive: bool
    french_fixed: str
    preposition: str  # of the French object
    subjects: str
    objects: str
    domains: str


@dataclass(frozen=True, eq=False)
class Adjective:
    """An English adjective and the French one that suits the nouns of ``kinds``."""

    english: str
    forms: tuple[str, str, str, str]
    prenominal: bool
    kinds: str
    domains: str

    def french(self, feminine: bool, plural: bool) -> str:
        """The agreeing form, with its variant before a vowel where it has one."""
        return self.forms[2 * plural + feminine]


class Phrase(NamedTuple):
    """Words of both languages that translate each other as a block."""

    english: str
    french: str
    domains: str


def _french_noun(singular: str, gender: str, plural: str = "", fixed: str = "") -> FrenchNoun:
    head, space, rest = singular.partition(" ")
    regular = singular if fixed else f"{inflection.french_plural(head)}{space}{rest}"
    return FrenchNoun(singular, plural or regular, gender == "f")


@cache
def nouns() -> tuple[Noun, ...]:
    """Every noun of the table."""
    entries = []
    for row in read_table("nouns.tsv"):
        word, numbers = row["english"], row["numbers"]
        plural = row["english_plural"] or (word if numbers else inflection.english_plural(word))
        french = _french_noun(row["french"], row["gender"], row["french_plural"], numbers)
        domain, _, variant = row["variant"].partition(" ")
        variants = {domain: _french_noun(*variant.split())} if domain else {}
        entries.append(Noun(word, plural, french, row["class"][0], row["topic"], row["domains"], numbers, variants))
    return tuple(entries)


@cache
def ambiguous_nouns() -> frozenset[str]:
    """English nouns of several senses."""
    senses = Counter(english for english, _ in {(noun.singular, noun.french.singular) for noun in nouns()})
    return frozenset(word for word, count in senses.items() if count > 1)


@cache
def verbs(frame: str) -> tuple[Verb, ...]:
    """Every verb or verbal idiom of a frame."""
    entries = []
    for row in read_table("verbs.tsv"):
        if row["frame"] == frame:
            fields: dict[str, Any] = {name: text for name, text in row.items() if name != "english"}
            fields["preposition"] = DE if row["preposition"] == "de" else row["preposition"]
            fields |= {"forms": inflection.verb_forms(row["english"]), "reflexive": bool(row["reflexive"])}
            entries.append(Verb(**fields))
    return tuple(entries)


@cache
def adjectives() -> tuple[Adjective, ...]:
    """Every adjective of the table."""
    entries = []
    for row in read_table("adjectives.tsv"):
        forms = row["masculine"], row["feminine"], row["masculine_plural"], row["feminine_plural"]
        forms = forms if forms[1] else inflection.adjective_forms(forms[0])
        entries.append(Adjective(row["english"], forms, row["position"] == "pre", row["classes"], row["domains"]))
    return tuple(entries)


class Weighted(Generic[Item]):
    """Items and their cumulative weights, without those of weight 0."""

    def __init__(self, weights: Mapping[Item, float]):
        kept = {item: weight for item, weight in weights.items() if weight > 0}
        self.items, self.cumulative = list(kept), list(accumulate(kept.values()))


ZIPF_SHIFT = 2.0
"""Weights are 1 / (rank + shift), rank from 0: Zipf's law with Mandelbrot's shift."""

TOPIC_BOOST = 40.0
"""How much likelier a noun of the sentence's topic is."""

OFF_TOPIC = 0.25
"""The same for an unambiguous noun of another topic."""


@cache
def zipf(entries: tuple[Any, ...], domain: str) -> dict[Any, float]:
    """Zipfian weights of a domain's entries; their ranks differ from domain to domain, never by the corpus' seed."""
    ordered = sorted((entry for entry in entries if domain in entry.domains), key=repr)
    order = np.random.default_rng([ord(domain), len(ordered)]).permutation(len(ordered))
    return {ordered[index]: 1.0 / (rank + ZIPF_SHIFT) for rank, index in enumerate(order.tolist())}


@cache
def noun_table(domain: str, kinds: str, topic: str) -> Weighted[Noun]:
    """Nouns of some kinds in a sentence about ``topic``; an ambiguous noun only in the sense of the topic."""

    def factor(noun: Noun) -> float:
        if noun.kind not in kinds:
            return 0.0
        if noun.topic == topic:
            return TOPIC_BOOST if topic != "-" else 1.0
        if noun.topic == "-":
            return 1.0
        return 0.0 if noun.singular in ambiguous_nouns() else OFF_TOPIC

    return Weighted({noun: factor(noun) * weight for noun, weight in zipf(nouns(), domain).items()})


@cache
def cue_table(domain: str, topic: str) -> Weighted[Noun]:
    """Unambiguous nouns of a topic: those that tell which sense an ambiguous noun has."""
    cues = {noun for noun in nouns() if noun.topic == topic and noun.kind in "pgle"}
    weights = zipf(nouns(), domain).items()
    return Weighted({n: weight for n, weight in weights if n in cues and n.singular not in ambiguous_nouns()})


@cache
def verb_table(domain: str, frame: str) -> Weighted[Verb]:
    """Verbs of a frame."""
    return Weighted(zipf(verbs(frame), domain))


@cache
def adjective_table(domain: str, kind: str) -> Weighted[Adjective]:
    """Adjectives that suit a noun of ``kind``."""
    weights = zipf(adjectives(), domain).items()
    return Weighted({entry: weight for entry, weight in weights if kind in entry.kinds or entry.kinds == "*"})


@cache
def phrase_table(domain: str, kind: str) -> Weighted[Phrase]:
    """Adverbs of a kind, or modifier nouns."""
    rows = [row for row in read_table("phrases.tsv") if row["kind"] == kind]
    return Weighted(zipf(tuple(Phrase(row["english"], row["french"], row["domains"]) for row in rows), domain))


_GENERATOR = section_settings("corpus.generator", {})

DOMAINS = {
    name: Settings({k: Weighted(v) if isinstance(v, dict) else v for k, v in domain.items()} | {"name": name}).replace(
        invented=_GENERATOR.invented, syllables=_GENERATOR.syllables
    )
    for name, domain in yaml.safe_load((WORDS / "domains.yaml").read_text(encoding="utf-8")).items()
}
"""Registers of the language, as ``words/domains.yaml`` describes them, with surnames as the schema has them."""


class Dice:
    """Random choices out of one NumPy generator, drawn in blocks because single draws are slow."""

    BLOCK = 8192

    def __init__(self, generator: np.random.Generator):
        self._generator = generator
        self._numbers: list[float] = []

    def fraction(self) -> float:
        """Uniform in [0, 1)."""
        if not self._numbers:
            self._numbers = self._generator.random(self.BLOCK).tolist()
        return self._numbers.pop()

    def chance(self, probability: float) -> bool:
        """True with the given probability."""
        return self.fraction() < probability

    def integer(self, low: int, high: int) -> int:
        """Uniform in low ... high, both included."""
        return low + int(self.fraction() * (high - low + 1))

    def choice(self, items: Sequence[Item]) -> Item:
        """One of the items, all alike."""
        return items[int(self.fraction() * len(items))]

    def skewed(self, items: Sequence[Item]) -> Item:
        """One of the items, the first the likeliest: roughly Zipfian over long lists."""
        return items[int(len(items) * self.fraction() ** 2.5)]

    def draw(self, table: Weighted[Item]) -> Item:
        """One item by weight."""
        return table.items[bisect(table.cumulative, self.fraction() * table.cumulative[-1])]


class Derivation:
    """One sentence in the making: its dice, domain and topic, and what needs a cue."""

    def __init__(self, dice: Dice, domain: Settings):
        self.dice, self.domain = dice, domain
        self.topic = dice.draw(domain.topics)
        self.depth = 0  # of clauses inside noun phrases
        self._keys = 0
        self._ambiguous = self._cued = False

    def key(self) -> int:
        """A key no other concept of the sentence has."""
        self._keys += 1
        return self._keys

    def block(self, english: str, french: str) -> Pair:
        """Words that translate each other as one concept, or as several: those with the same mark (``last#1 week#2``)
        are one. The French ones elide where they can."""
        if "#" not in french:
            key = self.key()
            return Pair(words(english, key), inflection.elidable(french, key))
        keys: defaultdict[str, int] = defaultdict(self.key)

        def side(text: str) -> Words:
            marked = (token.partition("#") for token in text.split())
            return tuple([word for form, _, mark in marked for word in inflection.elidable(form, keys[mark])])

        return Pair(side(english), side(french))

    def chance(self, probability: float) -> bool:
        """True with the given probability."""
        return self.dice.chance(probability)

    def kind(self, kinds: str) -> str:
        """One of the kinds of noun that the domain's lexicon has; abstract when it has none of them."""
        available = [kind for kind in kinds if noun_table(self.domain.letter, kind, self.topic).items]
        return self.dice.choice(available) if available else "a"

    def noun(self, kinds: str) -> Noun:
        """A noun of one of the kinds, remembered as ambiguous or as a cue to the topic."""
        noun = self.dice.draw(noun_table(self.domain.letter, kinds, self.topic))
        self.mention(noun)
        return noun

    def mention(self, noun: Noun) -> None:
        """Take note of a noun that the sentence uses."""
        if noun.singular in ambiguous_nouns():
            self._ambiguous = self._ambiguous or noun.topic != "-"
        elif noun.topic == self.topic:
            self._cued = True

    @property
    def needs_cue(self) -> bool:
        """Whether an ambiguous noun stands in the sentence without a noun of its topic."""
        return self._ambiguous and not self._cued
