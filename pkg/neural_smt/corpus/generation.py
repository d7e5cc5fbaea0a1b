"""The parts of the synthetic corpus: domains mixed, noise added, nothing of dev and test anywhere else."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from neural_smt.corpus.grammar.fragments import write
from neural_smt.corpus.grammar.lexicon import DOMAINS, Dice, Weighted
from neural_smt.corpus.grammar.sentences import SentencePair, sentence
from neural_smt.experiment.settings import section_settings

MIXTURES = {
    "test": {"news": 1.0},
    "dev": {"news": 1.0},
    "in_domain": {"news": 1.0},
    "gold": {"news": 2.0, "parliament": 1.0, "everyday": 1.0},
    "train": {"news": 3.0, "parliament": 3.5, "everyday": 3.5},
    "monolingual": {"news": 2.0, "parliament": 1.0, "everyday": 1.0},
}
"""The domains of each part; a part's random numbers depend on the seed and its place here only."""

LENGTHS = (4, 25)
"""Fewest and most tokens of a generated sentence, either side."""

FODDER_SHARE = 0.1
"""Of the noise, the fraction that cleaning can see: empty, overlong and unequal pairs."""


@dataclass
class Part:
    """Raw sentences of both languages and their gold links (Pharaoh), line by line."""

    source: list[str] = field(default_factory=list)
    target: list[str] = field(default_factory=list)
    alignment: list[str] = field(default_factory=list)

    def add(self, pair: SentencePair) -> None:
        """Write out a pair as the next line."""
        self.source.append(write(pair.source, "en"))
        self.target.append(write(pair.target, "fr"))
        self.alignment.append(" ".join(f"{i}-{j}" for i, j in pair.alignment))


def generate_corpus(settings: dict[str, Any], seed: int) -> dict[str, Part]:
    """Generate every part: train, in_domain, dev, test, gold, monolingual. settings: ``corpus.generator``.

    The sizes of the other parts do not change a part, except that sentences of dev and test are left out of them.
    """
    sizes = section_settings("corpus.generator", settings).as_dict()
    held_out: set[tuple[str, ...]] = set()
    parts = {name: Part() for name in MIXTURES}
    for number, (name, part) in enumerate(parts.items()):
        dice = Dice(np.random.default_rng([seed, number]))
        sentences = _Sentences(dice, Weighted(MIXTURES[name]), held_out, remember=name in ("dev", "test"))
        count, noise = (sizes["pairs"], sizes["noise"]) if name == "train" else (sizes[name], 0.0)
        for _ in range(count):
            if noise and dice.chance(noise):
                part.add(dice.choice(FODDER if dice.chance(FODDER_SHARE) else NOISE)(sentences))
            else:
                part.add(sentences.draw())
    return parts


@dataclass
class _Sentences:
    """A stream of sentence pairs of a mixture of domains, none with a side held out for dev or test."""

    dice: Dice
    domains: Weighted[str]
    held_out: set[tuple[str, ...]]
    remember: bool

    def draw(self) -> SentencePair:
        """The next pair of allowed length."""
        low, high = LENGTHS
        while True:
            pair = sentence(self.dice, DOMAINS[self.dice.draw(self.domains)])
            fits = low <= len(pair.source) <= high and low <= len(pair.target) <= high
            if fits and self.held_out.isdisjoint((pair.source, pair.target)):
                if self.remember:
                    self.held_out.update((pair.source, pair.target))
                return pair


def _misaligned(sentences: _Sentences) -> SentencePair:
    """The translation of another sentence."""
    return SentencePair(sentences.draw().source, sentences.draw().target, [])


def _untranslated(sentences: _Sentences) -> SentencePair:
    """A copy where the translation should be."""
    source = sentences.draw().source
    # The French tokeniser would split clitics and abbreviations elsewhere: then the links would not fit.
    while any("'" in token or token == "Mr." for token in source):
        source = sentences.draw().source
    return SentencePair(source, source, [(i, i) for i in range(len(source))])


def _truncated(sentences: _Sentences) -> SentencePair:
    """A translation that breaks off in the middle."""
    pair = sentences.draw()
    length = max(1, len(pair.target) // 2)
    return SentencePair(pair.source, pair.target[:length], [(i, j) for i, j in pair.alignment if j < length])


def _empty(sentences: _Sentences) -> SentencePair:
    pair = sentences.draw()
    return SentencePair((), pair.target, []) if sentences.dice.chance(0.5) else SentencePair(pair.source, (), [])


def _overlong(sentences: _Sentences) -> SentencePair:
    """Many sentences run together on one line: more tokens than cleaning lets pass."""
    source: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    alignment: list[tuple[int, int]] = []
    while len(source) <= 85:
        pair = sentences.draw()
        alignment += [(len(source) + i, len(target) + j) for i, j in pair.alignment]
        source, target = source + pair.source, target + pair.target
    return SentencePair(source, target, alignment)


def _unequal(sentences: _Sentences) -> SentencePair:
    """A whole sentence against a single word."""
    pair = sentences.draw()
    while len(pair.target) < 11:
        pair = sentences.draw()
    return SentencePair(pair.source[:1], pair.target, [(i, j) for i, j in pair.alignment if i == 0])


NOISE: tuple[Callable[[_Sentences], SentencePair], ...] = (_misaligned, _misaligned, _untranslated, _truncated)
FODDER: tuple[Callable[[_Sentences], SentencePair], ...] = (_empty, _overlong, _unequal)
