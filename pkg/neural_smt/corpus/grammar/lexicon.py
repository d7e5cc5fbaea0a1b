"""The lexicon: entries of the tables in ``words/``, weighted by Zipf's law, one lexicon per domain.

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
"""

from bisect import bisect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from neural_smt.corpus.grammar import english, french
from neural_smt.corpus.grammar.fragments import read_table

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
    variants: dict[str, FrenchNoun] = field(default_factory=dict)

    def translation(self, domain: str) -> FrenchNoun:
        """The French noun a domain uses."""
        return self.variants.get(domain, self.french)


@dataclass(frozen=True, eq=False)
class Verb:
    """An English verb in one of its senses; ``french`` is the bare infinitive."""

    frame: str
    forms: english.VerbForms
    fixed: str  # English words that follow the verb
    particle: str  # an English particle that may follow the object
    french: str
    reflexive: bool
    french_fixed: str
    preposition: str  # of the French object
    subjects: str
    objects: str
    domains: str

    @property
    def copular(self) -> bool:
        """Whether English inflects it as ``be``: no ``do`` in questions and negations."""
        return self.forms.base == "be"

    @property
    def takes_etre(self) -> bool:
        """Whether French compound tenses are formed with être."""
        return self.reflexive or self.french in french.ETRE_VERBS


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
    if not plural:
        head, space, rest = singular.partition(" ")
        plural = singular if fixed else f"{french.pluralise(head)}{space}{rest}"
    return FrenchNoun(singular, plural, gender == "f")


@cache
def nouns() -> tuple[Noun, ...]:
    """Every noun of the table."""
    entries = []
    for row in read_table("nouns.tsv"):
        word, numbers = row["english"], row["numbers"]
        plural = row["english_plural"] or (word if numbers else english.pluralise(word))
        translation = _french_noun(row["french"], row["gender"], row["french_plural"], numbers)
        domain, _, variant = row["variant"].partition(" ")
        variants = {domain: _french_noun(*variant.split())} if domain else {}
        entries.append(
            Noun(word, plural, translation, row["class"][0], row["topic"], row["domains"], numbers, variants)
        )
    return tuple(entries)


@cache
def verbs() -> dict[str, tuple[Verb, ...]]:
    """Every verb and verbal idiom by frame."""
    frames: dict[str, list[Verb]] = {}
    for row in read_table("verbs.tsv"):
        fields: dict[str, Any] = {name: text for name, text in row.items() if name != "english"}
        fields["forms"] = english.verb_forms(row["english"])
        fields["reflexive"] = bool(row["reflexive"])
        fields["preposition"] = french.DE if row["preposition"] == "de" else row["preposition"]
        frames.setdefault(row["frame"], []).append(Verb(**fields))
    return {frame: tuple(entries) for frame, entries in frames.items()}


def adjective_forms(masculine: str) -> tuple[str, str, str, str]:
    """The regular forms: masculine, feminine, and their plurals."""
    feminine = french.feminise(masculine)
    return masculine, feminine, french.pluralise(masculine), f"{feminine}s"


@cache
def adjectives() -> tuple[Adjective, ...]:
    """Every adjective of the table."""
    entries = []
    for row in read_table("adjectives.tsv"):
        forms = row["masculine"], row["feminine"], row["masculine_plural"], row["feminine_plural"]
        forms = forms if forms[1] else adjective_forms(forms[0])
        entries.append(Adjective(row["english"], forms, row["position"] == "pre", row["classes"], row["domains"]))
    return tuple(entries)


@cache
def phrases() -> dict[str, tuple[Phrase, ...]]:
    """Adverbs and modifier nouns by kind."""
    kinds: dict[str, list[Phrase]] = {}
    for row in read_table("phrases.tsv"):
        kinds.setdefault(row["kind"], []).append(Phrase(row["english"], row["french"], row["domains"]))
    return {kind: tuple(entries) for kind, entries in kinds.items()}


CLASSES = {row["class"][0]: row["class"] for row in read_table("nouns.tsv")}
"""Classes of nouns by their first letters."""


