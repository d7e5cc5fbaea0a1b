"""The CSLM as a feature of the search (Cho et al. 2014, section 4.1.2)."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from neural_smt.decoding.features import HOOKS
from neural_smt.decoding.hooks import NgramHook
from neural_smt.decoding.ngram_cache import NgramCache
from neural_smt.language_model.model import NgramModel
from neural_smt.networks.cslm import CslmScorer
from neural_smt.settings import read_settings
from neural_smt.vocabulary import Vocabulary


@dataclass(frozen=True)
class CslmSettings:
    """How the search asks the CSLM.

    cache: n-grams whose scores are remembered (36 bytes each for 7-grams; 0: none); renormalise: see ``CslmScorer``;
    precision: auto, fp32 or bf16.
    """

    cache: int = 1 << 20
    renormalise: bool = False
    precision: str = "auto"


class CslmHook(NgramHook):
    """The hook of the feature ``Cslm0``: ``score`` is an ``NgramCache`` around the CSLM."""

    score: NgramCache

    @classmethod
    def load(
        cls,
        folder: Path,
        language_model: NgramModel,
        vocabulary: Vocabulary,
        settings: Mapping[str, Any],
        device: str = "cpu",
    ) -> "CslmHook":
        """The CSLM in a model folder, beside the n-gram model of the same target ``vocabulary``; settings: see
        ``CslmSettings``.
        """
        chosen = read_settings(CslmSettings, settings, "decoding.cslm")
        scorer = CslmScorer.load(
            folder,
            language_model,
            vocabulary,
            device=device,
            precision=chosen.precision,
            renormalise=chosen.renormalise,
        )
        return cls(HOOKS["cslm"], scorer.history, NgramCache(OneThreadEach(scorer), scorer.history, chosen.cache))

    def statistics(self) -> dict[str, float]:
        """The cache's counts, for a report."""
        counts = self.score.counts
        return {
            "ngrams": counts.asked,
            "cache_hits": counts.found,
            "cache_hit_rate": round(counts.hit_rate, 4),
            "matrix_products": counts.calls,
            "seconds": round(counts.seconds, 3),
            "ngrams_per_second": round((counts.asked - counts.found) / max(counts.seconds, 1e-9), 1),
        }

    def describe(self) -> str:
        """The same as a line for the log."""
        counts = self.score.counts
        return (
            f"CSLM: {counts.asked} n-grams, {100 * counts.hit_rate:.1f} % of them from the cache, "
            f"{counts.calls} times through the network in {counts.seconds:.1f} s"
        )


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
