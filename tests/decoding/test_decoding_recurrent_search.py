"""The recurrent model inside the search, beside all derivations scored by the equations."""

from pathlib import Path

import numpy as np
import pytest
from recurrent_world import EVERYTHING, MODEL, SENTENCES, random_world, read_positions
from test_decoding_search import search_all
from tiny_models import TARGET

from neural_smt.decoding.features import Weights
from neural_smt.decoding.loading import load_feature
from neural_smt.decoding.scorers.recurrent import RecurrentFeature, RecurrentSearch
from neural_smt.decoding.search import Decoder, SearchSettings
from neural_smt.errors import UserError
from neural_smt.experiment.settings import Settings
from neural_smt.experiment.system_folder import System
from neural_smt.networks.folder import Trained
from neural_smt.networks.recurrent.configuration import RecurrentConfig, WordClasses
from neural_smt.networks.recurrent.network import RecurrentNetwork

WEIGHT = 0.7
NARROW = SearchSettings(algorithm="cube", stack_size=6, beam_threshold=0.0, table_limit=0, pop_limit=20)


def make(seed: int, kind: str, recombination: int, settings: Settings = EVERYTHING, **options):
    """A world whose inputs are those of ``Positions``, and a decoder that its model leads."""
    world = random_world(seed, kind)
    representation, plain = read_positions(world, kind), world.decoder
    feature = RecurrentFeature(world.model.scorer.scorer, MODEL, plain.model, representation, recombination)
    weights = Weights.from_vector(plain.feature_set, plain.vector).values | {feature.name: (WEIGHT,)}
    return world, Decoder(plain.model, settings, Weights(weights), feature=feature, **options)


@pytest.mark.parametrize("algorithm", ["stack", "cube"])
@pytest.mark.parametrize("kind", ["none", "sentence", "links"])
@pytest.mark.parametrize("seed", range(2))
def test_whole_histories_kept_apart_give_every_derivation_its_score(seed, kind, algorithm):
    world, decoder = make(seed, kind, 40, search_all(algorithm))
    found = decoder.decode(SENTENCES, nbest=100_000, distinct=False)
    for sentence, (text, translation) in enumerate(zip(SENTENCES, found, strict=True)):
        if not text:
            assert translation.tokens == []
            continue
        paths = world.paths(sentence)
        recurrent = np.array([world.score(path, sentence)[1] for path in paths])
        features = np.array([world.lattices.flat.features[:, path].astype(float).sum(axis=1) for path in paths])
        expected = np.sort(features @ world.vector + WEIGHT * recurrent)[::-1]
        np.testing.assert_allclose([entry.score for entry in translation.nbest], expected, atol=1e-4)
        listed = sorted(float(entry.features[decoder.column]) for entry in translation.nbest)
        np.testing.assert_allclose(listed, np.sort(recurrent), atol=1e-5)


@pytest.mark.parametrize("kind", ["none", "links"])
def test_a_narrow_search_lists_exact_scores_and_finds_nearly_the_best(kind):
    world, decoder = make(3, kind, 1, NARROW)
    _, wide = make(3, kind, 1)
    lost, lists = [], zip(*(d.decode(SENTENCES, nbest=50) for d in (decoder, wide)), strict=True)
    for sentence, (narrow, best) in enumerate(lists):
        known = {}
        for path in world.paths(sentence):
            words = tuple(world.lattices.spell(world.lattices.flat.words.take(np.array(path)).values))
            known.setdefault(words, []).append(world.score(path, sentence)[1])
        for entry in [*narrow.nbest, *best.nbest]:
            if entry.tokens:
                assert min(abs(entry.features[decoder.column] - score) for score in known[tuple(entry.tokens)]) < 1e-4
                assert entry.score == pytest.approx(float(entry.features @ decoder.vector), abs=1e-4)
        lost.append(best.score - narrow.score)
    assert min(lost) > -1e-4 and np.mean(lost) < 1.0


def test_batches_and_threads_do_not_matter(monkeypatch):
    _, decoder = make(4, "links", 1, NARROW)
    whole = decoder.decode(SENTENCES * 3, nbest=5)
    monkeypatch.setattr("neural_smt.decoding.search.FEATURE_BATCH", 2)
    _, threaded = make(4, "links", 1, NARROW, threads=2)
    for one, other in zip(whole, threaded.decode(SENTENCES * 3, nbest=5), strict=True):
        assert one.tokens == other.tokens
        np.testing.assert_allclose([e.score for e in one.nbest], [e.score for e in other.nbest], atol=1e-4)
    statistics = decoder.feature.statistics()
    assert statistics["hypotheses"] > 0 and statistics["evaluations"] > 0 and statistics["seconds"] > 0


def test_a_hypothesis_is_scored_after_those_that_it_extends(monkeypatch):
    _, decoder = make(5, "none", 1, NARROW)
    scored = []
    score = RecurrentSearch.__call__

    def watch(search, batch):
        assert (search.row_of[batch.tails[batch.tails >= 5]] > 0).all()  # 5 sentences have words
        scored.append(len(batch.tails))
        return score(search, batch)

    monkeypatch.setattr(RecurrentSearch, "__call__", watch)
    decoder.decode(SENTENCES)
    assert sum(scored) == decoder.feature.statistics()["hypotheses"] > 20


def test_models_that_do_not_fit_are_refused(tmp_path: Path):
    model = random_world(0, "none").decoder.model
    classes = WordClasses(np.delete(np.arange(len(MODEL)), 1).astype(np.int32), np.array([0, 3, 6]))
    for name, slots in (("plain", 0), ("joint", 2)):
        config = RecurrentConfig(len(MODEL), 2, 5, slots, 3 if slots else 0, 0, 64)
        Trained(RecurrentNetwork(config, classes, 1), MODEL).save(tmp_path / name)
    groups = ["phrase", "language_model", "recurrent"]

    def load(features: list[str], **network: Path) -> RecurrentFeature:
        content = {"features": features, "network": network}
        return load_feature(System(tmp_path / "system.json", content), model, "cpu")

    feature = load(groups, model=tmp_path / "plain")
    assert feature.name == "Recurrent0" and feature.known.tolist()[3:] == [
        MODEL.index.get(w, 0) for w in TARGET.words[3:]
    ]
    for features, network, message in (
        (groups, {}, "no model folder"),
        ([*groups, "cslm"], {"model": tmp_path / "plain"}, "a search has one network"),
        (groups, {"model": tmp_path / "plain", "representation": tmp_path / "r"}, "leave out the representation"),
        (groups, {"model": tmp_path / "joint"}, "name the representation"),
    ):
        with pytest.raises(UserError, match=message):
            load(features, **network)
