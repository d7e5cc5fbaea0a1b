"""The outer loop of tuning: decode, add to what was found before, optimise, until nothing changes."""

import logging
import time

import numpy as np

from neural_smt.tuning.history import Iteration
from neural_smt.tuning.methods import Method
from neural_smt.tuning.settings import Select, TuningSettings
from neural_smt.tuning.state import Progress, State

logger = logging.getLogger(__name__)

STANDSTILL = 1e-5
"""Tuning ends when no weight moves as much as this (Moses)."""


def run(
    method: Method, weights: np.ndarray, settings: TuningSettings, *, seed: int, state: State, threads: int = 1
) -> Progress:
    """Tune ``weights`` (float64 ``[F]``) from where ``state`` stands; the final progress.

    Random numbers of an iteration come from seed and iteration alone, so a run that was interrupted ends like one that
    was not.
    """
    progress = state.load(method.pool)
    if progress is None:
        empty = method.pool.empty(method.size, len(weights))
        progress = Progress([], method.normalised(empty, weights).tolist(), empty)
    elif progress.iterations:
        logger.info("going on after iteration %d", len(progress.iterations))
    while not progress.finished:
        progress = iterate(progress, method, settings, seed=seed, threads=threads)
        state.save(progress)
        log(progress)
    return progress


def iterate(progress: Progress, method: Method, settings: TuningSettings, *, seed: int, threads: int) -> Progress:
    """One iteration; the progress after it."""
    number = len(progress.iterations) + 1
    weights = np.array(progress.weights)
    began = time.perf_counter()
    decoder_bleu, pool = method.gather(progress.candidates, weights)
    new = len(pool) - len(progress.candidates)
    decoded = time.perf_counter()
    optimum, pool = method.optimise(pool, weights, np.random.default_rng([seed, number]), threads)
    if optimum.bleu == 0:
        logger.warning("no candidate shares four words in a row with its reference; the weights cannot be tuned")
    iteration = Iteration(
        weights=weights.tolist(),
        decoder_bleu=100 * decoder_bleu,
        list_bleu=100 * optimum.bleu,
        candidates=len(pool),
        new_candidates=new,
        decode_seconds=decoded - began,
        mert_seconds=time.perf_counter() - decoded,
    )
    promised = iteration.list_bleu - iteration.decoder_bleu
    settled = (
        new == 0
        or (settings.optimiser == "mert" and promised < settings.min_gain)  # MIRA does not aim at the lists' BLEU
        or np.abs(optimum.weights - weights).max() < STANDSTILL
    )
    return Progress(
        iterations=[*progress.iterations, iteration],
        # weights that promise nothing are not worth leaving decoded ones for
        weights=(weights if settled else optimum.weights).tolist(),
        candidates=pool,
        finished=bool(settled or number >= settings.iterations),
    )


def select(progress: Progress, how: Select) -> np.ndarray:
    """The weights a run returns, float64 ``[F]``: the last, or those whose translations had the highest BLEU."""
    if how == "last":
        return np.array(progress.weights)
    return np.array(max(progress.iterations, key=lambda iteration: iteration.decoder_bleu).weights)


def log(progress: Progress) -> None:
    """One line on the latest iteration."""
    last = progress.iterations[-1]
    logger.info(
        "iteration %d: decoder BLEU %.2f, promised %.2f, %d candidates (%d new), decoding %.1f s, optimising %.1f s",
        len(progress.iterations),
        last.decoder_bleu,
        last.list_bleu,
        last.candidates,
        last.new_candidates,
        last.decode_seconds,
        last.mert_seconds,
    )
