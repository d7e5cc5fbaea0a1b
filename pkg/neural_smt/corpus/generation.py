"""The parts of the synthetic corpus: domains mixed, noise added, nothing of dev and test anywhere else."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from neural_smt.corpus.grammar.fragments import write
from neural_smt.corpus.grammar.lexicon import DOMAINS, Dice, Weighted
from neural_smt.corpus.grammar.sentences import SentencePair, sentence
from neural_smt.experiment.settings import Settings, section_settings
from neural_smt.shards import in_processes

MIXTURES = {
    "test": {"news": 1.0},
    "dev": {"news": 1.0},
    "in_domain": {"news": 1.0},
    "gold": {"news": 2.0, "parliament": 1.0, "everyday": 1.0},
    "train": {"news": 3.0, "parliament": 3.5, "everyday": 3.5},
    "monolingual": {"news": 2.0, "parliament": 1.0, "everyday": 1.0},
}
"""The domains of each part; a part's random numbers depend on the seed and its place here only."""

HELD_OUT = ("test", "dev")
"""Parts of which nothing is in another one, small enough for memory."""

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


BLOCK = 20_000
"""Pairs that are generated together, with random numbers of their own."""


class Block(NamedTuple):
    """Block ``number`` (from 0) of a part, of so many pairs, of which a fraction is noise."""

    part: str
    number: int
    pairs: int
    noise: float


def generate_corpus(settings: dict[str, Any], seed: int, processes: int = 1) -> Iterator[tuple[str, Part]]:
    """Yield every part, in blocks: test, dev, in_domain, gold, train, monolingual.

    settings: ``corpus.generator``. The sizes of the other parts do not change a part, except that sentences of dev and
    test are left out of them; nor does the number of processes.
    """
    given = section_settings("corpus.generator", settings)
    sizes = given.as_dict() | {"train": given.pairs}
    surnames = {"invented": given.invented, "syllables": given.syllables}
    domains = {name: domain.replace(**surnames) for name, domain in DOMAINS.items()}
    held_out: set[tuple[str, ...]] = set()
    for name in HELD_OUT:
        part = _generate(Block(name, 0, sizes[name], 0.0), held_out, seed, domains)
        yield name, part
    blocks = [
        Block(name, number, min(BLOCK, sizes[name] - first), given.noise if name == "train" else 0.0)
        for name in MIXTURES
        if name not in HELD_OUT
        for number, first in enumerate(range(0, sizes[name], BLOCK))
    ]
    work = partial(_generate, held_out=held_out, seed=seed, domains=domains)
    parts = in_processes(work, blocks, min(processes, len(blocks)))
    for block, part in zip(blocks, parts, strict=True):
        yield block.part, part


def _generate(block: Block, held_out: set[tuple[str, ...]], seed: int, domains: Mapping[str, Settings]) -> Part:
    """A block; sentences of a part that is held out are added to ``held_out``."""
    numbers = [seed, [*MIXTURES].index(block.part), *([block.number] if block.number else [])]
    dice = Dice(np.random.default_rng(numbers))
    sentences = _Sentences(dice, Weighted(MIXTURES[block.part]), domains, held_out, block.part in HELD_OUT)
    part = Part()
    for _ in range(block.pairs):
        if block.noise and dice.chance(block.noise):
            part.add(dice.choice(FODDER if dice.chance(FODDER_SHARE) else NOISE)(sentences))
        else:
            part.add(sentences.draw())
    return part


@dataclass
class _Sentences:
    """A stream of sentence pairs of a mixture of domains, none with a side held out for dev or test."""

    dice: Dice
    mixture: Weighted[str]
    domains: Mapping[str, Settings]
    held_out: set[tuple[str, ...]]
    remember: bool

    def draw(self) -> SentencePair:
        """The next pair of allowed length."""
        low, high = LENGTHS
        while True:
            pair = sentence(self.dice, self.domains[self.dice.draw(self.mixture)])
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
