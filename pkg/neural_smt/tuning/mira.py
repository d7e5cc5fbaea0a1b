"""Batch MIRA (Cherry and Foster 2012, "Batch Tuning Strategies for Statistical Machine Translation", section 3.1).

An online large-margin learner run over the candidate lists: for each sentence the *hope* candidate (model score and
BLEU both high) should beat the *fear* candidate (model score high, BLEU low) by their difference in BLEU. It takes as
many features as there are, where the coordinate searches of MERT find their limit at some twenty or thirty.
"""

from typing import Any

import numpy as np

from neural_smt.bleu import REFERENCE_LENGTH, SIZE
from neural_smt.bleu_primitives import log_bleu
from neural_smt.jit import kernel
from neural_smt.tuning.candidates import Candidates
from neural_smt.tuning.mert import ErrorSurface, Optimum, highest


def optimise_margins(
    candidates: Candidates, surface: ErrorSurface, start: np.ndarray, generator: np.random.Generator, settings: Any
) -> Optimum:
    """Tune ``start`` (float64 ``[F]``) on the lists; weights that are not tunable stay as they are.

    surface: of the same lists; settings: ``regularisation``: C, the longest step; ``epochs``: J, passes over the
    sentences; ``decay``: gamma, how much of the background statistics is kept from sentence to sentence.

    After each epoch the weights are averaged over all sentences visited so far; of these averages the one with the
    highest corpus BLEU on the lists is returned (``start`` when none is better). They are not normalised: their scale
    is that at which a difference of model scores is one of BLEU times reference words.
    """
    sentences = np.flatnonzero(np.diff(candidates.offsets)).astype(np.int64)
    lists, limits = (candidates.features, candidates.statistics), (settings["regularisation"], settings["decay"])
    weights, background = np.array(start, dtype=np.float64), np.ones(SIZE)
    best, total = Optimum(weights.copy(), surface.bleu(weights)), np.zeros(len(weights))
    for visited in len(sentences) * np.arange(1, settings["epochs"] + 1):
        order = generator.permutation(sentences)
        train(*lists, candidates.offsets, order, surface.tunable, *limits, weights, background, total)
        average = total / max(1, visited)
        best = highest([best, Optimum(average, surface.bleu(average))])
    return best


@kernel
def train(
    features: np.ndarray, statistics: np.ndarray, offsets: np.ndarray, order: np.ndarray, tunable: np.ndarray,
    regularisation: float, decay: float, weights: np.ndarray, background: np.ndarray, total: np.ndarray,
) -> None:  # fmt: skip
    """An epoch: update the weights sentence by sentence, and with them the background and the total of all weights.

    features float32 ``[N, F]``; statistics int32 ``[N, 9]``; offsets int64 ``[S + 1]``; order int64 ``[S]``, sentences
    that have candidates; weights, total: float64 ``[F]``; background: float64 ``[9]``.
    """
    for sentence in order:
        part = slice(offsets[sentence], offsets[sentence + 1])
        hope, fear, cost = hope_and_fear(features[part], statistics[part], weights, background)
        hope, fear = part.start + hope, part.start + fear
        update(features[hope].astype(np.float64) - features[fear], cost, tunable, regularisation, weights)
        background[:] = decay * background + statistics[hope]
        total += weights


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
