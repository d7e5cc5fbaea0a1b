"""Weights that rerank, tuned on lattices of tiny models with a recurrent model, and on n-best lists whose best entry is
known.
"""

from pathlib import Path

import numpy as np
import pytest
from recurrent_world import random_world
from refusals import check_refused
from tuning_world import tuning_settings

from neural_smt.bleu import bleu, corpus_statistics
from neural_smt.decoding.features import Weights
from neural_smt.decoding.lattices.flat import best_paths
from neural_smt.decoding.nbest import ListedTranslation, read_nbest, write_entries
from neural_smt.decoding.reranking.push_forward import push_forward, rescore_lists
from neural_smt.decoding.reranking_steps import rerank_entries
from neural_smt.io.files import read_csv, read_json, write_json, write_lines
from neural_smt.tuning.candidates import Candidates
from neural_smt.tuning.loop import run
from neural_smt.tuning.reranking_steps import LatticeReranking, tune_lists, tune_reranking

SENTENCES = [text.split() for text in ("a b c a b", "c a b b", "", "b a a b", "a c b a", "b c a")]
SETTINGS = tuning_settings(nbest=30, iterations=8, restarts=5, refinements=5)
SYSTEM = {"candidates": "lattice", "beam": 20, "drop_features": []}


@pytest.fixture(scope="module", params=["none", "links"])
def world(request):
    return random_world(12, request.param, SENTENCES)


def tuned(world, references, network=True, threads=1, **system):
    """The progress of tuning from the weights that the lattices were made with, and its best iteration."""
    start = Weights.from_vector(world.lattices.features, world.vector)
    given = world.model if network else None, references, start, SETTINGS, SYSTEM | system
    method = LatticeReranking(world.lattices, *given, threads)
    progress = run(method, method.weights, 1, threads=threads)
    return progress, max(progress.iterations, key=lambda iteration: iteration.decoder_bleu)


def spelled(world, arcs):
    """The translations of paths."""
    return [world.lattices.spell(words) for words in world.lattices.flat.translations(arcs)]


def planted(world):
    """Translations by weights under which the recurrent model decides."""
    return spelled(world, push_forward(world.model, np.append(0.3 * world.vector, 2.0), 20).arcs)


def assert_gained(world, progress, best, arcs, references):
    """The best weights gained, and gave these paths."""
    assert best.decoder_bleu > progress.iterations[0].decoder_bleu
    found = bleu(corpus_statistics(spelled(world, arcs), references))
    np.testing.assert_allclose(100 * found, best.decoder_bleu, atol=1e-6)


def test_a_planted_weight_is_found(world):
    references = planted(world)
    progress, best = tuned(world, references)
    assert best.decoder_bleu > 90
    assert_gained(world, progress, best, push_forward(world.model, np.array(best.weights), 20).arcs, references)
    first, share = (np.abs(i.weights) / np.abs(i.weights).sum() for i in (progress.iterations[0], best))
    assert share[-1] > first[-1]
    assert tuned(world, references, threads=2)[0].weights == progress.weights


def test_lists_are_tuned_on_for_themselves(world):
    """The weights are those that choose best in the lists that are rescored, which hold few of the derivations."""
    references = planted(world)
    progress, best = tuned(world, references, candidates="nbest", nbest=4)
    assert {iteration.candidates for iteration in progress.iterations} == {len(progress.candidates)}
    assert len(progress.candidates) <= 4 * len(SENTENCES)
    assert_gained(world, progress, best, rescore_lists(world.model, np.array(best.weights), 4).arcs, references)
    one, _ = tuned(world, references, candidates="nbest", nbest=1)
    assert len(one.candidates) == sum(map(bool, SENTENCES))


def test_scores_to_do_without_keep_a_weight_of_0(world):
    references = planted(world)
    names = world.lattices.with_feature("Recurrent0").names
    without = ["TranslationModel0_2", "LM0"]
    progress, _ = tuned(world, references, drop_features=without)
    for iteration in progress.iterations:
        assert [iteration.weights[names.index(name)] for name in without] == [0, 0]
    check_refused("TranslationModel0_9", tuned, world, references, drop_features=["TranslationModel0_9"])


