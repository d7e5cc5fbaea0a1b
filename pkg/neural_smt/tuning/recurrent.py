"""Weights of lattices' features and of the recurrent joint model, if there is one: MERT over what lattices hold.

As in the outer loop of tuning a decoder, candidates pile up over passes, and every pass translates with the weights of
the one before; but here it is lattices that are rescored, which stay as they are.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from neural_smt.bleu import bleu, corpus_statistics
from neural_smt.decoding.features import COLUMN_WEIGHT
from neural_smt.decoding.lattices.flat import BestPaths, best_paths
from neural_smt.decoding.lattices.kbest import list_paths
from neural_smt.decoding.lattices.oracle import encode_references
from neural_smt.decoding.recurrent.joint import JointModel
from neural_smt.decoding.recurrent.linked import RECURRENT, LinkedLattices
from neural_smt.decoding.recurrent.lists import score_paths
from neural_smt.decoding.recurrent.push_forward import push_forward
from neural_smt.decoding.weights import Weights
from neural_smt.errors import UserError
from neural_smt.io.ragged import Ragged
from neural_smt.tuning.candidates import Candidates
from neural_smt.tuning.loop import iterate, log
from neural_smt.tuning.mert import ErrorSurface
from neural_smt.tuning.methods import ListOptimiser
from neural_smt.tuning.settings import TuningSettings
from neural_smt.tuning.state import Progress

PATHS = 1 << 15
"""Paths whose features are summed at a time."""


@dataclass(frozen=True)
class RecurrentTuningSettings(TuningSettings):
    """As ``TuningSettings`` (lists only; the lattices are there, so density counts nothing), with ``beam``: recurrent
    states kept at a node when lattices are rescored; ``lists``: where it is n-best lists that are rescored, their
    length (0: lattices). nbest: derivations that every pass over lattices adds, before duplicates go.
    """

    iterations: int = 10
    beam: int = 1
    lists: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.beam < 1 or self.lists < 0:
            raise UserError(
                f"tuning: beam is {self.beam} and lists {self.lists}; set beam to 1 or more, lists to 0 or more"
            )
        if self.candidates != "nbest":
            raise UserError("tuning with the recurrent model learns from lists: set tuning.candidates to nbest")


class LatticeListMethod(ListOptimiser):
    """Lattices as they are, of which every pass lists the best derivations under its weights.

    references: tokens of the one reference of each sentence; tunable: bool ``[F]``.
    """

    settings: RecurrentTuningSettings

    def __init__(
        self,
        lattices: LinkedLattices,
        references: Sequence[Sequence[str]],
        tunable: np.ndarray,
        settings: RecurrentTuningSettings,
    ):
        super().__init__(len(references), tunable, settings)
        self.lattices = lattices
        self.references = encode_references(references, lattices.vocabulary, lattices.copied)
        self._statistics: dict[tuple[int, int], np.ndarray] = {}

    def gather(self, pool: Candidates, weights: np.ndarray) -> tuple[float, Candidates]:
        """BLEU of the best derivations, and the pool with the ``nbest`` best ones."""
        flat = self.lattices.flat
        score = self._bleu(best_paths(flat, weights).arcs)
        return score, self._extended(pool, *list_paths(flat, weights, self.settings.nbest))

    def _bleu(self, paths: Ragged) -> float:
        """Of one path for every sentence."""
        return bleu(corpus_statistics(self._words(paths), self.references))

    def _features(self, paths: Ragged, first: np.ndarray) -> np.ndarray:
        """float32 ``[n, F]``: exact feature values of paths; first: int64 ``[S + 1]``, the paths of each sentence."""
        parts = (paths.take(np.arange(i, min(i + PATHS, len(paths)))) for i in range(0, len(paths), PATHS))
        features = [BestPaths(part, np.zeros(len(part))).features(self.lattices.flat) for part in parts]
        return np.concatenate(features)

    def _extended(self, pool: Candidates, paths: Ragged, first: np.ndarray) -> Candidates:
        """The pool with paths; first: as for ``_features``."""
        sentences = np.repeat(np.arange(self.size), np.diff(first))
        words = self._words(paths)
        digests = [_digest(ids) for ids in words]
        return pool.extended(
            sentences=sentences,
            words=np.array(digests, dtype=np.uint64),
            features=self._features(paths, first),
            statistics=self._statistics_of(list(zip(sentences.tolist(), digests, strict=True)), words),
        )

    def _statistics_of(self, keys: list[tuple[int, int]], words: Ragged) -> np.ndarray:
        """BLEU statistics of translations (int32 ``[n, 9]``), counted once for each key (sentence, digest)."""
        known = self._statistics
        fresh = [row for row, key in enumerate(keys) if key not in known]
        counted = corpus_statistics((words[row] for row in fresh), (self.references[keys[row][0]] for row in fresh))
        known.update(zip((keys[row] for row in fresh), counted, strict=True))
        return np.array([known[key] for key in keys])

    def _words(self, paths: Ragged) -> Ragged:
        words = self.lattices.flat.words.take(paths.values)
        return Ragged(words.values, words.offsets[paths.offsets])


class RecurrentMethod(LatticeListMethod):
    """Lattices rescored by push-forward, and exact scores of the derivations near what that finds.

    tunable: bool ``[F + 1]``, the last for the recurrent model.
    """

    def __init__(
        self,
        lattices: LinkedLattices,
        model: JointModel,
        references: Sequence[Sequence[str]],
        tunable: np.ndarray,
        settings: RecurrentTuningSettings,
        threads: int = 1,
    ):
        super().__init__(lattices, references, tunable, settings)
        self.model = model
        self.threads = threads

    def gather(self, pool: Candidates, weights: np.ndarray) -> tuple[float, Candidates]:
        """Rescore; add the paths found and the ``nbest`` best derivations where every arc has the recurrent score that
        it got after the best state of its tail; in the first pass also the best ones without the recurrent model.
        """
        lattices, model, nbest = self.lattices, self.model, self.settings.nbest
        found = push_forward(lattices, model, weights[:-1], weights[-1], self.settings.beam, self.threads)
        scored = replace(lattices.flat, features=np.vstack([lattices.flat.features, found.arc_scores]))
        filled = np.flatnonzero(found.arcs.lengths)
        if len(pool) == 0:
            pool = self._extended(pool, *list_paths(lattices.flat, weights[:-1], nbest))
        pool = self._extended(pool, found.arcs.take(filled), np.searchsorted(filled, np.arange(self.size + 1)))
        return self._bleu(found.arcs), self._extended(pool, *list_paths(scored, weights, nbest))

    def _features(self, paths: Ragged, first: np.ndarray) -> np.ndarray:
        recurrent, _ = score_paths(self.lattices, self.model, paths, first)
        return np.column_stack([super()._features(paths, first), recurrent])


class RecurrentListMethod(RecurrentMethod):
    """The n-best lists that are rescored, best under the weights that the lattices were made with: they stay."""

    def gather(self, pool: Candidates, weights: np.ndarray) -> tuple[float, Candidates]:
        """BLEU of what the weights choose in the lists, and the lists."""
        if len(pool) == 0:
            flat = self.lattices.flat
            pool = self._extended(pool, *list_paths(flat, self.lattices.made_with, self.settings.lists))
        return ErrorSurface(pool, self.tunable).bleu(weights), pool


def _digest(ids: np.ndarray) -> int:
    """A 64-bit digest of the words of a translation, by their ids."""
    return int.from_bytes(hashlib.blake2b(np.ascontiguousarray(ids), digest_size=8).digest(), "little")


def tune_on_lattices(
    lattices: LinkedLattices,
    model: JointModel | None,
    references: Sequence[Sequence[str]],
    start: Weights,
    settings: RecurrentTuningSettings,
    *,
    without: Sequence[str] = (),
    seed: int,
    threads: int = 1,
) -> Progress:
    """The final progress of tuning; its weights are float64 ``[F + 1]``, in the order of ``lattices.with_recurrent``,
    or, without a model, ``[F]``, in that of ``lattices.features``.

    start: weights of the lattices' features, and perhaps of the recurrent model (else 0.2); without: names of scores
    (``TranslationModel0_2``) whose weights are 0 and stay 0.
    """
    feature_set = lattices.features if model is None else lattices.with_recurrent
    new = {} if model is None else {RECURRENT: (COLUMN_WEIGHT,)}
    unknown = set(without) - set(feature_set.names)
    if unknown:
        raise UserError(f"there is no score {min(unknown)} to do without; choose of {', '.join(feature_set.names)}")
    weights = Weights(new | start.values).vector(feature_set)
    left_out = np.isin(feature_set.names, list(without))
    weights[left_out] = 0
    tunable = feature_set.tunable & ~left_out
    if model is None:
        method = LatticeListMethod(lattices, references, tunable, settings)
    else:
        kind = RecurrentListMethod if settings.lists else RecurrentMethod
        method = kind(lattices, model, references, tunable, settings, threads)
    empty = Candidates.empty(len(references), len(weights))
    progress = Progress([], method.normalised(empty, weights).tolist(), empty)
    while not progress.finished:
        progress = iterate(progress, method, settings, seed=seed, threads=threads)
        log(progress)
    return progress
