"""Recurrent models on lattices and inside the search, beside all derivations scored by the equations."""

from dataclasses import replace

import numpy as np
import pytest
from recurrent_world import KINDS, MODEL, SENTENCES, linked_lattices, random_world, read_positions, word_scores
from refusals import check_refused
from test_decoding_search import search_all
from tiny_models import EVERYTHING, TARGET

from neural_smt.decoding.features import Weights
from neural_smt.decoding.reranking.aligned_lattices import AlignedLattices, model_ids
from neural_smt.decoding.reranking.push_forward import order_paths, push_forward, rescore_lists
from neural_smt.decoding.scorers.recurrent import RecurrentFeature, RecurrentSearch
from neural_smt.decoding.search import Decoder, SearchSettings
from neural_smt.experiment.settings import Settings
from neural_smt.io.files import write_lines
from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.vocabulary import UNK


@pytest.fixture(scope="module", params=[(seed, kind) for seed in range(3) for kind in KINDS], ids=str)
def world(request):
    return random_world(*request.param)


@pytest.mark.parametrize("beam", [1, 3, 10_000])
def test_paths_have_their_scores_from_scratch_and_with_all_states_the_best_is_found(world, beam):
    found = push_forward(world.model, world.all_weights, beam)
    everything = push_forward(world.model, world.all_weights, 10_000)
    assert found.evaluations <= everything.evaluations and (everything.scores >= found.scores - 1e-5).all()
    for sentence, text in enumerate(SENTENCES):
        paths, arcs = world.paths(sentence), found.arcs[sentence].tolist()
        assert bool(paths) == bool(text)
        if not text:
            assert arcs == [] and found.scores[sentence] == found.network[sentence] == 0
            continue
        score, recurrent = world.score(paths[paths.index(arcs)], sentence)
        np.testing.assert_allclose(found.network[sentence], recurrent, atol=1e-5)
        np.testing.assert_allclose(found.scores[sentence], score, atol=1e-4)
        if beam == 1:  # then these are the scores of the words of arcs after the only state
            end = word_scores(world, *world.predicted(arcs, sentence))[-1]
            np.testing.assert_allclose(found.arc_scores[arcs].sum() + end, recurrent, atol=1e-5)
        if beam == 10_000:
            np.testing.assert_allclose(score, max(world.score(path, sentence)[0] for path in paths), atol=1e-4)


@pytest.mark.parametrize("beam", [1, 4])
def test_blocks_threads_and_the_order_of_sentences_do_not_matter(monkeypatch, beam):
    world = random_world(4, "none")
    whole = push_forward(world.model, world.all_weights, beam)
    monkeypatch.setattr("neural_smt.decoding.reranking.push_forward.BLOCK", 1)
    alone, threaded = (push_forward(world.model, world.all_weights, beam, threads) for threads in (1, 3))
    assert threaded.scores.tolist() == alone.scores.tolist()
    assert threaded.arcs.values.tolist() == alone.arcs.values.tolist() == whole.arcs.values.tolist()
    np.testing.assert_allclose(alone.scores, whole.scores, atol=1e-5)
    np.testing.assert_allclose(alone.arc_scores, whole.arc_scores, atol=1e-5)
    turned = random_world(4, "none", SENTENCES[::-1])
    found = push_forward(turned.model, turned.all_weights, beam)
    np.testing.assert_allclose(found.scores[::-1], whole.scores, atol=1e-5)


def test_lists_are_rescored_alike_with_and_without_sharing(world):
    plain = rescore_lists(world.model, world.all_weights, 20)
    shared = rescore_lists(world.model, world.all_weights, 20, shared=True, threads=2)
    assert shared.evaluations < plain.evaluations
    assert shared.arcs.values.tolist() == plain.arcs.values.tolist()
    np.testing.assert_allclose(shared.scores, plain.scores, atol=1e-5)


def test_an_arc_without_words_leaves_the_state_as_it_is():
    world = random_world(6, "links", [["a", "b"]])
    flat = world.lattices.flat
    emptied = int(world.paths(0)[0][0])
    lengths = flat.words.lengths.copy()
    kept = np.repeat(np.arange(len(lengths)) != emptied, lengths)
    lengths[emptied] = 0
    words = Ragged(flat.words.values[kept], offsets_of(lengths))
    lattices = replace(world.lattices, flat=replace(flat, words=words), links=world.lattices.links[kept])
    shorter = replace(world, lattices=lattices)
    found = push_forward(shorter.model, shorter.all_weights, 10_000)
    scores = [shorter.score(path, 0)[0] for path in shorter.paths(0)]
    np.testing.assert_allclose(found.scores[0], max(scores), atol=1e-4)
    assert any(emptied in path for path in shorter.paths(0))


