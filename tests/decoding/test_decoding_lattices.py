"""Lattices: their arrays, and what sums along their derivations."""

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lattice_files import best_of_search_graph, best_scores, read_search_graphs, read_slf
from tiny_models import TARGET, all_derivations, random_model

from neural_smt.decoding.lattices.flat import FlatLattices, best_paths
from neural_smt.decoding.lattices.kbest import best_derivations, list_paths, reweigh
from neural_smt.decoding.lattices.pruning import max_marginals, prune
from neural_smt.decoding.lattices.text_formats import core_columns, quoted, search_graph_lines, slf_lines
from neural_smt.decoding.moses.compiled import load_model
from neural_smt.decoding.moses.ini import read_moses_ini
from neural_smt.decoding.nbest import read_nbest
from neural_smt.decoding.search import Decoder, SearchSettings

SENTENCES = [["a", "b", "c", "a"], [], ["c", "unknown", "b", "a"], ["b"]]
EVERYTHING = SearchSettings(stack_size=100_000, beam_threshold=0.0, table_limit=0)


def paths_of(lattice):
    """Every path as a tuple of arcs, by recursion."""
    ways = {0: [()]}
    for node in range(1, len(lattice.ranges)):
        arcs = range(int(lattice.arc_offsets[node]), int(lattice.arc_offsets[node + 1]))
        ways[node] = [(*way, arc) for arc in arcs for way in ways[int(lattice.tails[arc])]]
    return ways[len(lattice.ranges) - 1]


def described(lattice, vector):
    """(score, words) of every path under the weights, from the features of its arcs."""
    scores = lattice.features(np.arange(len(lattice.tails))) @ vector
    words = lattice.spell(TARGET)
    return [
        (float(sum(scores[a] for a in path)), tuple(w for a in path for w in words[a])) for path in paths_of(lattice)
    ]


def assert_same_paths(found, expected, tolerance=1e-3):
    """The same (score, words), whatever the order of equal ones."""
    found, expected = (sorted(paths, key=lambda p: (p[1], p[0])) for paths in (found, expected))
    assert [words for _, words in found] == [words for _, words in expected]
    np.testing.assert_allclose([s for s, _ in found], [s for s, _ in expected], atol=tolerance)


def test_lattices_hold_every_derivation_and_go_through_files(tmp_path):
    model, weights = random_model(4)
    decoder = Decoder(model, EVERYTHING, weights)
    lattices = decoder.lattices(SENTENCES)
    FlatLattices.of(lattices, decoder.feature_set.size).save(tmp_path / "lattices")
    flat = FlatLattices.load(tmp_path / "lattices")
    assert len(flat) == 4 and flat.node_offsets[1] == flat.node_offsets[2]
    for number, sentence in enumerate(SENTENCES):
        if sentence:
            lattice, first = lattices[number], flat.node_offsets[number]
            arcs = np.arange(*flat.arc_offsets[flat.node_offsets[number : number + 2]])
            features = lattice.features(np.arange(len(arcs)))
            assert (flat.tails[arcs] == lattice.tails + first).all() and (lattice.tails < lattice.heads).all()
            assert (flat.features[:, arcs] == features.T).all()
            assert flat.words.take(arcs).values.tolist() == lattice.words.values.tolist()
            np.testing.assert_allclose(features @ decoder.vector, lattice.scores, rtol=1e-4, atol=1e-4)
            expected = all_derivations(model, sentence, decoder.feature_set, decoder.vector)
            found = sorted((score for score, _ in described(lattice, decoder.vector)), reverse=True)
            np.testing.assert_allclose(found, [e.score for e in expected], rtol=1e-4, atol=1e-4)


@pytest.fixture(scope="module", params=range(3))
def searched(request):
    """A decoder and the lattices of ``SENTENCES``, every derivation in them."""
    model, weights = random_model(request.param)
    decoder = Decoder(model, EVERYTHING, weights)
    return decoder, decoder.lattices(SENTENCES)


def test_new_weights_find_the_best_derivations_without_decoding_again(searched):
    decoder, lattices = searched
    flat = FlatLattices.of(lattices, decoder.feature_set.size)
    vector = np.random.default_rng(5).normal(0, 0.4, decoder.feature_set.size)
    paths = best_paths(flat, vector)
    features, words = paths.features(flat), paths.words(flat)
    assert paths.scores[1] == 0 and not features[1].any() and len(words[1]) == 0
    for number in (0, 2, 3):
        expected = all_derivations(decoder.model, SENTENCES[number], decoder.feature_set, vector)
        np.testing.assert_allclose(paths.scores[number], expected[0].score, rtol=1e-4)
        np.testing.assert_allclose(features[number] @ vector, expected[0].score, rtol=1e-4)
        again = reweigh(lattices[number], vector)
        found, scores, _ = best_derivations(again, 200, distinct=False)
        np.testing.assert_allclose(scores, [e.score for e in expected[:200]], rtol=1e-4, atol=1e-4)
        spelled = again.spell(TARGET)
        assert tuple(w for arc in found[0] for w in spelled[arc]) == expected[0].tokens
        copied = again.weighted.prepared.unknown_words
        known = [TARGET.words[i] if i < len(TARGET) else copied[i - len(TARGET)] for i in words[number].tolist()]
        assert tuple(known) == expected[0].tokens


