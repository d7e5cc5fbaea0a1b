"""Tuning on candidates that stay as they are: scored n-best lists, or lattices that a network rescores.

As in the outer loop of tuning a decoder, candidates accumulate over iterations, and every iteration translates with the
weights of the one before; but nothing is decoded again.
"""

import hashlib
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from neural_smt.bleu import bleu, corpus_statistics
from neural_smt.decoding.features import COLUMN_WEIGHT, Feature, FeatureSet, Weights
from neural_smt.decoding.lattices.flat import BestPaths, best_paths
from neural_smt.decoding.lattices.kbest import list_paths
from neural_smt.decoding.lattices.oracle import encode_references
from neural_smt.decoding.nbest import ListedTranslation, feature_matrix, read_nbest
from neural_smt.decoding.reranking.aligned_lattices import AlignedLattices
from neural_smt.decoding.reranking.push_forward import LatticeScorer, push_forward, score_paths
from neural_smt.decoding.reranking_steps import load_lattice_scorer
from neural_smt.errors import UserError
from neural_smt.experiment.settings import Settings, section_settings
from neural_smt.experiment.system_folder import System
from neural_smt.io.files import read_lines
from neural_smt.io.ragged import Ragged
from neural_smt.tuning.candidates import Candidates
from neural_smt.tuning.loop import Iteration, Progress, run, select, write_run
from neural_smt.tuning.mert import ErrorSurface, optimise
from neural_smt.tuning.methods import ListMethod, search_options

logger = logging.getLogger(__name__)

PATHS = 1 << 15
"""Paths whose features are summed at a time."""


def optimise_lists(
    entries: Sequence[ListedTranslation],
    references: Sequence[Sequence[str]],
    before: Mapping[str, Sequence[float]],
    settings: Settings,
    seed: int,
    threads: int = 1,
) -> tuple[Iteration, FeatureSet]:
    """The weights for the features of n-best lists that give the best development BLEU, and what they gain.

    references: tokens, one for each sentence; before: the weights that made the lists. A feature that is new in them
    starts from its default weight. Returns one iteration (``decoder_bleu``: the lists under the weights from before;
    ``list_bleu``: under the new ones, ``weights``), and the features, in the order of the weights.
    """
    if not entries:
        raise UserError("the n-best lists are empty; list translations of the development set")
    if max(entry.sentence for entry in entries) >= len(references):
        raise UserError(f"the n-best lists go beyond the {len(references)} sentences of the reference; decode again")
    began = time.perf_counter()
    feature_set = FeatureSet(
        Feature(name, tuple(before.get(name, (COLUMN_WEIGHT,) * len(values))))
        for name, values in entries[0].features.items()
    )
    start = np.concatenate([np.array(feature.weights) for feature in feature_set])
    old = np.concatenate([np.array(before.get(feature.name, (0.0,) * feature.size)) for feature in feature_set])
    listed = [(entry.sentence, entry.tokens) for entry in entries]
    features = feature_matrix(list(entries), feature_set)
    candidates = Candidates.empty(len(references), feature_set.size).with_translations(listed, features, references)
    surface = ErrorSurface(candidates)
    optimum = optimise(surface, [start, old], **search_options(settings, np.random.default_rng([seed, 1]), threads))
    seconds = time.perf_counter() - began
    count, bleus = len(candidates), (100 * surface.bleu(old), 100 * optimum.bleu)
    return Iteration(optimum.weights.tolist(), *bleus, count, count, 0.0, seconds), feature_set