def test_words_are_linked_to_the_source_words_of_their_phrase():
    lattices, decoder = linked_lattices(7)
    table = decoder.model.phrase_table
    alignments = {}
    for row, source in enumerate(table.entry_source):
        key = tuple(table.source[source].tolist()), tuple(table.target[row].tolist())
        alignments[key] = [tuple(pair) for pair in table.alignment[row].tolist()]
    arc = 0
    for sentence, lattice in (
        (number, lattice) for number, lattice in enumerate(decoder.lattices(SENTENCES)) if lattice
    ):
        for start, stop, words in zip(lattice.starts, lattice.stops, lattice.words, strict=True):
            tokens = SENTENCES[sentence][start:stop]
            source = tuple(decoder.model.source_vocabulary.index.get(token, -1) for token in tokens)
            pairs = alignments.get((source, tuple(words.tolist())), [(0, 0)])
            linked = [sorted({i for i, j in pairs if j == place}) for place in range(len(words))]
            for place in range(len(words)):
                nearest = [linked[p] for p in [*range(place, -1, -1), *range(place, len(words))] if linked[p]]
                number = lattices.links[lattices.flat.words.offsets[arc] + place]
                assert lattices.sets.sentences[number] == sentence
                assert lattices.sets.positions[number].tolist() == [int(start) + i for i in nearest[0]]
            arc += 1
        end = lattices.ends[sentence]
        assert lattices.sets.sentences[end] == sentence and len(lattices.sets.positions[end]) == 0
    assert arc == len(lattices.flat.tails)


def test_lattices_go_through_a_folder(tmp_path):
    lattices, decoder = linked_lattices(8)
    lattices.save(tmp_path / "lattices")
    loaded = AlignedLattices.load(tmp_path / "lattices")
    for name in ("links", "ends"):
        assert getattr(loaded, name).tolist() == getattr(lattices, name).tolist()
    assert loaded.sets.sentences.tolist() == lattices.sets.sentences.tolist()
    assert loaded.sets.positions.values.tolist() == lattices.sets.positions.values.tolist()
    assert loaded.features.names == decoder.feature_set.names
    assert loaded.features.tunable.tolist() == decoder.feature_set.tunable.tolist()
    assert loaded.made_with.tolist() == decoder.vector.tolist()
    assert loaded.words == [*TARGET.words, "c", "unknown", "other"] and len(loaded.copied) == 3
    assert loaded.with_feature("Recurrent0").names[-1] == "Recurrent0"


def test_words_are_mapped_by_their_spelling():
    lattices, _ = linked_lattices(9)
    ids = model_ids(lattices.words, MODEL)[lattices.flat.words.values]
    spelled = lattices.spell(lattices.flat.words.values)
    assert {"y", "x", "other"} <= set(spelled)
    assert ids.tolist() == [MODEL.index.get(word, UNK) for word in spelled]


def test_a_folder_whose_parts_do_not_fit_is_refused(tmp_path):
    lattices, _ = linked_lattices(8)
    lattices.save(tmp_path / "lattices")
    write_lines(tmp_path / "lattices" / "words.txt", lattices.vocabulary.words)
    check_refused(["lattices", "damaged", "words.txt"], AlignedLattices.load, tmp_path / "lattices")


def test_the_first_of_equal_paths_leads_whatever_rounding_makes_of_them() -> None:
    first = np.array([0, 3, 3, 7])
    totals = np.array([-2.0, -1.0, -1.0 + 1e-9, -5.0, -3.0, -3.0 - 1e-5, -3.0 + 1e-8])
    assert order_paths(totals, first).tolist() == [1, 2, 0, 4, 6, 5, 3]
    assert order_paths(totals[::-1].copy(), np.array([0, 4, 7])).tolist() == [0, 2, 1, 3, 4, 5, 6]
    assert order_paths(np.zeros(0), np.zeros(4, dtype=np.int64)).tolist() == []


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


def test_lattices_of_a_search_are_refused():
    _, decoder = make(4, "none", 1, NARROW)
    check_refused(["lattices", "recurrent"], decoder.lattices, SENTENCES)


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
