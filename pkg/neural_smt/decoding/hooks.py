"""What a hook's network must score: every n-gram once, whatever the number of new hypotheses that hold it.

The hypotheses of a stack differ in coverage and score far more than in their last words, and so do those of the
sentences of a batch. Their n-grams are therefore numbered (*early hypothesis sharing*: what is equal is shared before
it is scored), the network sees each distinct one once, and every hypothesis adds up the scores of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from neural_smt.decoding.batches import Derivations, NewHypotheses
from neural_smt.io.ragged import Ragged
from neural_smt.jit import kernel, mix
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

    An n-gram is a word and the words before it that the hook asked for (``batch.history``).
    """
    ngrams, numbers, offsets = _number_ngrams(batch.words.values, batch.words.offsets, batch.history, batch.complete)
    return SharedNgrams(np.ascontiguousarray(ngrams[:, :-1]), ngrams[:, -1].copy(), numbers, offsets)


@dataclass(frozen=True)
class NgramHook:
    """A hook out of any n-gram model: the buffer of Cho et al. (2014, section 4.1.2), each n-gram scored once.

    name: of the feature; history: n - 1; score: takes contexts (int32 ``[Q, history]``) and words (int32 ``[Q]``) and
    returns their log-probabilities (float ``[Q]``, natural log). Threads call it at the same time. exact: where
    ``score`` is but an estimate that is good enough to prune by, the function that gives the values themselves:
    translations and n-best lists then get those (``rescore``), and lattices are searched with them. recombination: the
    last words that must agree for hypotheses to be recombined, where they are fewer than ``history``: stacks then hold
    more that differs, but what was recombined had other scores to come. So lists get exact scores, and lattices, whose
    scores are sums over arcs, are searched without it. stand_in: the language model (``LM0``) whose scores take the
    place of these until hypotheses are extended (``late_scoring``), and in future costs. exact_history: the words
    before that ``exact`` reads, where ``score`` reads fewer.
    """

    name: str
    history: int
    score: Callable[[np.ndarray, np.ndarray], np.ndarray]
    exact: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    recombination: int | None = None
    stand_in: str | None = None
    exact_history: int | None = None

    def __call__(self, batch: NewHypotheses) -> np.ndarray:
        shared = share_ngrams(batch)
        return shared.sum(self.score(shared.contexts, shared.words))

    def accurate(self) -> "NgramHook":
        """This hook, or the one that scores exactly where this one estimates or recombines what it tells apart."""
        history = self.exact_history or self.history
        return replace(self, history=history, score=self.exact or self.score, exact=None, recombination=None)

    def rescore(self, words: Ragged, derivations: Derivations | None = None) -> np.ndarray:
        """float64 ``[n]``: the exact scores of n whole translations, the ends of the sentences included; their words
        are enough to tell.
        """
        accurate = self.accurate()
        history = np.full((len(words), accurate.history), BOS, dtype=np.int32)
        return accurate(NewHypotheses(np.arange(len(words)), words, history, np.ones(len(words), bool)))
