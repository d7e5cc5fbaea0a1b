"""The state of one sentence while its rules apply: dice, keys, domain, topic, and what needs a cue."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import yaml

from neural_smt.corpus.grammar.fragments import WORDS, Pair, words
from neural_smt.corpus.grammar.french import elidable
from neural_smt.corpus.grammar.lexicon import Lexicon, Noun, Weighted, lexicon
from neural_smt.experiment.settings import Settings

Item = TypeVar("Item")


def _read_domains() -> dict[str, Settings]:
    declared = yaml.safe_load((WORDS / "domains.yaml").read_text(encoding="utf-8"))
    return {
        name: Settings({k: Weighted.of(v) if isinstance(v, dict) else v for k, v in domain.items()} | {"name": name})
        for name, domain in declared.items()
    }


DOMAINS = _read_domains()
"""Registers of the language, as ``words/domains.yaml`` describes them."""


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
        return table.at(self.fraction())


class Derivation:
    """One sentence in the making."""

    def __init__(self, dice: Dice, domain: Settings):
        self.dice = dice
        self.domain = domain
        self.lexicon: Lexicon = lexicon(domain.letter)
        self.topic = dice.draw(domain.topics)
        self.depth = 0  # of clauses inside noun phrases
        self._keys = 0
        self._ambiguous = False
        self._cued = False

    def key(self) -> int:
        """A key no other concept of the sentence has."""
        self._keys += 1
        return self._keys

    def block(self, english: str, french: str) -> Pair:
        """Words that translate each other as one concept; the French ones elide where they can."""
        key = self.key()
        return Pair(words(english, key), elidable(french, key))

    def chance(self, probability: float) -> bool:
        """True with the given probability."""
        return self.dice.chance(probability)

    def kind(self, kinds: str) -> str:
        """One of the kinds of noun that the domain's lexicon has; abstract when it has none of them."""
        available = [kind for kind in kinds if self.lexicon.noun_table(kind, self.topic).items]
        return self.dice.choice(available) if available else "a"

    def noun(self, kinds: str) -> Noun:
        """A noun of one of the kinds, remembered as ambiguous or as a cue to the topic."""
        noun = self.dice.draw(self.lexicon.noun_table(kinds, self.topic))
        self.mention(noun)
        return noun

    def mention(self, noun: Noun) -> None:
        """Take note of a noun that the sentence uses."""
        if noun.singular in self.lexicon.ambiguous:
            self._ambiguous = self._ambiguous or noun.topic != "-"
        elif noun.topic == self.topic:
            self._cued = True

    @property
    def needs_cue(self) -> bool:
        """Whether an ambiguous noun stands in the sentence without a noun of its topic."""
        return self._ambiguous and not self._cued
