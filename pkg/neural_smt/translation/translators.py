"""What translating a sentence gives, whatever the system; the translator of a system, here that of searched ones."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from neural_smt.decoding.search import Decoder
from neural_smt.decoding.translations import NBestEntry
from neural_smt.errors import UserError
from neural_smt.experiment.system_folder import System

if TYPE_CHECKING:
    from neural_smt.vocabulary_selection.steps import Reasons


@dataclass(frozen=True)
class Origin:
    """Why a word was one of those that an attention network could write.

    reasons: what brought it into the vocabulary of the sentence; replaced: of a word in place of the unknown one, the
    source word it stands for.
    """

    reasons: "Reasons"
    replaced: int | None = None


@dataclass(frozen=True)
class Candidate(NBestEntry):
    """One translation.

    score: what candidates are ordered by; trace: its links, always there, and its phrases where it is made of some,
    which have nothing of what a network says of whole translations alone; origins: of each word, of systems that write
    word by word, where that was asked for; text: as a person spells it, of a line of text.
    """

    origins: list[Origin] = field(default_factory=list)
    text: str = ""


@dataclass(frozen=True)
class Translated:
    """A sentence (its tokens) and its translations, best first, at least one; line: the text that it is made of."""

    source: list[str]
    candidates: list[Candidate]
    line: str = ""

    @property
    def best(self) -> Candidate:
        return self.candidates[0]


class Translator(Protocol):
    """A system that is ready to translate.

    names, weights: of its F scores (float64 ``[F]``); batch: sentences that are best given at once.
    """

    batch: int

    @property
    def names(self) -> Sequence[str]: ...

    @property
    def weights(self) -> np.ndarray: ...

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
    tuned = system.weights(run)
    if system["kind"] == "search":
        return SearchTranslator(Decoder.load(system, tuned, threads, device))
    from neural_smt.translation.reranking import LatticeTranslator, ListTranslator

    kind: Any = LatticeTranslator if system["kind"] == "lattices" else ListTranslator
    return kind.load(system, Decoder.load(system.base, system.base.weights(run), threads, device), tuned, device)


def check_inputs(system: System) -> None:
    """Raise ``UserError`` for a system that reads what only texts with references have."""
    networks = system.content.get("networks") or [system.content.get("network") or {}]
    if any(network.get("reads") == "target" for network in networks):
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
        found = self.decoder.decode(list(sentences), nbest, traced=nbest)
        return [
            Translated(source, [self._candidate(entry) for entry in translation.nbest])
            for source, translation in zip(sentences, found, strict=True)
        ]

    def _candidate(self, entry: NBestEntry) -> Candidate:
        """An entry of a list; what the search only estimates of a feature is in none of its phrases."""
        made = entry.trace
        if self.decoder.feature and self.decoder.feature.estimated:
            rows = made.features.copy()
            rows[:, self.decoder.column] = 0.0
            made = replace(made, features=rows)
        return Candidate(entry.tokens, entry.features, entry.score, made)
