"""Weights that reorder n-best lists: MERT on lists that stay as they are."""

import time
from collections.abc import Mapping, Sequence

import numpy as np

from neural_smt.bleu import corpus_statistics
from neural_smt.decoding.features import COLUMN_WEIGHT, Feature, FeatureSet
from neural_smt.decoding.nbest import ListedTranslation, feature_matrix
from neural_smt.errors import UserError
from neural_smt.tuning.candidates import Candidates, digest_words
from neural_smt.tuning.history import Iteration
from neural_smt.tuning.mert import ErrorSurface, optimise
from neural_smt.tuning.settings import TuningSettings


def optimise_lists(
    entries: Sequence[ListedTranslation],
    references: Sequence[Sequence[str]],
    before: Mapping[str, Sequence[float]],
    settings: TuningSettings,
    seed: int,
    threads: int = 1,
) -> tuple[Iteration, FeatureSet]:
    """The weights for the features of the lists that give the best development BLEU, and what they gain.

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
    candidates = Candidates.empty(len(references), feature_set.size).extended(
        np.array([entry.sentence for entry in entries]),
        np.array([digest_words(entry.tokens) for entry in entries], dtype=np.uint64),
        feature_matrix(list(entries), feature_set),
        corpus_statistics([e.tokens for e in entries], [references[e.sentence] for e in entries]),
    )
    surface = ErrorSurface(candidates, np.ones(feature_set.size, dtype=bool))
    optimum = optimise(
        surface,
        [start, old],
        generator=np.random.default_rng([seed, 1]),
        restarts=settings.restarts,
        refinements=settings.refinements,
        threads=threads,
    )
    iteration = Iteration(
        weights=optimum.weights.tolist(),
        decoder_bleu=100 * surface.bleu(old),
        list_bleu=100 * optimum.bleu,
        candidates=len(candidates),
        new_candidates=len(candidates),
        decode_seconds=0.0,
        mert_seconds=time.perf_counter() - began,
    )
    return iteration, feature_set
