"""What translating a sentence gives, whatever the system."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np


@dataclass(frozen=True)
class Phrase:
    """A phrase pair that was used.

    source, target: half-open ranges of words; features: float64 ``[F]``, what it adds to the scores, unweighted. What a
    network says of whole translations alone is in no phrase.
    """

    source: tuple[int, int]
    target: tuple[int, int]
    features: np.ndarray


@dataclass(frozen=True)
class Origin:
    """Why a word was one of those that an attention network could write.

    dictionary: source words that the dictionary translates with it, each with w(t|s); phrases: source and target
    phrases with it, each with p(e|f); frequent: its rank among the most frequent words, from 1 (0: it is in every
    set; None: it is not among them); replaced: of a word in place of the unknown one, the source word it stands for.
    """

    dictionary: list[tuple[str, float]] = field(default_factory=list)
    phrases: list[tuple[str, str, float]] = field(default_factory=list)
    frequent: int | None = None
    replaced: int | None = None


@dataclass(frozen=True)
class Candidate:
    """One translation.

    features: float64 ``[F]``; score: what candidates are ordered by; alignment: (source, target) word positions;
    phrases: in target order, of systems that use some; origins: of each word, of systems that write word by word, where
    that was asked for.
    """

    tokens: list[str]
    score: float
    features: np.ndarray
    alignment: list[tuple[int, int]] = field(default_factory=list)
    phrases: list[Phrase] = field(default_factory=list)
    origins: list[Origin] = field(default_factory=list)


@dataclass(frozen=True)
class Translated:
    """A sentence and its translations, best first, at least one."""

    source: list[str]
    candidates: list[Candidate]

    @property
    def best(self) -> Candidate:
        return self.candidates[0]


class Translator(Protocol):
    """A system that is ready to translate.

    names, weights: of its F scores (float64 ``[F]``); batch: sentences that are best given at once.
    """

    names: Sequence[str]
    weights: np.ndarray
    batch: int

    def translate(self, sentences: Sequence[list[str]], nbest: int = 1, explained: bool = False) -> list[Translated]:
        """At most ``nbest`` translations of each tokenised sentence; explained: with ``origins``."""
        ...
