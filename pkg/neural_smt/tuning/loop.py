"""The outer loop of MERT: decode, add to the candidate lists, optimise, until nothing changes."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

import numpy as np

from neural_smt.bleu import bleu, corpus_statistics
from neural_smt.errors import UserError
from neural_smt.tuning.candidates import Candidates, digest_words
from neural_smt.tuning.history import Iteration
from neural_smt.tuning.mert import ErrorSurface, optimise
from neural_smt.tuning.state import Progress, State

logger = logging.getLogger(__name__)

STANDSTILL = 1e-5
"""Tuning ends when no weight moves as much as this (Moses)."""


class Entry(Protocol):
    """One candidate: its words and its feature values, float32 ``[F]`` (natural log where they are logs)."""

    tokens: Sequence[str]
    features: np.ndarray


class Translation(Protocol):
    """The best translation of a sentence and its distinct n-best list."""

    tokens: Sequence[str]
    nbest: Sequence[Entry]


Select = Literal["best", "last"]

Decode = Callable[[np.ndarray], Sequence[Translation]]
"""Translates the development set with weights float64 ``[F]``."""


@dataclass(frozen=True)
class TuningSettings:
    """Settings of a run.

    nbest: distinct candidates per sentence and iteration; iterations: at most; restarts: random starting points of each
    optimisation; refinements: further ones around the best point; min_gain: end when the lists promise less than this
    over the decoder's own translations (BLEU, 0 to 100); select: the weights of the ``last`` iteration, as Moses does,
    or those whose translations scored ``best``.
    """

    nbest: int = 100
    iterations: int = 25
    restarts: int = 20
    refinements: int = 20
    min_gain: float = 0.05
    select: Select = "best"

    def __post_init__(self) -> None:
        if self.nbest < 1 or self.iterations < 1 or self.select not in get_args(Select):
            raise UserError("tuning needs nbest and iterations of at least 1, and select 'best' or 'last'")


def run(
    decode: Decode,
    references: Sequence[Sequence[str]],
    weights: np.ndarray,
    tunable: np.ndarray,
    settings: TuningSettings,
    *,
    seed: int,
    state: State,
    threads: int = 1,
) -> Progress:
    """Tune ``weights`` (float64 ``[F]``) from where ``state`` stands; the final progress.

    references: tokens of the one reference of each sentence; tunable: bool ``[F]``. Random numbers of an iteration come
    from seed and iteration alone, so a run that was interrupted ends like one that was not.
    """
    progress = state.load()
    if progress is None:
        weights = ErrorSurface(Candidates.empty(len(references), len(weights)), tunable).normalised(weights)
        progress = Progress([], weights.tolist(), Candidates.empty(len(references), len(weights)))
    elif progress.iterations:
        logger.info("going on after iteration %d", len(progress.iterations))
    while not progress.finished:
        progress = iterate(progress, decode, references, tunable, settings, seed=seed, threads=threads)
        state.save(progress)
        log(progress)
    return progress


def iterate(
    progress: Progress,
    decode: Decode,
    references: Sequence[Sequence[str]],
    tunable: np.ndarray,
    settings: TuningSettings,
    *,
    seed: int,
    threads: int,
) -> Progress:
    """One iteration; the progress after it."""
    number = len(progress.iterations) + 1
    weights = np.array(progress.weights)
    began = time.perf_counter()
    translations = decode(weights)
    decoder_bleu = 100 * bleu(corpus_statistics([t.tokens for t in translations], references))
    candidates = collect(progress.candidates, translations, references)
    new = len(candidates) - len(progress.candidates)
    decoded = time.perf_counter()
    surface = ErrorSurface(candidates, tunable)
    optimum = optimise(
        surface,
        [weights],
        generator=np.random.default_rng([seed, number]),
        restarts=settings.restarts,
        refinements=settings.refinements,
        threads=threads,
    )
    if optimum.bleu == 0:
        logger.warning("no candidate shares four words in a row with its reference; the weights cannot be tuned")
    list_bleu = 100 * optimum.bleu
    iteration = Iteration(
        weights=weights.tolist(),
        decoder_bleu=decoder_bleu,
        list_bleu=list_bleu,
        candidates=len(candidates),
        new_candidates=new,
        decode_seconds=decoded - began,
        mert_seconds=time.perf_counter() - decoded,
    )
    settled = (
        new == 0 or list_bleu - decoder_bleu < settings.min_gain or np.abs(optimum.weights - weights).max() < STANDSTILL
    )
    return Progress(
        iterations=[*progress.iterations, iteration],
        # weights that promise nothing are not worth leaving decoded ones for
        weights=(weights if settled else optimum.weights).tolist(),
        candidates=candidates,
        finished=bool(settled or number >= settings.iterations),
    )


def collect(
    candidates: Candidates, translations: Sequence[Translation], references: Sequence[Sequence[str]]
) -> Candidates:
    """The candidates and the entries of new n-best lists that are not among them."""
    if len(translations) != len(references):
        raise ValueError(f"{len(translations)} translations for {len(references)} references")
    pairs = [(number, entry) for number, translation in enumerate(translations) for entry in translation.nbest]
    if not pairs:
        raise UserError("decoding gave no translation of the development set; check that the text is not empty")
    return candidates.extended(
        sentences=np.array([number for number, _ in pairs], dtype=np.int32),
        words=np.array([digest_words(entry.tokens) for _, entry in pairs], dtype=np.uint64),
        features=np.stack([entry.features for _, entry in pairs]),
        statistics=corpus_statistics([entry.tokens for _, entry in pairs], [references[number] for number, _ in pairs]),
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
        "iteration %d: decoder BLEU %.2f, lists %.2f, %d candidates (%d new), decoding %.1f s, MERT %.1f s",
        len(progress.iterations),
        last.decoder_bleu,
        last.list_bleu,
        last.candidates,
        last.new_candidates,
        last.decode_seconds,
        last.mert_seconds,
    )