@dataclass(frozen=True)
class Weighted(Generic[Item]):
    """Items and their cumulative weights."""

    items: Sequence[Item]
    cumulative: tuple[float, ...]

    @classmethod
    def of(cls, weights: dict[Item, float]) -> "Weighted[Item]":
        """Items -> weights, leaving out those of weight 0."""
        kept = {item: weight for item, weight in weights.items() if weight > 0}
        return cls(list(kept), tuple(accumulate(kept.values())))

    def at(self, fraction: float) -> Item:
        """The item at a fraction (0 to 1) of the total weight."""
        return self.items[bisect(self.cumulative, fraction * self.cumulative[-1])]


ZIPF_SHIFT = 2.0
"""Weights are 1 / (rank + shift), rank from 0: Zipf's law with Mandelbrot's shift."""

TOPIC_BOOST = 40.0
"""How much likelier a noun of the sentence's topic is."""

OFF_TOPIC = 0.25
"""The same for an unambiguous noun of another topic."""


def zipf(entries: Iterable[Item], domain: str) -> dict[Item, float]:
    """Zipfian weights of a domain's entries; their ranks differ from domain to domain, never by the corpus' seed."""
    ordered = sorted((entry for entry in entries if domain in entry.domains), key=repr)
    order = np.random.default_rng([ord(domain), len(ordered)]).permutation(len(ordered))
    return {ordered[index]: 1.0 / (rank + ZIPF_SHIFT) for rank, index in enumerate(order.tolist())}


class Lexicon:
    """The words of one domain (``n``, ``p`` or ``e``), with their frequencies."""

    def __init__(self, domain: str):
        senses: dict[str, set[str]] = {}
        for noun in nouns():
            senses.setdefault(noun.singular, set()).add(noun.french.singular)
        self.ambiguous = frozenset(word for word, meanings in senses.items() if len(meanings) > 1)
        self._nouns = zipf(nouns(), domain)
        self._adjectives = zipf(adjectives(), domain)
        self._verbs = {frame: zipf(entries, domain) for frame, entries in verbs().items()}
        self._phrases = {kind: zipf(entries, domain) for kind, entries in phrases().items()}
        self._tables: dict[tuple[str, ...], Weighted] = {}

    def _table(
        self, key: tuple[str, ...], weights: dict[Item, float], factor: Callable[[Item], float] = lambda _: 1.0
    ) -> Weighted[Item]:
        """The entries with their weights times a factor each; made once."""
        if key not in self._tables:
            self._tables[key] = Weighted.of({item: factor(item) * weight for item, weight in weights.items()})
        return self._tables[key]

    def noun_table(self, kinds: str, topic: str) -> Weighted[Noun]:
        """Nouns of some kinds in a sentence about ``topic``; an ambiguous noun only in the sense of the topic."""

        def factor(noun: Noun) -> float:
            if noun.kind not in kinds:
                return 0.0
            if noun.topic == topic:
                return TOPIC_BOOST if topic != "-" else 1.0
            if noun.topic == "-":
                return 1.0
            return 0.0 if noun.singular in self.ambiguous else OFF_TOPIC

        return self._table(("noun", kinds, topic), self._nouns, factor)

    def cue_table(self, topic: str) -> Weighted[Noun]:
        """Unambiguous nouns of a topic: those that tell which sense an ambiguous noun has."""

        def factor(noun: Noun) -> float:
            return noun.topic == topic and noun.singular not in self.ambiguous and noun.kind in "pglep"

        return self._table(("cue", topic), self._nouns, factor)

    def verb_table(self, frame: str) -> Weighted[Verb]:
        """Verbs of a frame."""
        return self._table(("verb", frame), self._verbs[frame])

    def adjective_table(self, kind: str) -> Weighted[Adjective]:
        """Adjectives that suit a noun of ``kind``."""
        return self._table(
            ("adjective", kind), self._adjectives, lambda entry: kind in entry.kinds or entry.kinds == "*"
        )

    def phrase_table(self, kind: str) -> Weighted[Phrase]:
        """Adverbs of a kind, or modifier nouns."""
        return self._table(("phrase", kind), self._phrases[kind])


@cache
def lexicon(domain: str) -> Lexicon:
    """The lexicon of a domain, built once."""
    return Lexicon(domain)
