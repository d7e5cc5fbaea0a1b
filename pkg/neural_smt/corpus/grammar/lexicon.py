"""The tables of the lexicon, parsed into entries and weighted by Zipf's law, one lexicon per domain."""

import re
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from neural_smt.corpus.grammar import english, french
from neural_smt.corpus.grammar.modifiers import ADJECTIVES, ADVERBS, MODIFIER_NOUNS
from neural_smt.corpus.grammar.nouns import NOUNS
from neural_smt.corpus.grammar.verbs import IDIOMS, VERBS

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


def _sections(table: str) -> Iterator[tuple[list[str], str]]:
    """Yield (fields of the section's header, entry) for every entry of a table."""
    header: list[str] = []
    for line in table.strip().splitlines():
        if line.startswith("["):
            header = line.strip("[]").split()
            continue
        for entry in filter(None, (piece.strip() for piece in line.split(";"))):
            yield header, entry


def _spaced(text: str) -> str:
    return re.sub(r"'(?=\w)", "' ", text.replace("_", " ").replace("'_", "' "))


def _french_noun(text: str) -> tuple[FrenchNoun, str]:
    forms, gender, *numbers = text.split()
    singular, _, plural = forms.partition("/")
    fixed = numbers[0] if numbers else ""
    if not plural:
        head, space, rest = _spaced(singular).partition(" ")
        plural = singular if fixed else f"{french.pluralise(head)}{space}{rest}"
    return FrenchNoun(_spaced(singular), _spaced(plural), gender == "f"), fixed


@cache
def nouns() -> tuple[Noun, ...]:
    """Every noun of the table."""
    entries = []
    for (kind, domains, topic), entry in _sections(NOUNS):
        source, _, target = entry.partition(" = ")
        main, *others = target.split("~")
        translation, numbers = _french_noun(main)
        variants = {other[0]: _french_noun(other[2:])[0] for other in others}
        singular, _, plural = source.replace("_", " ").partition("/")
        plural = plural or (singular if numbers else english.pluralise(singular))
        entries.append(Noun(singular, plural, translation, kind[0], topic, domains, numbers, variants))
    return tuple(entries)


def _verb(frame: str, source: str, target: str, subjects: str, objects: str, domains: str) -> Verb:
    head, plus, particle = source.partition("+")
    head, _, fixed = head.partition("_")
    reflexive = target.startswith(("se_", "s'"))
    infinitive, _, rest = target.removeprefix("se_").removeprefix("s'").partition("_")
    words = rest.split("_") if rest else []
    preposition = words.pop() if words and words[-1] in ("à", "de", "avec", "sur", "pour", "dans") else ""
    return Verb(
        frame=frame,
        forms=english.verb_forms(head),
        fixed=fixed.replace("_", " "),
        particle=particle if plus else "",
        french=infinitive,
        reflexive=reflexive,
        french_fixed=_spaced(" ".join(words)),
        preposition=french.DE if preposition == "de" else preposition,
        subjects=subjects,
        objects=objects,
        domains=domains,
    )


@cache
def verbs() -> dict[str, tuple[Verb, ...]]:
    """Every verb and verbal idiom by frame."""
    frames: dict[str, list[Verb]] = {}
    for (frame, domains), entry in (*_sections(VERBS), *_sections(IDIOMS)):
        source, _, target = entry.partition(" = ")
        translation, classes = target.rsplit(" ", 1)
        subjects, _, objects = classes.partition(">")
        frames.setdefault(frame, []).append(_verb(frame, source, translation, subjects, objects, domains))
    return {frame: tuple(entries) for frame, entries in frames.items()}


@cache
def adjectives() -> tuple[Adjective, ...]:
    """Every adjective of the table."""
    entries = []
    for (domains,), entry in _sections(ADJECTIVES):
        source, _, target = entry.partition(" = ")
        forms, position, kinds = target.split()
        masculine, *others = forms.split("/")
        if not others:
            plain = masculine.partition("|")[0]
            feminine = french.feminise(plain)
            others = [feminine, french.pluralise(plain), f"{feminine}s"]
        entries.append(Adjective(source, (masculine, *others), position == "pre", kinds, domains))
    return tuple(entries)


@cache
def phrases(table_name: str) -> dict[str, tuple[Phrase, ...]]:
    """Adverbs by kind (``ADVERBS``) or modifier nouns (``MODIFIER_NOUNS``, all of kind ``noun``)."""
    kinds: dict[str, list[Phrase]] = {}
    table = {"ADVERBS": ADVERBS, "MODIFIER_NOUNS": MODIFIER_NOUNS}[table_name]
    for header, entry in _sections(table):
        source, _, target = entry.partition(" = ")
        kind = header[0] if len(header) > 1 else "noun"
        kinds.setdefault(kind, []).append(Phrase(source.replace("_", " "), _spaced(target), header[-1]))
    return {kind: tuple(entries) for kind, entries in kinds.items()}


