"""The CSLM as a feature of the search (Cho et al. 2014, section 4.1.2)."""

import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from neural_smt.decoding.features import HOOKS
from neural_smt.decoding.hooks import NgramHook
from neural_smt.decoding.ngram_cache import CacheCounts, NgramCache
from neural_smt.errors import UserError
from neural_smt.io.ragged import Ragged
from neural_smt.language_model.model import NgramModel
from neural_smt.networks.cslm import CslmScorer
from neural_smt.settings import read_settings
from neural_smt.vocabulary import BOS, Vocabulary

log = logging.getLogger(__name__)

SAMPLE = 8192
"""Contexts that normalisers are estimated from."""

PHRASES = 6
"""Phrases of one of their sentences."""

STAND_IN = "LM0"
"""The n-gram model that leads the search until the CSLM has scored: that beside it, of the same text."""


@dataclass(frozen=True)
class CslmSettings:
    """How the search asks the CSLM.

    normaliser: ``estimated``, while stacks are pruned (translations and n-best lists get exact scores all the same,
    and so do lattices, which are searched with exact ones), or always ``exact``; recombination: last words that must
    agree for hypotheses to be recombined, beside those that the n-gram models need (-1: all that the CSLM reads, which
    fills stacks with what hardly differs: on news the search then lost 0.4 BLEU under equal weights); context: last
    words of a context that estimates read, the mean of those before in their place (-1: all); cache: n-grams
    whose scores, and contexts whose exact normalisers are remembered (16 bytes each; 0: none); renormalise: see
    ``CslmScorer``; precision: auto, fp32 or bf16.
    """

    normaliser: str = "estimated"
    recombination: int = 1
    context: int = 2
    cache: int = 1 << 20
    renormalise: bool = False
    precision: str = "auto"

    def __post_init__(self) -> None:
        if self.normaliser not in ("estimated", "exact"):
            raise UserError(f"decoding.cslm.normaliser is {self.normaliser!r}; set it to estimated or exact")
        if self.recombination < -1:
            raise UserError(f"decoding.cslm.recombination is {self.recombination}; set it to words, or to -1 for all")
        if self.context < 1 and self.context != -1:
            raise UserError(f"decoding.cslm.context is {self.context}; set it to one word or more, or to -1 for all")


class CslmHook(NgramHook):
    """The hook of the feature ``Cslm0``: ``score`` is an ``NgramCache`` around the CSLM."""

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
    ) -> "CslmHook":
        """The CSLM in a model folder, beside the n-gram model of the same target ``vocabulary``.

        settings: see ``CslmSettings``; phrases: target phrases (ids), contexts made of which normalisers are estimated
        from; without them they are exact.
        """
        chosen = read_settings(CslmSettings, settings, "decoding.cslm")
        scorer = CslmScorer.load(
            folder,
            language_model,
            vocabulary,
            device=device,
            precision=chosen.precision,
            renormalise=chosen.renormalise,
            cache=chosen.cache,
        )
        exact = NgramCache(OneThreadEach(scorer), chosen.cache)
        recombined = None if chosen.recombination < 0 else chosen.recombination
        if chosen.normaliser == "exact" or phrases is None or len(phrases) == 0:
            return cls(HOOKS["cslm"], scorer.history, exact, recombination=recombined, stand_in=STAND_IN)
        words = None if chosen.context < 0 else chosen.context
        estimating = scorer.estimating(sample_contexts(phrases, scorer.history), words)
        log.info("CSLM: normalisers are estimated with an error of %.2f (natural log)", estimating.normalisers.error)
        estimate = NgramCache(OneThreadEach(estimating), chosen.cache)
        return cls(HOOKS["cslm"], estimating.history, estimate, exact, recombined, STAND_IN, scorer.history)

    def statistics(self) -> dict[str, Any]:
        """The counts of the cache, for a report; those of exact scores apart where the search estimates."""
        content = self._counts(self.score.counts)
        return content | ({"exact": self._counts(self.exact.counts)} if self.exact else {})

    @staticmethod
    def _counts(counts: CacheCounts) -> dict[str, float]:
        return {
            "ngrams": counts.asked,
            "cache_hits": counts.found,
            "cache_hit_rate": round(counts.hit_rate, 4),
            "matrix_products": counts.calls,
            "seconds": round(counts.seconds, 3),
            "ngrams_per_second": round(counts.speed, 1),
        }

    def describe(self) -> str:
        """The same as a line for the log."""
        parts = {"CSLM": self.score} | ({"exact scores": self.exact} if self.exact else {})
        return "; ".join(
            f"{name}: {counts.asked} n-grams, {100 * counts.hit_rate:.1f} % of them from the cache, "
            f"{counts.calls} times through the network in {counts.seconds:.1f} s, {counts.speed:.0f} n-grams/s"
            for name, counts in ((name, cache.counts) for name, cache in parts.items())
        )


def sample_contexts(phrases: Ragged, history: int, count: int = SAMPLE, seed: int = 0) -> np.ndarray:
    """int32 ``[count, history]``: contexts as the search meets them, out of sentences of random target phrases."""
    generator = np.random.default_rng(seed)
    contexts: list[list[int]] = []
    while len(contexts) < count:
        chosen = phrases.take(generator.integers(0, len(phrases), PHRASES))
        words = [BOS] * history + chosen.values.tolist()
        contexts += (words[end - history : end] for end in range(history, len(words) + 1))
    return np.array(contexts[:count], dtype=np.int32)


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
