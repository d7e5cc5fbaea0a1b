"""Batch MIRA (Cherry and Foster 2012, "Batch Tuning Strategies for Statistical Machine Translation", section 3.1).

An online large-margin learner run over the candidate lists: for each sentence the *hope* candidate (model score and
BLEU both high) should beat the *fear* candidate (model score high, BLEU low) by their difference in BLEU. It takes as
many features as there are, where the coordinate searches of MERT find their limit at some twenty or thirty.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from neural_smt.bleu_primitives import REFERENCE_LENGTH, SIZE, log_bleu
from neural_smt.jit import kernel
from neural_smt.tuning.candidates import Candidates
from neural_smt.tuning.envelope_primitives import best_rows, quality
from neural_smt.tuning.mert import Optimum


def optimise_margins(
    candidates: Candidates,
    start: np.ndarray,
    tunable: np.ndarray,
    generator: np.random.Generator,
    settings: Mapping[str, Any],
) -> Optimum:
    """Tune ``start`` (float64 ``[F]``) on the lists; weights that are not ``tunable`` (bool ``[F]``) stay as they are.

    settings: ``regularisation``: C, the longest step; ``epochs``: J, passes over the sentences; ``decay``: gamma, how
    much of the background statistics is kept from sentence to sentence.

    After each epoch the weights are averaged over all sentences visited so far; of these averages the one with the
    highest corpus BLEU on the lists is returned (``start`` when none is better). They are not normalised: their scale
    is that at which a difference of model scores is one of BLEU times reference words.
    """
    sentences = np.flatnonzero(np.diff(candidates.offsets)).astype(np.int64)
    start = np.asarray(start, dtype=np.float64)
    orders = np.array([generator.permutation(sentences) for _ in range(settings["epochs"])])
    weights, best_quality = train(
        candidates.features,
        candidates.statistics,
        candidates.offsets,
        orders.reshape(settings["epochs"], len(sentences)),
        np.asarray(tunable, dtype=np.bool_),
        start,
        settings["regularisation"],
        settings["decay"],
    )
    return Optimum(weights, float(best_quality**0.25))


@kernel
def train(
    features: np.ndarray, statistics: np.ndarray, offsets: np.ndarray, orders: np.ndarray, tunable: np.ndarray,
    start: np.ndarray, regularisation: float, decay: float,
) -> tuple[np.ndarray, float]:  # fmt: skip
    """The best averaged weights float64 ``[F]`` and their BLEU to the fourth power.

    features float32 ``[N, F]``; statistics int32 ``[N, 9]``; offsets int64 ``[S + 1]``; orders int64 ``[epochs, S]``,
    the sentences in the order of each epoch, none of them without candidates.
    """
    weights, total = start.copy(), np.zeros(len(start))
    background = np.ones(SIZE)
    best, best_quality = start.copy(), corpus_quality(features, statistics, offsets, start)
    visited = 0
    for epoch in range(len(orders)):
        for sentence in orders[epoch]:
            part = slice(offsets[sentence], offsets[sentence + 1])
            hope, fear, cost = hope_and_fear(features[part], statistics[part], weights, background)
            hope, fear = part.start + hope, part.start + fear
            update(features[hope].astype(np.float64) - features[fear], cost, tunable, regularisation, weights)
            for i in range(SIZE):
                background[i] = decay * background[i] + statistics[hope, i]
            total += weights
            visited += 1
        if visited > 0:
            average = total / visited
            value = corpus_quality(features, statistics, offsets, average)
            if value > best_quality:
                best, best_quality = average, value
    return best, best_quality


@kernel
def hope_and_fear(
    features: np.ndarray, statistics: np.ndarray, weights: np.ndarray, background: np.ndarray
) -> tuple[int, int, float]:
    """The rows of hope and fear among the candidates of a sentence, and how much BLEU the fear loses (the cost)."""
    hope, fear = 0, 0
    hope_score, fear_score = -np.inf, -np.inf
    hope_bleu, fear_bleu = 0.0, 0.0
    for row in range(len(features)):
        score = 0.0
        for i in range(len(weights)):
            score += weights[i] * features[row, i]
        bleu = background_bleu(statistics[row], background)
        if score + bleu > hope_score:
            hope, hope_score, hope_bleu = row, score + bleu, bleu
        if score - bleu > fear_score:
            fear, fear_score, fear_bleu = row, score - bleu, bleu
    return hope, fear, hope_bleu - fear_bleu


@kernel
def background_bleu(statistics: np.ndarray, background: np.ndarray) -> float:
    """BLEU of one sentence's statistics added to the background's, times the reference words of both.

    Chiang, Marton and Resnik (2008): scaled so, the differences that one sentence makes do not fade as the background
    grows.
    """
    reference = statistics[REFERENCE_LENGTH] + background[REFERENCE_LENGTH]
    return np.exp(log_bleu(statistics, background)) * reference


@kernel
def update(
    difference: np.ndarray, cost: float, tunable: np.ndarray, regularisation: float, weights: np.ndarray
) -> None:
    """Move the weights towards the hope until it beats the fear by the cost, by no more than the regularisation.

    difference: float64 ``[F]``, the features of the hope less those of the fear.
    """
    margin, norm = 0.0, 0.0
    for i in range(len(weights)):
        margin += weights[i] * difference[i]
        if tunable[i]:
            norm += difference[i] * difference[i]
    loss = cost - margin
    if cost <= 0.0 or loss <= 0.0 or norm == 0.0:
        return
    step = min(regularisation, loss / norm)
    for i in range(len(weights)):
        if tunable[i]:
            weights[i] += step * difference[i]


@kernel
def corpus_quality(features: np.ndarray, statistics: np.ndarray, offsets: np.ndarray, weights: np.ndarray) -> float:
    """Corpus BLEU to the fourth power of the candidates that score highest under the weights."""
    scores, total = np.zeros(len(features)), np.zeros(SIZE, dtype=np.int64)
    for row in range(len(features)):
        for i in range(len(weights)):
            scores[row] += weights[i] * features[row, i]
    for row in best_rows(scores, offsets):
        if row >= 0:
            total += statistics[row]
    return quality(total)
