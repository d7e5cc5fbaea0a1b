"""Oracle translations of n-best lists: the entries with the highest BLEU against the reference."""

import numpy as np

from neural_smt.bleu import sentence_bleu
from neural_smt.bleu_primitives import SIZE, log_bleu
from neural_smt.jit import kernel

ROUNDS = 20
"""Passes over the sentences of the corpus-level search, at most; a handful are needed."""


def sentence_oracle(statistics: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """The row of each sentence's entry with the highest BLEU+1, int64 ``[S]``; -1 without entries, the first of ties.

    statistics: int32 ``[N, 9]``; offsets: int64 ``[S + 1]``, the entries of each sentence.
    """
    return _highest(sentence_bleu(statistics), np.asarray(offsets, dtype=np.int64))


def corpus_oracle(statistics: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Rows, int64 ``[S]``, whose corpus BLEU no exchange of one of them improves.

    An approximation of the best corpus BLEU, which depends on all sentences at once: it starts from the sentence-level
    oracle and goes over the sentences, each time taking the entry that gives the highest corpus BLEU together with the
    present ones of all the others, until nothing changes. BLEU never falls on the way.
    """
    offsets = np.asarray(offsets, dtype=np.int64)
    chosen = sentence_oracle(statistics, offsets)
    _climb(np.ascontiguousarray(statistics, dtype=np.int32), offsets, chosen, ROUNDS)
    return chosen


@kernel
def _highest(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    chosen = np.full(len(offsets) - 1, -1, dtype=np.int64)
    for sentence in range(len(chosen)):
        for row in range(offsets[sentence], offsets[sentence + 1]):
            if chosen[sentence] < 0 or values[row] > values[chosen[sentence]]:
                chosen[sentence] = row
    return chosen


@kernel
def _climb(statistics: np.ndarray, offsets: np.ndarray, chosen: np.ndarray, rounds: int) -> None:
    """Exchange the ``chosen`` rows, one sentence at a time, as long as the corpus gains."""
    total = np.zeros(SIZE)
    for row in chosen:
        if row >= 0:
            total += statistics[row]
    for _ in range(rounds):
        changed = False
        for sentence in range(len(chosen)):
            if chosen[sentence] < 0:
                continue
            total -= statistics[chosen[sentence]]
            best, best_value = chosen[sentence], log_bleu(statistics[chosen[sentence]], total)
            for row in range(offsets[sentence], offsets[sentence + 1]):
                value = log_bleu(statistics[row], total)
                if value > best_value:
                    best, best_value = row, value
            changed |= best != chosen[sentence]
            chosen[sentence] = best
            total += statistics[best]
        if not changed:
            break