class LatticeReranking(ListMethod):
    """Lattices as they are: every iteration lists their best derivations under its weights.

    With a network they are rescored by push-forward, and the derivations near what that finds get exact scores.
    references: tokens of the one reference of each sentence; tunable: bool ``[F]``, or ``[F + 1]`` with a network, the
    last for its feature; settings: ``nbest`` derivations are added by every iteration, before duplicates are removed;
    beam: network states kept at a node; lists: length of the n-best lists that are reranked in place of whole lattices
    (0: lattices).
    """

    def __init__(
        self,
        lattices: AlignedLattices,
        network: LatticeScorer | None,
        references: Sequence[Sequence[str]],
        tunable: np.ndarray,
        settings: Settings,
        beam: int = 1,
        lists: int = 0,
        threads: int = 1,
    ):
        encoded = encode_references(references, lattices.vocabulary, lattices.copied)
        super().__init__(None, encoded, tunable, settings)
        self.lattices, self.network, self.beam, self.lists, self.threads = lattices, network, beam, lists, threads
        self._statistics: dict[tuple[int, int], np.ndarray] = {}

    def gather(self, pool: Candidates, weights: np.ndarray) -> tuple[float, Candidates]:
        """BLEU of what the weights choose, and the pool with what was listed.

        Without a network: the ``nbest`` best derivations. With one: the best paths it finds, the ``nbest`` best
        derivations where every arc has the network's score after the best state of its tail, and in the first iteration
        also those without the network. ``lists``: the lists under the weights that the lattices were made with; they
        stay.
        """
        flat, nbest = self.lattices.flat, self.settings.nbest
        if self.network is None:
            return self._bleu(best_paths(flat, weights).arcs), self._extended(pool, *list_paths(flat, weights, nbest))
        if self.lists:
            if len(pool) == 0:
                pool = self._extended(pool, *list_paths(flat, self.lattices.made_with, self.lists))
            return ErrorSurface(pool, self.tunable).bleu(weights), pool
        found = push_forward(self.lattices, self.network, weights[:-1], weights[-1], self.beam, self.threads)
        scored = replace(flat, features=np.vstack([flat.features, found.arc_scores]))
        filled = np.flatnonzero(found.arcs.lengths)
        if len(pool) == 0:
            pool = self._extended(pool, *list_paths(flat, weights[:-1], nbest))
        pool = self._extended(pool, found.arcs.take(filled), np.searchsorted(filled, np.arange(self.size + 1)))
        return self._bleu(found.arcs), self._extended(pool, *list_paths(scored, weights, nbest))

    def _bleu(self, paths: Ragged) -> float:
        """Of one path for every sentence."""
        return bleu(corpus_statistics(self._words(paths), self.references))

    def _words(self, paths: Ragged) -> Ragged:
        words = self.lattices.flat.words.take(paths.values)
        return words.joined(paths.offsets)

    def _extended(self, pool: Candidates, paths: Ragged, first: np.ndarray) -> Candidates:
        """The pool with paths; first: int64 ``[S + 1]``, the paths of each sentence."""
        sentences = np.repeat(np.arange(self.size), np.diff(first))
        words = self._words(paths)
        digests = [_digest(ids) for ids in words]
        return pool.extended(
            sentences=sentences,
            words=np.array(digests, dtype=np.uint64),
            features=self._features(paths, first),
            statistics=self._statistics_of(list(zip(sentences.tolist(), digests, strict=True)), words),
        )

    def _features(self, paths: Ragged, first: np.ndarray) -> np.ndarray:
        """float32 ``[n, F]``: exact feature values of paths; first: as for ``_extended``."""
        parts = (paths.take(np.arange(i, min(i + PATHS, len(paths)))) for i in range(0, len(paths), PATHS))
        features = np.concatenate([BestPaths(part, np.zeros(len(part))).features(self.lattices.flat) for part in parts])
        if self.network is None:
            return features
        return np.column_stack([features, score_paths(self.lattices, self.network, paths, first)[0]])

    def _statistics_of(self, keys: list[tuple[int, int]], words: Ragged) -> np.ndarray:
        """BLEU statistics of translations (int32 ``[n, 9]``), counted once for each key (sentence, digest)."""
        known = self._statistics
        fresh = [row for row, key in enumerate(keys) if key not in known]
        counted = corpus_statistics((words[row] for row in fresh), (self.references[keys[row][0]] for row in fresh))
        known.update(zip((keys[row] for row in fresh), counted, strict=True))
        return np.array([known[key] for key in keys])


