"""Lattices: their arrays, and what sums along their derivations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lattice_files import all_paths, best_of_search_graph, read_slf
from tiny_models import EVERYTHING, SENTENCES, all_derivations, random_decoder

from neural_smt.decoding.lattices.flat import FlatLattices, best_derivations, best_paths, list_paths
from neural_smt.decoding.lattices.lattice import max_marginals, prune
from neural_smt.decoding.lattices.text_formats import core_columns, quoted, search_graph_lines, slf_lines
from neural_smt.decoding.nbest import read_nbest
from neural_smt.decoding.search import Decoder, SearchSettings


def described(lattice, vector):
    """(score, words) of every path under the weights, from the features of its arcs."""
    scores = lattice.features(np.arange(len(lattice.tails))) @ vector
    words, paths = lattice.spell(), all_paths(lattice, 0)
    return [(float(sum(scores[a] for a in path)), tuple(w for a in path for w in words[a])) for path in paths]


def assert_same_paths(found, expected, tolerance=1e-3):
    """The same (score, words), whatever the order of equal ones."""
    found, expected = (sorted(paths, key=lambda p: (p[1], p[0])) for paths in (found, expected))
    assert [words for _, words in found] == [words for _, words in expected]
    np.testing.assert_allclose([s for s, _ in found], [s for s, _ in expected], atol=tolerance)


def test_lattices_hold_every_derivation_and_go_through_files(tmp_path):
    decoder = random_decoder(4, EVERYTHING)
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
            expected = all_derivations(decoder.model, sentence, decoder.feature_set, decoder.vector)
            found = sorted((score for score, _ in described(lattice, decoder.vector)), reverse=True)
            np.testing.assert_allclose(found, [e.score for e in expected], rtol=1e-4, atol=1e-4)


@pytest.fixture(scope="module", params=range(3))
def searched(request):
    """A decoder and the lattices of ``SENTENCES``, every derivation in them."""
    decoder = random_decoder(request.param, EVERYTHING)
    return decoder, decoder.lattices(SENTENCES)


def test_new_weights_find_the_best_derivations_without_decoding_again(searched):
    """The best path and the distinct lists of all lattices under other weights, against all derivations."""
    decoder, lattices = searched
    flat = FlatLattices.of(lattices, decoder.feature_set.size)
    vector = np.random.default_rng(5).normal(0, 0.4, decoder.feature_set.size)
    paths, scores = best_paths(flat, vector)
    spelling = lattices[0].weighted.prepared.spelling
    spelled = [tuple(spelling[i] for i in ids.tolist()) for ids in flat.translations(paths)]
    assert scores[1] == 0 and len(paths[1]) == 0 and spelled[1] == ()
    lists = {limit: list_paths(flat, vector, limit) for limit in (1, 40)}
    for number in (0, 2, 3):
        expected = all_derivations(decoder.model, SENTENCES[number], decoder.feature_set, vector)
        np.testing.assert_allclose(scores[number], expected[0].score, rtol=1e-4)
        np.testing.assert_allclose(flat.features[:, paths[number]].sum(axis=1) @ vector, expected[0].score, rtol=1e-4)
        assert spelled[number] == expected[0].tokens
        distinct = {}
        for limit, (listed, first) in lists.items():
            for derivation in expected[: 20 * limit]:
                distinct.setdefault(derivation.tokens, derivation.score)
            rows = range(first[number], first[number + 1])
            found = [flat.scores(vector)[listed[row]].sum() for row in rows]
            np.testing.assert_allclose(found, list(distinct.values())[:limit], rtol=1e-4, atol=1e-4)
            assert len({tuple(flat.words.take(listed[row]).values.tolist()) for row in rows}) == len(rows)
            assert all(flat.tails[listed[row][0]] == flat.node_offsets[number] for row in rows)
    assert all(first[1] == first[2] and len(first) == len(lattices) + 1 for _, first in lists.values())


@given(seed=st.integers(0, 5), density=st.floats(0.1, 40))
def test_pruning_keeps_exactly_the_arcs_of_good_derivations(seed, density):
    decoder = random_decoder(seed, EVERYTHING)
    lattice = decoder.lattices([SENTENCES[0]])[0]
    scores = dict.fromkeys(range(len(lattice.tails)), -np.inf)
    for path in all_paths(lattice, 0):
        total = float(lattice.scores[path].sum())
        for arc in path:
            scores[arc] = max(scores[arc], total)
    np.testing.assert_allclose(max_marginals(lattice), list(scores.values()), rtol=1e-9)
    words = lattice.words.take(best_derivations(lattice, 1, False)[0][0]).offsets[-1]
    cut = sorted(scores.values(), reverse=True)[min(len(scores), max(1, int(density * words))) - 1]
    pruned = prune(lattice, density)
    assert len(pruned.tails) == sum(score >= cut - 1e-8 for score in scores.values())
    good = [path for path in all_paths(lattice, 0) if all(scores[arc] >= cut - 1e-8 for arc in path)]
    assert len(all_paths(pruned, 0)) == len(good)
    assert best_derivations(pruned, 1, False)[1][0] == pytest.approx(max(scores.values()), abs=1e-9)
    assert (pruned.tails < pruned.heads).all() and (np.diff(pruned.arc_offsets)[1:] > 0).all()
    assert prune(lattice, np.inf) is lattice
    early, empty = decoder.lattices([SENTENCES[0], []], density=density)  # pruned as soon as it is searched
    assert empty is None
    for name in ("tails", "prefix_scores", "sentences"):
        assert getattr(early, name).tolist() == getattr(pruned, name).tolist()


def test_search_graphs_hold_the_derivations(searched):
    decoder, lattices = searched
    lines = list(search_graph_lines(lattices))
    graphs = best_of_search_graph(lines, None)
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
    line = list(search_graph_lines(lattices, first=7, extended=True))[-1]
    assert line.startswith("10 ") and ' out="b|' in line  # the last sentence is "b"
    core = [float(value) for value in line.split("core=(")[1].split(")")[0].split(",")]
    transition = float(line.split("transition=")[1].split()[0])
    vector = decoder.vector[core_columns(decoder.feature_set)]
    np.testing.assert_allclose(vector @ core, transition, atol=0.01)
    assert core[0] == 0.0 and core[2] == 1.0  # unknown words, words, phrases, as in a moses.ini


def test_slf_files_hold_the_derivations(searched):
    decoder, lattices = searched
    for number in (0, 2, 3):
        lines = slf_lines(number, lattices[number])
        assert_same_paths(read_slf(lines), described(lattices[number], decoder.vector))
    assert list(slf_lines(1, None))[-3:] == ["start=0 end=0", "NODES=1 LINKS=0", "I=0"]


def test_slf_escapes_what_htk_would_read_otherwise():
    assert quoted("a\"b\\c'") == "a\\\"b\\\\c\\'"


def test_graphs_have_the_totals_and_the_hundred_best_derivations_of_those_of_moses(real):
    """By the transitions and by the feature values in Moses' graphs and in ours, and by the lattices themselves."""
    lattices = Decoder(real.model, SearchSettings(), real.ini.weights).lattices(real.sentences[:2])
    weights = lattices[0].weighted.vector[core_columns(lattices[0].weighted.features)]
    graphs = real.lines("stack200.first2.osgx.gz"), list(search_graph_lines(lattices, extended=True))
    theirs, ours = (best_of_search_graph(lines) for lines in graphs)
    entries = [entry for entry in read_nbest(real.folder / "stack200.nbest.gz") if entry.sentence < 2]
    for number, total in {entry.sentence: entry.score for entry in reversed(entries)}.items():
        assert theirs[number][0][0] == pytest.approx(total, abs=2e-2)  # a sum of transitions printed with three digits
        assert ours[number][0][0] == pytest.approx(theirs[number][0][0], abs=2e-2)
        assert ours[number][0][1] == theirs[number][0][1]
    for found in (best_of_search_graph(lines, 100, weights) for lines in graphs):
        for number, lattice in enumerate(lattices):
            exact = best_derivations(lattice, 100, distinct=False)[1]
            np.testing.assert_allclose([score for score, _ in found[number]], exact, atol=1e-3)
