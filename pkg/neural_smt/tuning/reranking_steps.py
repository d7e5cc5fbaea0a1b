"""Tuning on candidates that stay as they are: scored n-best lists, or lattices that a network rescores.

As in the outer loop of tuning a decoder, candidates accumulate over iterations, and every iteration translates with the
weights of the one before; but nothing is decoded again.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from neural_smt.decoding.features import COLUMN_WEIGHT, Feature, FeatureSet, Weights
from neural_smt.decoding.lattices.flat import best_paths, list_paths
from neural_smt.decoding.lattices.oracle import encode_references
from neural_smt.decoding.nbest import ListedTranslation, feature_matrix, read_nbest
from neural_smt.decoding.reranking.aligned_lattices import AlignedLattices
from neural_smt.decoding.reranking.push_forward import LatticeScorer, push_forward, score_paths
from neural_smt.decoding.reranking_steps import load_lattice_scorer
from neural_smt.errors import UserError, required
from neural_smt.experiment.settings import Settings, section_settings
from neural_smt.experiment.system_folder import System
from neural_smt.io.files import read_lines
from neural_smt.io.ragged import Ragged
from neural_smt.tuning.candidates import Candidates
from neural_smt.tuning.lattice_mert import LatticeSurface
from neural_smt.tuning.loop import Iteration, run, select, write_run
from neural_smt.tuning.mert import ErrorSurface
from neural_smt.tuning.methods import ListMethod, optimise_lists

logger = logging.getLogger(__name__)


def tune_lists(
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
    generator = np.random.default_rng([seed, 1])
    optimum = optimise_lists(candidates, surface, [start, old], settings, generator, threads)
    seconds = time.perf_counter() - began
    count, bleus = len(candidates), (100 * surface.bleu(old), 100 * optimum.bleu)
    return Iteration(optimum.weights.tolist(), *bleus, count, count, 0.0, seconds), feature_set


class LatticeReranking(ListMethod):
    """Lattices as they are: every iteration lists their best derivations under its weights.

    With a network they are rescored by push-forward, and the derivations near what that finds get exact scores.
    references: tokens of the one reference of each sentence; start: weights of the lattices' features, and perhaps of
    the network's (else 0.2); settings: ``nbest`` derivations are added by every iteration, before duplicates are
    removed; system: ``beam``, network states kept at a node; ``candidates``, whether the ``nbest`` best derivations are
    reranked in place of whole lattices; ``drop_features``, names of scores (``TranslationModel0_2``) whose weights are
    0 and stay 0.

    features: those of the lattices and, with a network, its own; weights: float64 ``[F]``, where tuning starts.
    """

    def __init__(
        self,
        lattices: AlignedLattices,
        network: LatticeScorer | None,
        references: Sequence[Sequence[str]],
        start: Weights,
        settings: Settings,
        system: System | Mapping[str, Any],
        threads: int = 1,
    ):
        self.features = lattices.with_feature(network.feature) if network else lattices.features
        names, new = self.features.names, {network.feature: (COLUMN_WEIGHT,)} if network else {}
        unknown = set(system["drop_features"]) - set(names)
        if unknown:
            raise UserError(f"there is no score {min(unknown)} to drop; choose of {', '.join(names)}")
        dropped = np.isin(names, list(system["drop_features"]))
        self.weights = np.where(dropped, 0.0, Weights(new | start.values).vector(self.features))
        encoded = encode_references(references, lattices.vocabulary, lattices.copied)
        super().__init__(None, encoded, self.features.tunable & ~dropped, settings)
        self.lattices, self.network, self.system, self.threads = lattices, network, system, threads
        self.derivations = LatticeSurface(lattices.flat, encoded)

    def gather(self, pool: Candidates, weights: np.ndarray) -> tuple[float, Candidates]:
        """BLEU of what the weights choose, and the pool with what was listed.

        Without a network: the ``nbest`` best derivations. With one: the best paths it finds, the ``nbest`` best
        derivations where every arc has the network's score after the best state of its tail, and in the first iteration
        also those without the network. Lists: those under the weights that the lattices were made with; they stay.
        """
        flat, nbest, network = self.lattices.flat, self.settings.nbest, self.network
        if network is None:
            chosen, _ = best_paths(flat, weights)
            return self.derivations.bleu_of(chosen), self._extended(pool, *list_paths(flat, weights, nbest))
        if self.system["candidates"] == "nbest":
            if len(pool) == 0:
                pool = self._extended(pool, *list_paths(flat, self.lattices.made_with, self.system["nbest"]))
            return self.surface(pool).bleu(weights), pool
        found = push_forward(network, weights, self.system["beam"], self.threads)
        scored = replace(flat, features=np.vstack([flat.features, required(found.arc_scores)]))
        filled = np.flatnonzero(found.arcs.lengths)
        if len(pool) == 0:
            pool = self._extended(pool, *list_paths(flat, weights[:-1], nbest))
        first = np.searchsorted(filled, np.arange(len(self.references) + 1))
        pool = self._extended(pool, found.arcs.take(filled), first)
        return self.derivations.bleu_of(found.arcs), self._extended(pool, *list_paths(scored, weights, nbest))

    def _extended(self, pool: Candidates, paths: Ragged, first: np.ndarray) -> Candidates:
        """The pool with paths and their exact scores; first: int64 ``[S + 1]``, the paths of each sentence."""
        if self.network is None:
            return self.derivations.listed(pool, paths, first)
        sentences = np.repeat(np.arange(len(self.references)), np.diff(first))
        return self.derivations.listed(pool, paths, first, score_paths(self.network, paths, sentences)[0])


def tune_reranking(
    *,
    system: Path,
    reference: Path,
    start: Path,
    settings: dict[str, Any],
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
    """Tune the weights that rerank candidates of a development set by MERT or MIRA; nothing is decoded again.

    system: one that reranks, see ``system_folder``; nbest: n-best lists with all features; or lattices: a folder of
    ``decode_lattices`` (text, candidates: as for ``rescore_lattices``); reference: tokenised text; start: weights of
    the system that made the candidates; settings: of the section ``tuning``. Writes what ``tune`` writes; for lists
    with the BLEU of their own order as that of the decoder.
    """
    options = section_settings("tuning", settings)
    references = [line.split() for line in read_lines(reference)]
    before = Weights.load(start)
    if nbest is not None:
        iteration, feature_set = tune_lists(read_nbest(nbest), references, before.values, options, seed, threads)
        write_run(feature_set, [iteration], history, plot)
        tuned = Weights.from_vector(feature_set, np.array(iteration.weights)).values
        Weights({**before.values, **tuned}).save(weights)
        logger.info("BLEU of the lists %.2f before, %.2f after", iteration.decoder_bleu, iteration.list_bleu)
        return
    if lattices is None:
        raise UserError("tuning needs candidates; give nbest or lattices")
    described, aligned = System.load(system), AlignedLattices.load(lattices)
    if len(references) != len(aligned):
        raise UserError(f"{reference} has {len(references)} lines, but there are lattices of {len(aligned)} sentences")
    if len(aligned.flat.tails) == 0:
        raise UserError(f"{lattices}: holds no translation; tuning needs a development set")
    network = load_lattice_scorer(described, aligned, text, candidates, device)
    method = LatticeReranking(aligned, network, references, before, options, described, threads)
    progress = run(method, method.weights, seed, threads=threads)
    write_run(method.features, progress.iterations, history, plot)
    Weights.from_vector(method.features, select(progress, options.select)).save(weights)
