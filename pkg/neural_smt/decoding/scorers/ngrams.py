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

from neural_smt.decoding.batches import Derivations, NewHypotheses, StatefulFeature
from neural_smt.decoding.statistics import sum_counts
from neural_smt.io.ragged import Ragged
from neural_smt.jit import kernel
from neural_smt.networks.distinct import number_rows
from neural_smt.networks.normalisers import FingerprintCache
from neural_smt.vocabulary import BOS, EOS


@kernel
def _list_ngrams(
    values: np.ndarray, offsets: np.ndarray, history: np.ndarray, complete: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The n-grams of N new hypotheses (int32 [T, history + 1]), and how many each has (int64 [N]). A complete one ends
    with ``EOS``; ids beyond the vocabulary are copied words.
    """
    hypotheses, size = history.shape
    counts = offsets[1:] - offsets[:-1] + complete
    ngrams = np.empty((counts.sum(), size + 1), dtype=np.int32)
    row = 0
    for i in range(hypotheses):
        for position in range(counts[i]):
            for j in range(size + 1):
                place = position - size + j
                if place < 0:
                    ngrams[row, j] = history[i, size + place]
                elif offsets[i] + place < offsets[i + 1]:
                    ngrams[row, j] = values[offsets[i] + place]
                else:
                    ngrams[row, j] = EOS
            row += 1
    return ngrams, counts


class NgramCache:
    """An n-gram scorer that remembers what it has scored.

    score: takes contexts (int32 ``[Q, history]``) and words (int32 ``[Q]``) of distinct n-grams and returns their
    scores (float ``[Q]``; the CSLM sends each distinct context through its network once); capacity: n-grams remembered
    (see ``FingerprintCache``; 0: none). Threads may call it at the same time: they share the memory, and the model
    runs outside the lock.
    """

    def __init__(self, score: Callable[[np.ndarray, np.ndarray], np.ndarray], capacity: int):
        self.score = score
        counts = "ngrams", "cache_hits", "cache_hit_rate", "matrix_products", "seconds", "ngrams_per_second"
        self.counts: dict[str, float] = dict.fromkeys(counts, 0)
        self.known = FingerprintCache(capacity)
        self._lock = threading.Lock()

    def __call__(self, contexts: np.ndarray, words: np.ndarray) -> np.ndarray:
        """float64 ``[Q]``: the scores of distinct n-grams, remembered or new."""
        ngrams = np.column_stack([contexts, words]).astype(np.int32)
        began = time.perf_counter()
        scores, new = self.known.values(ngrams, lambda rows: self.score(contexts[rows], words[rows]))
        with self._lock:
            self.counts["ngrams"] += len(ngrams)
            self.counts["cache_hits"] += len(ngrams) - new
            self.counts["matrix_products"] += int(new > 0)
            self.counts["seconds"] += time.perf_counter() - began
        return scores

    def statistics(self) -> dict[str, float]:
        """For a report: n-grams, those whose score was there, how often the model was called for others, the seconds
        that all of this took of all threads together, and the rates.
        """
        return sum_counts([self.counts])


@dataclass(frozen=True)
class NgramFeature(StatefulFeature):
    """Any n-gram model as a stateful feature function: the buffer of Cho et al. (2014, section 4.1.2).

    history: n - 1; score: takes contexts (int32 ``[Q, history]``) and words (int32 ``[Q]``) and returns their
    log-probabilities (float ``[Q]``, natural log). Threads call it at the same time. exact: where ``score`` is but an
    estimate, the function that gives the values themselves; exact_history: the words before that it reads, where
    ``score`` reads fewer. Where ``recombination`` is narrow, stacks hold more that differs, but what was recombined had
    other scores to come: lists get exact scores, and lattices are searched without it.
    """

    name: str
    history: int
    score: Callable[[np.ndarray, np.ndarray], np.ndarray]
    exact: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    recombination: int | None = None
    fallback_lm: str | None = None
    lazy: bool = True
    exact_history: int | None = None

    def __call__(self, batch: NewHypotheses) -> np.ndarray:
        """See ``StatefulFeature``; an n-gram is a word, or the end, and the words before it that the feature reads."""
        ngrams, counts = _list_ngrams(*batch.words.arrays, batch.history, batch.complete)
        numbers, first = number_rows(ngrams)
        distinct = ngrams[first]
        scores = self.score(np.ascontiguousarray(distinct[:, :-1]), distinct[:, -1].copy())
        if scores.shape != (len(distinct),):
            raise ValueError(f"{len(distinct)} n-grams need as many scores, not an array of shape {scores.shape}")
        return np.bincount(np.repeat(np.arange(len(counts)), counts), scores[numbers], len(counts))

    def accurate(self) -> "NgramFeature":
        """This feature, or the one that scores exactly where this one estimates or recombines what it tells apart."""
        history = self.exact_history or self.history
        return replace(self, history=history, score=self.exact or self.score, exact=None, recombination=None)

    def rescore(self, words: Ragged, derivations: Derivations | None = None) -> np.ndarray:
        """See ``StatefulFeature``; words are enough to tell."""
        accurate = self.accurate()
        history = np.full((len(words), accurate.history), BOS, dtype=np.int32)
        return accurate(NewHypotheses(np.arange(len(words)), words, history, np.ones(len(words), bool)))
