"""Scores of n-grams that live on between the stacks and batches of a search."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from neural_smt.errors import UserError
from neural_smt.jit import kernel, mix

WAYS = 4
"""Places where an n-gram may stand; the one to give way when all are taken follows from its hash."""

FREE = -1
"""First word of a place that holds nothing."""


@kernel
def _first_place(ngram: np.ndarray, places: int) -> np.uint64:
    """Where the ``WAYS`` places of an n-gram begin."""
    key = np.uint64(0)
    for word in ngram:
        key = mix(key ^ np.uint64(word + 1))
    return (key & np.uint64(places // WAYS - 1)) * np.uint64(WAYS)


@kernel
def _look_up(keys: np.ndarray, values: np.ndarray, ngrams: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Fill in the scores (float64 [Q]) of the n-grams (int32 [Q, n]) that are known; int64, the rows of the others."""
    missing = np.empty(len(ngrams), dtype=np.int64)
    count = 0
    for row in range(len(ngrams)):
        first = _first_place(ngrams[row], len(keys))
        known = False
        for place in range(first, first + np.uint64(WAYS)):
            same = True
            for i in range(ngrams.shape[1]):
                if keys[place, i] != ngrams[row, i]:
                    same = False
                    break
            if same:
                scores[row] = values[place]
                known = True
                break
        if not known:
            missing[count] = row
            count += 1
    return missing[:count].copy()


@kernel
def _insert(keys: np.ndarray, values: np.ndarray, ngrams: np.ndarray, scores: np.ndarray, rows: np.ndarray) -> None:
    """Remember the scores of the n-grams ``rows`` (int64), in free places or in the place of others."""
    for row in rows:
        first = _first_place(ngrams[row], len(keys))
        chosen = first + np.uint64(mix(np.uint64(ngrams[row, -1]) ^ first) % np.uint64(WAYS))
        for place in range(first, first + np.uint64(WAYS)):
            if keys[place, 0] == FREE:
                chosen = place
                break
        for i in range(ngrams.shape[1]):
            keys[chosen, i] = ngrams[row, i]
        values[chosen] = scores[row]


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


class NgramCache:
    """An n-gram scorer that remembers what it has scored.

    score: takes contexts (int32 ``[Q, history]``) and words (int32 ``[Q]``) of distinct n-grams and returns their
    scores (float ``[Q]``; the CSLM sends each distinct context through its network once); capacity: n-grams remembered,
    rounded up to a power of two (0: none). Threads may call it at the same time: they share the memory, and the model
    runs outside the lock.
    """

    def __init__(self, score: Callable[[np.ndarray, np.ndarray], np.ndarray], history: int, capacity: int):
        if capacity < 0:
            raise UserError(f"the cache is to hold {capacity} n-grams; set it to 0 (none) or more")
        self.score = score
        self.counts = CacheCounts()
        places = 1 << max(WAYS.bit_length() - 1, (capacity - 1).bit_length()) if capacity else 0
        self._keys = np.full((places, history + 1), FREE, dtype=np.int32)
        self._values = np.zeros(places)
        self._lock = threading.Lock()

    def __call__(self, contexts: np.ndarray, words: np.ndarray) -> np.ndarray:
        """float64 ``[Q]``: the scores of distinct n-grams, remembered or new."""
        ngrams = np.column_stack([contexts, words]).astype(np.int32)
        scores = np.empty(len(ngrams))
        with self._lock:
            self.counts.asked += len(ngrams)
            missing = np.arange(len(ngrams))
            if len(self._keys):
                missing = _look_up(self._keys, self._values, ngrams, scores)
            self.counts.found += len(ngrams) - len(missing)
        if len(missing) == 0:
            return scores
        began = time.perf_counter()
        scores[missing] = self.score(np.ascontiguousarray(ngrams[missing, :-1]), ngrams[missing, -1].copy())
        with self._lock:
            self.counts.calls += 1
            self.counts.seconds += time.perf_counter() - began
            if len(self._keys):
                _insert(self._keys, self._values, ngrams, scores, missing)
        return scores
