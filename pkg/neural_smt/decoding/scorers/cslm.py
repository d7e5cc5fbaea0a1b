"""The CSLM: a stateful feature of the search (Cho et al. 2014, section 4.1.2), and a scorer of lists and lattices."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from neural_smt.decoding.features import column_name
from neural_smt.decoding.model import TranslationModel
from neural_smt.decoding.scorers.interface import StepScorer, TargetNetwork, TargetText
from neural_smt.decoding.scorers.ngrams import NgramCache, NgramFeature
from neural_smt.experiment.settings import section_settings
from neural_smt.experiment.system_folder import System
from neural_smt.io.ragged import Ragged
from neural_smt.language_model.model import NgramModel
from neural_smt.networks.cslm import CslmNetwork, CslmScorer
from neural_smt.networks.device import select_device
from neural_smt.networks.folder import Trained
from neural_smt.vocabulary import BOS, Vocabulary

log = logging.getLogger(__name__)

FEATURE = column_name("cslm")

SAMPLE = 8192
"""Contexts that normalisers are estimated from."""

PHRASES = 6
"""Phrases of one of their sentences."""

FALLBACK_LM = "LM0"
"""The n-gram model that leads the search until the CSLM has scored, and stands for it in future costs."""

TRANSLATIONS = 4096
"""Listed translations scored at a time."""


class CslmFeature(NgramFeature):
    """The feature ``Cslm0``: ``score`` is an ``NgramCache`` around the CSLM.

    The search is ``estimated`` or ``exact``. Estimates tell which hypotheses of the n-gram model's stacks are extended,
    and translations and n-best lists get exact scores all the same; so do lattices, which are searched exactly. Where
    all words that the CSLM reads must agree for hypotheses to be recombined, stacks fill with what hardly differs: on
    news the search then lost 0.4 BLEU under equal weights. The exact search, the paper's, does that, and scores the
    candidates of a stack before it is pruned (four times as many as it will hold, by the n-gram model's scores).
    """

    score: NgramCache
    exact: NgramCache | None = None

    @classmethod
    def load(
        cls,
        folder: Path,
        language_model: NgramModel,
        vocabulary: Vocabulary,
        settings: Mapping[str, Any],
        device: str = "cpu",
        phrases: Ragged | None = None,
    ) -> "CslmFeature":
        """The CSLM in a model folder, beside the n-gram model of the same target ``vocabulary``.

        settings: of the section ``decoding.cslm``; phrases: target phrases (ids), contexts made of which
        normalisers are estimated from; without them, and where the search is exact, they are exact.
        """
        chosen = section_settings("decoding.cslm", settings)
        trained = Trained.load(folder, CslmNetwork, select_device(device))
        scorer = CslmScorer(
            trained, language_model, vocabulary, chosen.precision, chosen.out_of_shortlist, chosen.cache
        )
        exact = NgramCache(OneThreadEach(scorer), chosen.cache)
        if chosen.search == "exact":
            return cls(FEATURE, scorer.history, exact, fallback_lm=FALLBACK_LM, lazy=False)
        recombined = None if chosen.recombination < 0 else chosen.recombination
        if phrases is None or len(phrases) == 0:
            return cls(FEATURE, scorer.history, exact, recombination=recombined, fallback_lm=FALLBACK_LM)
        words = None if chosen.context < 0 else chosen.context
        estimating = scorer.estimating(sample_contexts(phrases, scorer.history), words)
        log.info("CSLM: normalisers are estimated with an error of %.2f (natural log)", estimating.normalisers.error)
        estimate = NgramCache(OneThreadEach(estimating), chosen.cache)
        return cls(FEATURE, estimating.history, estimate, exact, recombined, FALLBACK_LM, exact_history=scorer.history)

    def statistics(self) -> dict[str, Any]:
        """The counts of the cache, for a report; those of exact scores apart where the search estimates."""
        return self.score.statistics() | ({"exact": self.exact.statistics()} if self.exact else {})


@dataclass
class CslmScoring(TargetNetwork):
    """A CSLM that scores n-best lists and lattices; words beyond the vocabulary are scored as copied words are in the
    search.
    """

    cslm: NgramFeature
    vocabulary: Vocabulary
    feature: str = FEATURE

    def ids(self, words: Sequence[str]) -> np.ndarray:
        """See ``TargetNetwork``."""
        index, beyond = self.vocabulary.index, len(self.vocabulary)
        return np.array([index.get(word, beyond) for word in words], dtype=np.int32)

    def on(self, text: TargetText) -> "CslmTextScorer":
        """See ``TargetNetwork``; nothing is read of the source sentences."""
        return CslmTextScorer(self.cslm.accurate(), len(text.numbers), len(self.vocabulary) + 1)

    def describe(self) -> str:
        """What was computed, as a line for the log."""
        return self.cslm.describe()


def feature_of(system: System, model: TranslationModel, device: str) -> CslmFeature:
    """The CSLM that a system is searched with, beside the n-gram model that its network names, or the first."""
    folder, settings = system.of_network("model"), system["network"].get("settings", {})
    models, vocabulary, phrases = system["language_models"], model.target_vocabulary, model.phrase_table.some_targets()
    named = system["network"].get("language_model")
    beside = model.language_models[models.index(named) if named in models else 0]
    return CslmFeature.load(folder, beside, vocabulary, settings, device, phrases)


def load_scorer(system: System, *, device: str = "cpu", **reading: Any) -> CslmScoring:
    """The CSLM that a system reranks with; it reads nothing of the source sentences."""
    vocabulary = Vocabulary.load(system.base["target_vocabulary"])
    beside = NgramModel.load(system.of_network("language_model"), vocabulary)
    settings = system.of_network("settings")
    return CslmScoring(CslmFeature.load(system.of_network("model"), beside, vocabulary, settings, device), vocabulary)


@dataclass(frozen=True)
class Contexts:
    """States of an n-gram model: the last words, int32 ``[n, history]``; score: see ``NgramFeature``."""

    words: np.ndarray
    score: Callable[[np.ndarray, np.ndarray], np.ndarray]

    def __len__(self) -> int:
        return len(self.words)

    def take(self, rows: np.ndarray) -> "Contexts":
        """See ``States``."""
        return Contexts(self.words[rows], self.score)

    def scores(self, rows: np.ndarray, words: np.ndarray) -> np.ndarray:
        """See ``Predictions``; each distinct n-gram is scored once."""
        ngrams = np.column_stack([self.words[rows], words]).astype(np.int32)
        distinct, number = np.unique(ngrams, axis=0, return_inverse=True)
        return self.score(np.ascontiguousarray(distinct[:, :-1]), distinct[:, -1].copy())[number.reshape(-1)]

    def extend(self, rows: np.ndarray, words: np.ndarray) -> "Contexts":
        """See ``Predictions``."""
        return Contexts(np.column_stack([self.words[rows], words]).astype(np.int32)[:, 1:], self.score)


class CslmTextScorer(StepScorer):
    """The CSLM on the translations of a text; its words are ids below ``size``."""

    def __init__(self, cslm: NgramFeature, sentences: int, size: int):
        self.cslm, self.history = cslm, cslm.history
        self.lengths = np.zeros(sentences, dtype=np.int64)
        self.class_of_word = np.zeros(size, dtype=np.int32)

    def start(self, sentences: np.ndarray) -> Contexts:
        """See ``StepScorer``."""
        return Contexts(np.full((len(sentences), self.cslm.history), BOS, dtype=np.int32), self.cslm.score)

    def predict(self, states: Contexts) -> Contexts:
        """See ``StepScorer``: contexts are all that predictions need."""
        return states

    def join(self, parts: Sequence[Contexts]) -> Contexts:
        """See ``StepScorer``."""
        return Contexts(np.concatenate([part.words for part in parts]), self.cslm.score)

    def score(
        self, targets: Ragged, sentences: np.ndarray, links: np.ndarray | None = None, shared: bool = True
    ) -> tuple[np.ndarray, int]:
        """See ``TextScorer``: equal translations are scored once, and n-grams are shared in place of prefixes."""
        numbers: dict[bytes, int] = {}
        row_of = np.array([numbers.setdefault(ids.tobytes(), len(numbers)) for ids in targets], dtype=np.int64)
        distinct = targets.take(np.unique(row_of, return_index=True)[1])
        scores = np.empty(len(distinct))
        for start in range(0, len(distinct), TRANSLATIONS):
            rows = np.arange(start, min(start + TRANSLATIONS, len(distinct)))
            scores[rows] = self.cslm.rescore(distinct.take(rows))
        return scores[row_of], len(distinct.values) + len(distinct)


def sample_contexts(phrases: Ragged, history: int) -> np.ndarray:
    """int32 ``[SAMPLE, history]``: contexts as the search meets them, out of sentences of random target phrases."""
    generator = np.random.default_rng(0)
    contexts: list[list[int]] = []
    while len(contexts) < SAMPLE:
        chosen = phrases.take(generator.integers(0, len(phrases), PHRASES))
        words = [BOS] * history + chosen.values.tolist()
        contexts += (words[end - history : end] for end in range(history, len(words) + 1))
    return np.array(contexts[:SAMPLE], dtype=np.int32)


class OneThreadEach:
    """A scorer that computes with one thread of PyTorch's in every thread that calls it.

    The decoder's threads already share the cores: threads of their own inside every product would stand in line.
    """

    def __init__(self, scorer: CslmScorer):
        self.scorer = scorer
        self._local = threading.local()

    def __call__(self, contexts: np.ndarray, words: np.ndarray) -> np.ndarray:
        if not getattr(self._local, "ready", False):
            torch.set_num_threads(1)
            self._local.ready = True
        return self.scorer(contexts, words)