@dataclass(frozen=True)
class Weighted(Generic[Item]):
    """Items and their cumulative weights."""

    items: Sequence[Item]
    cumulative: tuple[float, ...]

    @classmethod
    def of(cls, items: Sequence[Item], weights: Sequence[float]) -> "Weighted[Item]":
        """Pair items with weights, leaving out those of weight 0."""
        kept = [(item, weight) for item, weight in zip(items, weights, strict=True) if weight > 0]
        return cls([item for item, _ in kept], tuple(accumulate(weight for _, weight in kept)))

    def at(self, fraction: float) -> Item:
        """The item at a fraction (0 to 1) of the total weight."""
        return self.items[bisect(self.cumulative, fraction * self.cumulative[-1])]


ZIPF_SHIFT = 2.0
"""Weights are 1 / (rank + shift), rank from 0: Zipf's law with Mandelbrot's shift."""

TOPIC_BOOST = 40.0
"""How much likelier a noun of the sentence's topic is."""

OFF_TOPIC = 0.25
"""The same for an unambiguous noun of another topic."""


def zipf(items: Sequence[Item], name: Callable[[Item], str], domain: str) -> dict[Item, float]:
    """Zipfian weights; the ranks are shuffled differently in every domain, but never by the corpus' seed."""
    order = np.random.default_rng([ord(domain), len(items)]).permutation(len(items))
    ordered = sorted(items, key=name)
    return {ordered[index]: 1.0 / (rank + ZIPF_SHIFT) for rank, index in enumerate(order.tolist())}


class Lexicon:
    """The words of one domain (``n``, ``p`` or ``e``), with their frequencies."""

    def __init__(self, domain: str):
        self.domain = domain
        self._nouns = zipf([noun for noun in nouns() if domain in noun.domains], repr, domain)
        senses: dict[str, set[str]] = {}
        for noun in nouns():
            senses.setdefault(noun.singular, set()).add(noun.french.singular)
        self.ambiguous = frozenset(word for word, meanings in senses.items() if len(meanings) > 1)
        self._verbs = {
            frame: zipf([verb for verb in entries if domain in verb.domains], repr, domain)
            for frame, entries in verbs().items()
        }
        self._adjectives = zipf([entry for entry in adjectives() if domain in entry.domains], repr, domain)
        self._cache: dict[tuple[str, ...], Weighted | None] = {}

    def _table(self, key: tuple[str, ...], make: Callable[[], Weighted]) -> Weighted:
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]

    def noun_table(self, kinds: str, topic: str) -> Weighted[Noun]:
        """Nouns of some kinds in a sentence about ``topic``; an ambiguous noun only in the sense of the topic."""

        def weight(noun: Noun) -> float:
            if noun.kind not in kinds:
                return 0.0
            if noun.topic == topic:
                return TOPIC_BOOST if topic != "-" else 1.0
            if noun.topic == "-":
                return 1.0
            return 0.0 if noun.singular in self.ambiguous else OFF_TOPIC

        def make() -> Weighted[Noun]:
            items = list(self._nouns)
            return Weighted.of(items, [weight(noun) * self._nouns[noun] for noun in items])

        return self._table(("noun", kinds, topic), make)

    def cue_table(self, topic: str) -> Weighted[Noun]:
        """Unambiguous nouns of a topic: those that tell which sense an ambiguous noun has."""

        def make() -> Weighted[Noun]:
            items = [
                n for n in self._nouns if n.topic == topic and n.singular not in self.ambiguous and n.kind in "pglep"
            ]
            return Weighted.of(items, [self._nouns[noun] for noun in items])

        return self._table(("cue", topic), make)

    def verb_table(self, frame: str) -> Weighted[Verb]:
        """Verbs of a frame."""
        weights = self._verbs[frame]
        return self._table(("verb", frame), lambda: Weighted.of(list(weights), list(weights.values())))

    def adjective_table(self, kind: str) -> Weighted[Adjective]:
        """Adjectives that suit a noun of ``kind``."""

        def make() -> Weighted[Adjective]:
            items = list(self._adjectives)
            suits = [kind in entry.kinds or entry.kinds == "*" for entry in items]
            return Weighted.of(
                items, [self._adjectives[entry] * suit for entry, suit in zip(items, suits, strict=True)]
            )

        return self._table(("adjective", kind), make)

    def phrase_table(self, table_name: str, kind: str) -> Weighted[Phrase]:
        """Adverbs of a kind, or modifier nouns."""

        def make() -> Weighted[Phrase]:
            entries = [entry for entry in phrases(table_name)[kind] if self.domain in entry.domains]
            weights = zipf(entries, repr, self.domain)
            return Weighted.of(list(weights), list(weights.values()))

        return self._table((table_name, kind), make)


@cache
def lexicon(domain: str) -> Lexicon:
    """The lexicon of a domain, built once."""
    return Lexicon(domain)
