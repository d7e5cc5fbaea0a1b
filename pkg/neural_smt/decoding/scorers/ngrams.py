"""N-gram models as stateful feature functions: every n-gram is scored once, whatever the number of hypotheses with it.

The hypotheses of a stack differ in coverage and score far more than in their last words, and so do those of the
sentences of a batch. Their n-grams are therefore numbered (*early hypothesis sharing*: what is equal is shared before
it is scored), the network sees each distinct one once, and every hypothesis adds up the scores of its own. Scores are
remembered between the stacks and batches of a search.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from neural_smt.decoding.batches import Derivations, NewHypotheses
from neural_smt.errors import UserError
from neural_smt.io.ragged import Ragged
from neural_smt.jit import kernel, mix
from neural_smt.networks.normalisers import FingerprintCache, fingerprints
from neural_smt.vocabulary import BOS, EOS


@dataclass(frozen=True)
class SharedNgrams:
    """The distinct n-grams of new hypotheses. Q n-grams, N hypotheses, T n-grams of all hypotheses.

    contexts: int32 ``[Q, history]``, the words before; words: int32 ``[Q]``, the words to be scored, ``EOS`` where a
    translation ends; numbers: int32 ``[T]``, which of the Q each n-gram is; offsets: int64 ``[N + 1]``, the n-grams of
    each hypothesis. N-grams are numbered as they first come; ids beyond the vocabulary are copied words.
    """

    contexts: np.ndarray
    words: np.ndarray
    numbers: np.ndarray
    offsets: np.ndarray

    def sum(self, scores: np.ndarray) -> np.ndarray:
        """float64 ``[N]``: the score of each hypothesis, given that of each distinct n-gram (float ``[Q]``)."""
        scores = np.ascontiguousarray(scores, dtype=np.float64)
        if scores.shape != self.words.shape:
            raise ValueError(f"{len(self.words)} n-grams need as many scores, not an array of shape {scores.shape}")
        return _sum_scores(scores, self.numbers, self.offsets)


@kernel
def _number_ngrams(
    values: np.ndarray, offsets: np.ndarray, history: np.ndarray, complete: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The distinct n-grams (int32 [Q, history + 1]), the number of each n-gram (int32 [T]), and offsets ([N + 1])."""
    hypotheses, size = history.shape
    ends = np.zeros(hypotheses + 1, dtype=np.int64)
    for i in range(hypotheses):
        ends[i + 1] = ends[i] + offsets[i + 1] - offsets[i] + complete[i]
    slots = 64
    while slots < 2 * ends[-1]:
        slots *= 2
    mask = np.uint64(slots - 1)
    table = np.full(slots, -1, dtype=np.int32)
    numbers = np.empty(ends[-1], dtype=np.int32)
    ngrams = np.empty((ends[-1], size + 1), dtype=np.int32)
    found = 0
    for i in range(hypotheses):
        for position in range(ends[i + 1] - ends[i]):
            key = np.uint64(0)
            for j in range(size + 1):
                place = position - size + j
                if place < 0:
                    word = history[i, size + place]
                elif offsets[i] + place < offsets[i + 1]:
                    word = values[offsets[i] + place]
                else:
                    word = np.int32(EOS)
                ngrams[found, j] = word
                key = mix(key ^ np.uint64(word + 1))
            slot = key & mask
            while table[slot] >= 0:
                same = True
                for j in range(size + 1):
                    same = same and ngrams[table[slot], j] == ngrams[found, j]
                if same:
                    break
                slot = (slot + np.uint64(1)) & mask
            if table[slot] < 0:
                table[slot] = found
                found += 1
            numbers[ends[i] + position] = table[slot]
    return ngrams[:found].copy(), numbers, ends