def test_without_a_model_the_other_weights_are_tuned(world):
    flat, features = world.lattices.flat, world.lattices.features
    goal = 0.5 * world.vector
    goal[features.slices["LM0"]] *= -3
    references = spelled(world, best_paths(flat, goal)[0])
    progress, best = tuned(world, references, network=False, drop_features=["Distortion0"])
    assert best.decoder_bleu > 90 and len(best.weights) == features.size
    assert best.weights[features.names.index("Distortion0")] == 0
    assert_gained(world, progress, best, best_paths(flat, np.array(best.weights))[0], references)


def test_candidates_hold_exact_scores(world):
    start, settings = Weights.from_vector(world.lattices.features, world.vector), SETTINGS.replace(nbest=10)
    method = LatticeReranking(world.lattices, world.model, planted(world), start, settings, SYSTEM)
    weights = np.append(world.vector, 0.5)
    score, pool = method.gather(Candidates.empty(len(SENTENCES), len(weights)), weights)
    found = push_forward(world.model, weights)
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
    check_refused("LM0", LatticeReranking, world.lattices, world.model, [[]] * 6, Weights(values), SETTINGS, SYSTEM)


BEFORE = {"LM0": [0.5], "TranslationModel0": [0.2, 0.1], "UnknownWordPenalty0": [1.0]}


def lists() -> tuple[list[ListedTranslation], list[list[str]]]:
    """Lists of ten entries whose old features are noise; ``Cslm0`` knows how many words are wrong."""
    generator = np.random.default_rng(0)
    entries, references = [], []
    for sentence in range(20):
        references.append([f"w{sentence}_{i}" for i in range(8)])
        for wrong in generator.permutation(10) % 6:
            words = ["x"] * int(wrong) + references[-1][wrong:]
            noise = generator.normal(size=3).round(3).tolist()
            features = {"LM0": noise[:1], "TranslationModel0": noise[1:], "Cslm0": [float(-wrong)]}
            entries.append(ListedTranslation(sentence, words, features, 0.0))
    return entries, references


@pytest.mark.parametrize("optimiser", ["mert", "mira"])
def test_the_feature_that_knows_gets_its_weight(optimiser: str) -> None:
    entries, references = lists()
    iteration, features = tune_lists(entries, references, BEFORE, tuning_settings(optimiser=optimiser), seed=3)
    assert features.names == ["LM0", "TranslationModel0_0", "TranslationModel0_1", "Cslm0"]
    assert iteration.decoder_bleu < 80
    assert iteration.list_bleu == pytest.approx(100.0)
    tuned = Weights.from_vector(features, np.array(iteration.weights)).values
    best = {entry.sentence: entry.tokens for entry in reversed(rerank_entries(entries, tuned))}
    assert [best[number] for number in range(len(references))] == references


def test_the_step_writes_what_tuning_writes_and_repeats_itself(tmp_path: Path) -> None:
    entries, references = lists()
    write_entries(tmp_path / "lists.gz", entries)
    assert read_nbest(tmp_path / "lists.gz") == entries
    write_lines(tmp_path / "reference", map(" ".join, references))
    write_json(tmp_path / "start.json", BEFORE)
    names = {"system": "system.json", "nbest": "lists.gz", "reference": "reference", "start": "start.json"}
    given = {name: tmp_path / file for name, file in names.items()}
    for threads in (1, 2):
        outputs = {name: tmp_path / f"{name}{threads}" for name in ("weights", "history", "plot")}
        settings = {"restarts": 5, "refinements": 5}
        tune_reranking(**given, settings=settings, seed=7, threads=threads, **outputs)
    assert (tmp_path / "weights1").read_bytes() == (tmp_path / "weights2").read_bytes()
    weights = read_json(tmp_path / "weights1")
    assert weights["UnknownWordPenalty0"] == [1.0] and weights["Cslm0"][0] > 0.1
    (row,) = read_csv(tmp_path / "history1")
    assert float(row["list_bleu"]) == pytest.approx(100.0)
    assert (tmp_path / "plot1").read_bytes().startswith(b"\x89PNG")


def test_lists_that_do_not_fit_are_refused() -> None:
    entries, references = lists()
    given = BEFORE, tuning_settings(), 1
    check_refused(["beyond", "19 sentences"], tune_lists, entries, references[:19], *given)
    check_refused(["lists", "empty"], tune_lists, [], references, BEFORE, tuning_settings(), seed=1)
