"""Scores of n-grams that live on between the stacks and batches of a search."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from neural_smt.errors import UserError
from neural_smt.networks.fingerprints import FingerprintCache, fingerprints


@dataclass
class CacheCounts:
    """What was asked of a cache. asked: n-grams; found: those whose score was there, the others went to the model;
    calls: how often the model was called for them; seconds: what that took, of all threads together."""

    asked: int = 0
    found: int = 0
    calls: int = 0
    seconds: float = 0.0

    @property
    def hit_rate(self) -> float:
        """The share that was found (0 when nothing was asked)."""
        return self.found / self.asked if self.asked else 0.0

    @property
    def speed(self) -> float:
        """N-grams per second that went to the model."""
        return (self.asked - self.found) / max(self.seconds, 1e-9)


class NgramCache:
    """An n-gram scorer that remembers what it has scored.

    score: takes contexts (int32 ``[Q, history]``) and words (int32 ``[Q]``) of distinct n-grams and returns their
    scores (float ``[Q]``; the CSLM sends each distinct context through its network once); capacity: n-grams remembered
    (see ``FingerprintCache``; 0: none). Threads may call it at the same time: they share the memory, and the model
    runs outside the lock.
    """

    def __init__(self, score: Callable[[np.ndarray, np.ndarray], np.ndarray], capacity: int):
        if capacity < 0:
            raise UserError(f"the cache is to hold {capacity} n-grams; set it to 0 (none) or more")
        self.score = score
        self.counts = CacheCounts()
        self.known = FingerprintCache(capacity)
        self._lock = threading.Lock()

    def __call__(self, contexts: np.ndarray, words: np.ndarray) -> np.ndarray:
        """float64 ``[Q]``: the scores of distinct n-grams, remembered or new."""
        ngrams = np.column_stack([contexts, words]).astype(np.int32)
        keys, scores = fingerprints(ngrams), np.empty(len(ngrams))
        missing = self.known.look_up(keys, scores)
        new, began = len(missing), time.perf_counter()
        if new:
            everything = new == len(ngrams)
            chosen = (contexts, words) if everything else (contexts[missing], words[missing])
            scores[missing] = self.score(*chosen)
            self.known.insert(keys, scores, missing)
        with self._lock:
            self.counts.asked += len(ngrams)
            self.counts.found += len(ngrams) - new
            self.counts.calls += new > 0
            self.counts.seconds += time.perf_counter() - began
        return scores