@kernel
def _sum_scores(scores: np.ndarray, numbers: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    totals = np.zeros(len(offsets) - 1)
    for i in range(len(totals)):
        for position in range(offsets[i], offsets[i + 1]):
            totals[i] += scores[numbers[position]]
    return totals


def share_ngrams(batch: NewHypotheses) -> SharedNgrams:
    """Number the n-grams of new hypotheses: every word added, and the end of every complete translation.

    An n-gram is a word and the words before it that the feature reads (``batch.history``).
    """
    ngrams, numbers, offsets = _number_ngrams(batch.words.values, batch.words.offsets, batch.history, batch.complete)
    return SharedNgrams(np.ascontiguousarray(ngrams[:, :-1]), ngrams[:, -1].copy(), numbers, offsets)


@dataclass
class CacheCounts:
    """Queries of a cache. queries: n-grams; hits: those whose score was there, the others went to the model; calls: how
    often the model was called for them; seconds: what that took, of all threads together.
    """

    queries: int = 0
    hits: int = 0
    calls: int = 0
    seconds: float = 0.0

    @property
    def hit_rate(self) -> float:
        """The fraction of hits (0 without queries)."""
        return self.hits / self.queries if self.queries else 0.0

    @property
    def speed(self) -> float:
        """N-grams per second that went to the model."""
        return (self.queries - self.hits) / max(self.seconds, 1e-9)


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
            self.counts.queries += len(ngrams)
            self.counts.hits += len(ngrams) - new
            self.counts.calls += new > 0
            self.counts.seconds += time.perf_counter() - began
        return scores

    def statistics(self) -> dict[str, float]:
        """Its counts, for a report."""
        counts = self.counts
        return {
            "ngrams": counts.queries,
            "cache_hits": counts.hits,
            "cache_hit_rate": round(counts.hit_rate, 4),
            "matrix_products": counts.calls,
            "seconds": round(counts.seconds, 3),
            "ngrams_per_second": round(counts.speed, 1),
        }


@dataclass(frozen=True)
class NgramFeature:
    """Any n-gram model as a stateful feature function: the buffer of Cho et al. (2014, section 4.1.2).

    name: of the feature; history: n - 1; score: takes contexts (int32 ``[Q, history]``) and words (int32 ``[Q]``) and
    returns their log-probabilities (float ``[Q]``, natural log). Threads call it at the same time. exact: where
    ``score`` is but an estimate that is good enough to prune by, the function that gives the values themselves:
    translations and n-best lists then get those (``rescore``), and lattices are searched with them. recombination: the
    last words that must agree for hypotheses to be recombined, where they are fewer than ``history``: stacks then hold
    more that differs, but what was recombined had other scores to come. So lists get exact scores, and lattices, whose
    scores are sums over arcs, are searched without it. fallback_lm: the language model (``LM0``) whose scores take the
    place of these until hypotheses are extended (``stacks``), and in future costs. exact_history: the words
    before that ``exact`` reads, where ``score`` reads fewer.
    """

    name: str
    history: int
    score: Callable[[np.ndarray, np.ndarray], np.ndarray]
    exact: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    recombination: int | None = None
    fallback_lm: str | None = None
    exact_history: int | None = None

    def __call__(self, batch: NewHypotheses) -> np.ndarray:
        shared = share_ngrams(batch)
        return shared.sum(self.score(shared.contexts, shared.words))

    def accurate(self) -> "NgramFeature":
        """This feature, or the one that scores exactly where this one estimates or recombines what it tells apart."""
        history = self.exact_history or self.history
        return replace(self, history=history, score=self.exact or self.score, exact=None, recombination=None)

    def rescore(self, words: Ragged, derivations: Derivations | None = None) -> np.ndarray:
        """float64 ``[n]``: the exact scores of n whole translations, the ends of the sentences included; their words
        are enough to tell.
        """
        accurate = self.accurate()
        history = np.full((len(words), accurate.history), BOS, dtype=np.int32)
        return accurate(NewHypotheses(np.arange(len(words)), words, history, np.ones(len(words), bool)))