def _digest(ids: np.ndarray) -> int:
    """A 64-bit digest of the words of a translation, by their ids."""
    return int.from_bytes(hashlib.blake2b(np.ascontiguousarray(ids), digest_size=8).digest(), "little")


def tune_on_lattices(
    lattices: AlignedLattices,
    network: LatticeScorer | None,
    references: Sequence[Sequence[str]],
    start: Weights,
    settings: Settings,
    *,
    feature: str | None = None,
    drop_features: Sequence[str] = (),
    beam: int = 1,
    lists: int = 0,
    seed: int,
    threads: int = 1,
) -> tuple[Progress, FeatureSet]:
    """The final progress of tuning, and the features, in the order of its weights: those of the lattices and, with a
    network, its own.

    start: weights of the lattices' features, and perhaps of the network's (``feature``, else 0.2); drop_features: names
    of scores (``TranslationModel0_2``) whose weights are 0 and stay 0; beam, lists: see ``LatticeReranking``.
    """
    feature_set = lattices.features if feature is None else lattices.with_feature(feature)
    new = {} if feature is None else {feature: (COLUMN_WEIGHT,)}
    unknown = set(drop_features) - set(feature_set.names)
    if unknown:
        raise UserError(f"there is no score {min(unknown)} to drop; choose of {', '.join(feature_set.names)}")
    weights = Weights(new | start.values).vector(feature_set)
    dropped = np.isin(feature_set.names, list(drop_features))
    weights[dropped] = 0
    tunable = feature_set.tunable & ~dropped
    method = LatticeReranking(lattices, network, references, tunable, settings, beam, lists, threads)
    return run(method, weights, settings, seed=seed, threads=threads), feature_set


def tune_reranking(
    *,
    system: Path,
    reference: Path,
    start: Path,
    settings: dict,
    seed: int,
    weights: Path,
    history: Path,
    plot: Path,
    nbest: Path | None = None,
    lattices: Path | None = None,
    text: Path | None = None,
    candidates: Path | None = None,
    device: str = "cpu",
    threads: int = 1,
) -> None:
    """Tune the weights that rerank candidates of a development set: MERT, nothing is decoded again.

    system: one that reranks, see ``system_folder``; nbest: n-best lists with all features; or lattices: a folder of
    ``decode_lattices`` (text, candidates: as for ``rescore_lattices``); reference: tokenised text; start: weights of
    the system that made the candidates; settings: of the section ``tuning``. Writes what ``tune`` writes; for lists
    with the BLEU of their own order as that of the decoder.
    """
    options = section_settings("tuning", settings)
    references = [line.split() for line in read_lines(reference)]
    before = Weights.load(start)
    if nbest is not None:
        iteration, feature_set = optimise_lists(read_nbest(nbest), references, before.values, options, seed, threads)
        write_run(feature_set, [iteration], history, plot)
        tuned = Weights.from_vector(feature_set, np.array(iteration.weights)).values
        Weights({**before.values, **tuned}).save(weights)
        logger.info("BLEU of the lists %.2f before, %.2f after", iteration.decoder_bleu, iteration.list_bleu)
        return
    if lattices is None:
        raise UserError("tuning needs candidates; give nbest or lattices")
    described, aligned = System.load(system), AlignedLattices.load(lattices, mapped=False)
    if len(references) != len(aligned):
        raise UserError(f"{reference} has {len(references)} lines, but there are lattices of {len(aligned)} sentences")
    if len(aligned.flat.tails) == 0:
        raise UserError(f"{lattices}: holds no translation; tuning needs a development set")
    feature, network = load_lattice_scorer(described, aligned, text, candidates, device)
    progress, feature_set = tune_on_lattices(
        aligned,
        network,
        references,
        before,
        options,
        feature=feature,
        drop_features=described["drop_features"],
        beam=described["beam"],
        lists=described["nbest"] if described["candidates"] == "nbest" else 0,
        seed=seed,
        threads=threads,
    )
    write_run(feature_set, progress.iterations, history, plot)
    Weights.from_vector(feature_set, select(progress, options.select)).save(weights)
