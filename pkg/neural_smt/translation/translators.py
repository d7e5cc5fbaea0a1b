"""What translating a sentence gives, whatever the system; the translator of a system, here that of searched ones."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from neural_smt.decoding.features import Weights
from neural_smt.decoding.loading import load_decoder
from neural_smt.decoding.nbest import NBestEntry, Trace
from neural_smt.decoding.search import Decoder, Translation
from neural_smt.errors import UserError
from neural_smt.experiment.system_folder import System


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


def load_translator(system: System, run: int = 1, device: str = "cpu", threads: int = 1) -> Translator:
    """A tuned system of any kind, ready to translate.

    Raises ``UserError`` where one of its files is missing, or new text has not what it reads.
    """
    check_inputs(system)
    if system["kind"] == "attention":
        from neural_smt.translation.attention import AttentionTranslator  # loads PyTorch

        return AttentionTranslator.load(system, device)
    if system["kind"] == "search":
        return SearchTranslator(load_decoder(system, system.weights(run), threads, device))
    from neural_smt.translation.reranking import LatticeTranslator, ListTranslator

    weights = Weights.load(system.weights(run))
    decoder = load_decoder(system.base, system.base.weights(run), threads, device)
    kind = LatticeTranslator if system["kind"] == "lattices" else ListTranslator
    return kind.load(system, decoder, weights, device)


def check_inputs(system: System) -> None:
    """Raise ``UserError`` for a system that reads what only texts with references have."""
    if (system.content.get("network") or {}).get("reads") == "target":
        name = system["name"]
        raise UserError(f"system '{name}' reads references, which new text has none of; translate with another")


@dataclass(frozen=True)
class SearchTranslator:
    """A system that is searched."""

    decoder: Decoder

    batch = 64

    @property
    def names(self) -> list[str]:
        """One name per score."""
        return self.decoder.feature_set.names

    @property
    def weights(self) -> np.ndarray:
        """float64 ``[F]``."""
        return self.decoder.vector

    def translate(self, sentences: Sequence[list[str]], nbest: int = 1, explained: bool = False) -> list[Translated]:
        """See ``Translator``."""
        found = self.decoder.decode(list(sentences), nbest, traced=True)
        whole = whole_scores(self.decoder)
        return [
            Translated(source, [candidate(entry, whole) for entry in listed(translation)])
            for source, translation in zip(sentences, found, strict=True)
        ]


def whole_scores(decoder: Decoder) -> list[int]:
    """The scores that only whole translations have exactly: that of a feature that the search only estimates."""
    return [decoder.column] if decoder.feature and decoder.feature.estimated else []


def listed(translation: Translation) -> Sequence[NBestEntry]:
    """The entries of the list of a translation: one at least."""
    return translation.nbest or [NBestEntry(translation.tokens, translation.features, translation.score)]


def candidate(entry: NBestEntry, whole: list[int]) -> Candidate:
    """An entry of an n-best list, with its phrases, which have nothing of the scores ``whole``."""
    trace = entry.trace or Trace([], [], np.zeros((0, len(entry.features)), np.float32))
    rows = trace.features.astype(np.float64)
    rows[:, whole] = 0.0
    phrases = [Phrase(tuple(s[:2]), tuple(s[2:]), row) for s, row in zip(trace.segmentation, rows, strict=True)]
    return Candidate(entry.tokens, entry.score, entry.features.astype(np.float64), trace.alignment, phrases)
