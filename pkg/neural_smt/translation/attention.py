"""Systems that are an attention network, with target vocabularies that are made for each sentence as it comes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from neural_smt.decoding.attention.results import Hypothesis
from neural_smt.decoding.attention.search import Translator as Network
from neural_smt.decoding.scorers.attention import FEATURE
from neural_smt.decoding.translations import no_phrases
from neural_smt.experiment.settings import Settings, section_settings
from neural_smt.experiment.system_folder import System
from neural_smt.networks.folder import VOCABULARY
from neural_smt.translation.translators import Candidate, Origin, Translated
from neural_smt.vocabulary import RESERVED, UNK
from neural_smt.vocabulary_selection.building import Sources, build_sets, load_sources
from neural_smt.vocabulary_selection.candidates import SIZES, CandidateSets
from neural_smt.vocabulary_selection.steps import Reasons, explain

FIRST_RANK = len(RESERVED) - 1
"""What the rank of a word among the most frequent ones, from 1, is behind its id."""


@dataclass(frozen=True)
class SetMaker:
    """Makes the target vocabularies of new sentences (Mi et al. 2016, section 3.1)."""

    sources: Sources
    settings: Settings

    @classmethod
    def load(cls, network: Mapping[str, Any]) -> "SetMaker | None":
        """For a network of a system's description; None where it takes all words."""
        made_of = network["candidates"]
        if made_of is None:
            return None
        files = {key: path for key, path in made_of.items() if key != "sizes"}
        words = network["model"] / f"{VOCABULARY}.target"
        settings = section_settings(SIZES, made_of["sizes"])
        return cls(load_sources(network_vocabulary=words, settings=settings, **files), settings)

    def sets(self, lines: list[str]) -> CandidateSets:
        """Of tokenised sentences."""
        return build_sets(self.sources, self.settings, lines)

    def reasons(self, line: str) -> dict[int, Reasons]:
        """Why each word of a sentence's vocabulary is there."""
        return explain(self.sources, self.settings, line)


@dataclass(frozen=True)
class AttentionTranslator:
    """An attention network alone; maker: of target vocabularies, None for all words."""

    network: Network
    maker: SetMaker | None

    names = (FEATURE,)
    weights = np.ones(1)
    batch = 64

    @classmethod
    def load(cls, system: System, device: str) -> "AttentionTranslator":
        """See the rule ``translate_attention``."""
        return cls(Network.load(system, device), SetMaker.load(system["network"]))

    def translate(self, sentences: Sequence[list[str]], nbest: int = 1, explained: bool = False) -> list[Translated]:
        """See ``Translator``."""
        lines = [" ".join(tokens) for tokens in sentences]
        found = self.network.search(lines, self.maker.sets(lines) if self.maker and lines else None)
        result = []
        for source, line, hypotheses in zip(sentences, lines, found.hypotheses, strict=True):
            reasons = self.maker.reasons(line) if explained and self.maker else {}
            candidates = [
                Candidate(
                    self.network.tokens(hypothesis, source),
                    np.array([hypothesis.score]),
                    hypothesis.ranked_by(self.network.settings.normalise),
                    no_phrases(1, hypothesis.links(len(source))),
                    self._origins(hypothesis, reasons) if explained else [],
                )
                for hypothesis in hypotheses[: max(1, nbest)]
            ]
            result.append(Translated(source, candidates))
        return result

    def _origins(self, hypothesis: Hypothesis, reasons: Mapping[int, Reasons]) -> list[Origin]:
        """Where each word comes from; one that is in no list was brought by its frequency."""
        replaces = self.network.settings.replace_unknown
        return [
            Origin(
                reasons.get(word, Reasons(frequent=max(word - FIRST_RANK, 0))), at if replaces and word == UNK else None
            )
            for word, at in zip(hypothesis.words.tolist(), hypothesis.aligned.tolist(), strict=True)
        ]