def test_lists_of_all_sentences_are_those_of_each_under_new_weights(searched):
    decoder, lattices = searched
    flat = FlatLattices.of(lattices, decoder.feature_set.size)
    vector = np.random.default_rng(7).normal(0, 0.4, decoder.feature_set.size)
    for limit in (1, 40):
        paths, first = list_paths(flat, vector, limit)
        assert len(first) == len(lattices) + 1 and first[-1] == len(paths)
        for number, lattice in enumerate(lattices):
            rows = range(first[number], first[number + 1])
            if lattice is None:
                assert len(rows) == 0
                continue
            expected, scores, _ = best_derivations(reweigh(lattice, vector), limit, distinct=True)
            assert len(rows) == len(expected) > 0
            found = [flat.scores(vector)[paths[row]].sum() for row in rows]
            np.testing.assert_allclose(found, scores, rtol=1e-4, atol=1e-4)
            words = {tuple(flat.words.take(paths[row]).values.tolist()) for row in rows}
            assert len(words) == len(rows)
            assert all(flat.tails[paths[row][0]] == flat.node_offsets[number] for row in rows)


@pytest.mark.parametrize("reweighed", [False, True])
def test_exhaustive_distinct_lists_hold_every_string(searched, reweighed):
    decoder, lattices = searched
    vector = np.random.default_rng(6).normal(0, 0.4, decoder.feature_set.size) if reweighed else decoder.vector
    for lattice, sentence in zip(lattices, SENTENCES, strict=True):
        if lattice is None:
            continue
        lattice = reweigh(lattice, vector) if reweighed else lattice
        best = {}
        for derivation in all_derivations(decoder.model, sentence, decoder.feature_set, vector):
            best.setdefault(derivation.tokens, derivation.score)
        paths, scores, _ = best_derivations(lattice, len(best) + 5, distinct=True, exhaustive=True)
        np.testing.assert_allclose(scores, list(best.values()), rtol=1e-4, atol=1e-4)
        words = lattice.spell(TARGET)
        assert {tuple(w for arc in path for w in words[arc]) for path in paths} == set(best)


@settings(max_examples=25)
@given(seed=st.integers(0, 5), beam=st.floats(0, 20), density=st.floats(0.1, 40))
def test_pruning_keeps_exactly_the_arcs_of_good_derivations(seed, beam, density):
    model, weights = random_model(seed)
    decoder = Decoder(model, EVERYTHING, weights)
    lattice = decoder.lattices([SENTENCES[0]])[0]
    scores = dict.fromkeys(range(len(lattice.tails)), -np.inf)
    for path in paths_of(lattice):
        total = float(lattice.scores[list(path)].sum())
        for arc in path:
            scores[arc] = max(scores[arc], total)
    np.testing.assert_allclose(max_marginals(lattice), list(scores.values()), rtol=1e-9)
    best = max(scores.values())
    pruned = prune(lattice, beam=beam)
    good = [path for path in paths_of(lattice) if all(scores[arc] >= best - beam - 1e-9 for arc in path)]
    assert len(pruned.tails) == sum(score >= best - beam - 1e-9 for score in scores.values())
    assert len(paths_of(pruned)) == len(good)
    sparse = prune(lattice, density=density)
    words = len(best_derivations(lattice, 1, False)[0][0]) and sum(
        len(lattice.words[arc]) for arc in best_derivations(lattice, 1, False)[0][0]
    )
    cut = sorted(scores.values(), reverse=True)[min(len(scores), max(1, int(density * words))) - 1]
    assert len(sparse.tails) == sum(score >= cut - 1e-8 for score in scores.values())
    for smaller in (pruned, sparse):
        assert best_derivations(smaller, 1, False)[1][0] == pytest.approx(best, abs=1e-9)
        assert (smaller.tails < smaller.heads).all() and (np.diff(smaller.arc_offsets)[1:] > 0).all()
    assert prune(lattice) is lattice


