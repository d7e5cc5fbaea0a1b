"""Weights tuned with the recurrent model on lattices of tiny models."""

import numpy as np
import pytest
from recurrent_world import random_world

from neural_smt.bleu import bleu, corpus_statistics
from neural_smt.decoding.features import Weights
from neural_smt.decoding.lattices.flat import best_paths
from neural_smt.decoding.reranking.push_forward import push_forward, rescore_lists
from neural_smt.errors import UserError
from neural_smt.experiment.settings import section_settings
from neural_smt.tuning.candidates import Candidates
from neural_smt.tuning.reranking_steps import LatticeReranking, tune_on_lattices

SENTENCES = [
    ["a", "b", "c", "a", "b"],
    ["c", "a", "b", "b"],
    [],
    ["b", "a", "a", "b"],
    ["a", "c", "b", "a"],
    ["b", "c", "a"],
]
SETTINGS = section_settings("tuning", {"nbest": 30, "iterations": 8, "restarts": 5, "refinements": 5})
BEAM = 20


@pytest.fixture(scope="module", params=["none", "links"])
def world(request):
    return random_world(12, request.param, SENTENCES)


def tuned(world, references, network: bool = True, **options):
    """The progress of tuning from the weights that the lattices were made with."""
    start = Weights.from_vector(world.lattices.features, world.vector)
    feature, model = ("Recurrent0", world.model) if network else (None, None)
    options = {"feature": feature, "beam": BEAM, "seed": 1} | options
    return tune_on_lattices(world.lattices, model, references, start, SETTINGS, **options)[0]


def translations(world, weights, beam=BEAM):
    found = push_forward(world.lattices, world.model, weights[:-1], weights[-1], beam)
    return [world.lattices.spell(world.lattices.flat.words.take(arcs).values) for arcs in found.arcs]


def planted(world):
    """Weights under which the recurrent model decides, and the translations they give."""
    weights = np.append(0.3 * world.vector, 2.0)
    return weights, translations(world, weights)


def test_a_planted_weight_is_found(world):
    _, references = planted(world)
    progress = tuned(world, references)
    best = max(progress.iterations, key=lambda iteration: iteration.decoder_bleu)
    assert best.decoder_bleu > progress.iterations[0].decoder_bleu and best.decoder_bleu > 90
    share = np.abs(best.weights) / np.abs(best.weights).sum()
    first = np.abs(progress.iterations[0].weights) / np.abs(progress.iterations[0].weights).sum()
    assert share[-1] > first[-1]
    found = bleu(corpus_statistics(translations(world, np.array(best.weights), BEAM), references))
    np.testing.assert_allclose(100 * found, best.decoder_bleu, atol=1e-6)
    again = tuned(world, references, threads=2)
    assert again.weights == progress.weights


def test_lists_are_tuned_on_for_themselves(world):
    """The weights are those that choose best in the lists that are rescored, which hold few of the derivations."""
    _, references = planted(world)
    progress = tuned(world, references, lists=4)
    assert [iteration.candidates for iteration in progress.iterations] == [len(progress.candidates)] * len(
        progress.iterations
    )
    assert len(progress.candidates) <= 4 * len(SENTENCES)
    best = max(progress.iterations, key=lambda iteration: iteration.decoder_bleu)
    weights = np.array(best.weights)
    found = rescore_lists(world.lattices, world.model, weights[:-1], weights[-1], 4)
    chosen = [world.lattices.spell(world.lattices.flat.words.take(arcs).values) for arcs in found.arcs]
    np.testing.assert_allclose(100 * bleu(corpus_statistics(chosen, references)), best.decoder_bleu, atol=1e-6)
    assert best.decoder_bleu > progress.iterations[0].decoder_bleu
    one = tuned(world, references, lists=1)
    assert len(one.candidates) == sum(map(bool, SENTENCES))


def test_scores_to_do_without_keep_a_weight_of_0(world):
    _, references = planted(world)
    names = world.lattices.with_feature("Recurrent0").names
    without = ["TranslationModel0_2", "LM0"]
    progress = tuned(world, references, drop_features=without)
    for iteration in progress.iterations:
        assert [iteration.weights[names.index(name)] for name in without] == [0, 0]
    with pytest.raises(UserError, match="no score TranslationModel0_9"):
        tuned(world, references, drop_features=["TranslationModel0_9"])


def test_without_a_model_the_other_weights_are_tuned(world):
    goal = 0.5 * world.vector
    goal[world.lattices.features.slices["LM0"]] *= -3
    flat = world.lattices.flat
    references = [world.lattices.spell(ids) for ids in best_paths(flat, goal).words(flat)]
    progress = tuned(world, references, network=False, drop_features=["Distortion0"])
    best = max(progress.iterations, key=lambda iteration: iteration.decoder_bleu)
    assert best.decoder_bleu > progress.iterations[0].decoder_bleu and best.decoder_bleu > 90
    assert len(best.weights) == world.lattices.features.size
    assert best.weights[world.lattices.features.names.index("Distortion0")] == 0
    words = best_paths(flat, np.array(best.weights)).words(flat)
    found = bleu(corpus_statistics([world.lattices.spell(ids) for ids in words], references))
    np.testing.assert_allclose(100 * found, best.decoder_bleu, atol=1e-6)


def test_candidates_hold_exact_scores(world):
    _, references = planted(world)
    tunable = world.lattices.with_feature("Recurrent0").tunable
    method = LatticeReranking(world.lattices, world.model, references, tunable, SETTINGS.replace(nbest=10), BEAM)
    weights = np.append(world.vector, 0.5)
    empty = Candidates.empty(len(SENTENCES), len(weights))
    score, pool = method.gather(empty, weights)
    found = push_forward(world.lattices, world.model, world.vector, 0.5)
    totals = pool.features.astype(np.float64) @ weights
    for sentence, text in enumerate(SENTENCES):
        rows = range(*pool.offsets[sentence : sentence + 2])
        if not text:
            assert len(rows) == 0
            continue
        assert 0 < len(rows) <= 21  # two lists of ten and what was found
        assert totals[rows].max() >= found.scores[sentence] - 1e-4
        exact = [world.score(path, sentence)[1] for path in world.paths(sentence)]
        assert all(np.abs(np.array(exact) - value).min() < 1e-4 for value in pool.features[rows, -1])
    assert 0 <= score <= 1
    _, more = method.gather(pool, weights)
    assert len(more) == len(pool)


def test_weights_without_a_feature_are_refused(world):
    values = dict(Weights.from_vector(world.lattices.features, world.vector).values)
    del values["LM0"]
    with pytest.raises(UserError, match="LM0"):
        tune_on_lattices(world.lattices, world.model, [[]] * 6, Weights(values), SETTINGS, feature="Recurrent0", seed=1)