def test_search_graphs_hold_the_derivations(searched):
    decoder, lattices = searched
    lines = list(search_graph_lines(lattices, TARGET))
    graphs = read_search_graphs(lines)
    assert sorted(graphs) == [0, 2, 3] and lines[0].startswith("0 hyp=0 stack=0 forward=")
    for number, paths in graphs.items():
        assert_same_paths(paths, described(lattices[number], decoder.vector), tolerance=2e-3)
        own = [line for line in lines if line.startswith(f"{number} hyp=")]
        best = float(own[0].split("fscore=")[1])
        for line in own[1:]:  # inside and outside scores never add up to more than the best
            fields = dict(item.split("=", 1) for item in line.split(" out=")[0].split()[1:])
            assert float(fields["score"]) + float(fields["fscore"]) <= best + 5e-3
            assert (fields["forward"] == "-1") == (int(fields["stack"]) == len(SENTENCES[number]))


def test_extended_search_graphs_name_source_and_scores(searched):
    decoder, lattices = searched
    line = list(search_graph_lines(lattices, TARGET, first=7, extended=True))[-1]
    assert line.startswith("10 ") and ' out="b|' in line  # the last sentence is "b"
    core = [float(value) for value in line.split("core=(")[1].split(")")[0].split(",")]
    transition = float(line.split("transition=")[1].split()[0])
    vector = decoder.vector[core_columns(decoder.feature_set)]
    np.testing.assert_allclose(vector @ core, transition, atol=0.01)
    assert core[0] == 0.0 and core[2] == 1.0  # unknown words, words, phrases, as in a moses.ini


def test_slf_files_hold_the_derivations(searched):
    decoder, lattices = searched
    for number in (0, 2, 3):
        lines = slf_lines(number, lattices[number], TARGET)
        assert_same_paths(read_slf(lines), described(lattices[number], decoder.vector))
    assert list(slf_lines(1, None, TARGET))[-3:] == ["start=0 end=0", "NODES=1 LINKS=0", "I=0"]


def test_slf_escapes_what_htk_would_read_otherwise():
    assert quoted("a\"b\\c'") == "a\\\"b\\\\c\\'"


@pytest.fixture(scope="module")
def moses(shared):
    """The lines that Moses wrote of two sentences, the model, and our lattices of them."""
    folder = shared / "oracle" / "decoding"
    with gzip.open(folder / "stack200.first2.osgx.gz", "rt") as stream:
        lines = stream.read().splitlines()
    ini = read_moses_ini(folder / "moses.ini")
    model = load_model(ini, "off")
    sentences = [line.split() for line in (folder / "input.en").read_text().splitlines()[:2]]
    return lines, model, Decoder(model, SearchSettings(), ini.weights).lattices(sentences)


def test_the_reader_and_the_graph_agree_with_moses(shared, moses):
    """The graphs that Moses wrote lead to its own totals, and so does ours of the same sentences."""
    lines, model, lattices = moses
    totals = {}
    for entry in read_nbest(shared / "oracle" / "decoding" / "stack200.nbest.gz"):
        if entry.sentence < 2:
            totals.setdefault(entry.sentence, entry.score)
    theirs = best_of_search_graph(lines)
    ours = best_of_search_graph(search_graph_lines(lattices, model.target_vocabulary, extended=True))
    for number, total in totals.items():
        assert theirs[number][0] == pytest.approx(total, abs=2e-2)  # a sum of transitions printed with three digits
        assert ours[number][0] == pytest.approx(theirs[number][0], abs=2e-2)
        assert ours[number][1] == theirs[number][1]


def test_the_hundred_best_derivations_are_those_of_the_graph_of_moses(moses):
    """Their scores by the feature values in Moses' graph and in ours, and by the lattice itself."""
    lines, model, lattices = moses
    weights = lattices[0].weighted.vector[core_columns(model.feature_set)]
    theirs = best_scores(lines, weights, 100)
    ours = best_scores(search_graph_lines(lattices, model.target_vocabulary, extended=True), weights, 100)
    for number, lattice in enumerate(lattices):
        exact = best_derivations(lattice, 100, distinct=False)[1]
        np.testing.assert_allclose(theirs[number], exact, atol=1e-3)
        np.testing.assert_allclose(ours[number], exact, atol=1e-3)


def test_lattices_are_pruned_as_soon_as_they_are_searched():
    model, weights = random_model(4)
    decoder = Decoder(model, EVERYTHING, weights)
    for whole, pruned in zip(decoder.lattices(SENTENCES), decoder.lattices(SENTENCES, density=2.0), strict=True):
        expected = whole and prune(whole, density=2.0)
        assert (pruned is None) == (whole is None)
        if whole is not None:
            assert pruned.tails.tolist() == expected.tails.tolist() and len(pruned.tails) < len(whole.tails)
            assert pruned.prefix_scores.tolist() == expected.prefix_scores.tolist()
            assert pruned.sentences.tolist() == whole.sentences.tolist()
