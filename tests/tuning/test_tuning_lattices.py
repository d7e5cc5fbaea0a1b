"""MERT over lattices against brute force: every derivation of tiny models, every crossing of their lines."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from tiny_models import all_derivations, random_model

from neural_smt.bleu import bleu, corpus_statistics
from neural_smt.decoding.features import Weights
from neural_smt.decoding.lattices.flat import FlatLattices, best_paths
from neural_smt.decoding.lattices.oracle import encode_references
from neural_smt.decoding.search import Decoder, SearchSettings
from neural_smt.errors import UserError
from neural_smt.experiment.settings import section_settings
from neural_smt.io.ragged import Ragged
from neural_smt.tuning.candidates import Candidates, LatticePool, join
from neural_smt.tuning.lattice_mert import REACH, LatticeSurface, optimise_lattices
from neural_smt.tuning.lattice_primitives import describe, find_envelopes
from neural_smt.tuning.loop import Progress, State, run
from neural_smt.tuning.methods import LatticeMethod

EVERYTHING = SearchSettings(stack_size=100_000, beam_threshold=0.0, table_limit=0)
SENTENCES = [["a", "b", "a", "c"], [], ["c", "unknown", "b"], ["b"], ["a", "b", "b", "a"]]
"""The tiny models have no entry for ``c`` alone; within ``b c`` it is no unknown word."""


class Case:
    """A tiny model, its complete lattices, references that are derivations with some words exchanged."""

    def __init__(self, seed: int, sentences: list[list[str]] = SENTENCES):
        generator = np.random.default_rng(seed)
        self.model, weights = random_model(seed)
        self.decoder = Decoder(self.model, EVERYTHING, weights)
        self.features = self.decoder.feature_set
        self.weights = self.decoder.vector
        prepared = self.decoder.prepare(sentences)
        self.spelling = [*self.model.target_vocabulary.words, *prepared.unknown_words]
        self.lattices = FlatLattices.of(self.decoder.lattices(prepared), self.features.size)
        self.derivations = [
            all_derivations(self.model, sentence, self.features, self.weights) if sentence else []
            for sentence in sentences
        ]
        self.references = []
        for found in self.derivations:
            words = list(found[generator.integers(len(found))].tokens) if found else ["x"]
            words = [word if generator.random() < 0.8 else "y" for word in words]
            self.references.append([*words, "elsewhere"] if generator.random() < 0.3 else words)
        encoded = encode_references(self.references, self.model.target_vocabulary, prepared.unknown_words)
        self.surface = LatticeSurface(self.lattices, encoded, self.features.tunable)

    def spell(self, ids: np.ndarray) -> tuple[str, ...]:
        return tuple(self.spelling[i] for i in ids.tolist())


def upper_envelope(lines: list[tuple[float, float]], low: float, high: float) -> list[tuple[float, float, float]]:
    """(x, slope, score) of the highest lines between two points: walk to the next line that takes over."""
    slope, score = max(lines, key=lambda line: (line[1] + low * line[0], line[0]))
    x, result = low, [(low, slope, score)]
    while True:
        crossings = [((score - c) / (b - slope), b, c) for b, c in lines if b > slope + 1e-7]
        later = [crossing for crossing in crossings if crossing[0] <= high]
        if not later:
            return result
        nearest = min(crossing[0] for crossing in later)
        x, slope, score = max((c for c in later if c[0] <= nearest + 1e-9), key=lambda crossing: crossing[1])
        result.append((x, slope, score))


def directions(case: Case, seed: int) -> np.ndarray:
    """Every tunable coordinate, and two random directions."""
    axes = np.eye(case.features.size)[case.features.tunable]
    return np.vstack([axes, np.random.default_rng(seed).normal(size=(2, case.features.size))])


@pytest.mark.parametrize("seed", range(4))
def test_envelope_is_that_of_all_derivations(seed: int) -> None:
    case = Case(seed)
    point = case.surface.locate(case.weights)
    for direction in directions(case, seed):
        slopes = (direction @ case.lattices.features).astype(np.float32)
        for reach in (0.5, 100.0):
            found = find_envelopes(case.surface.pool, slopes, point.scores, point.potentials, -reach, reach)
            for number, derivations in enumerate(case.derivations):
                rows = np.flatnonzero(found.sentences == number)
                if not derivations:
                    assert len(rows) == 1 and found.path_offsets[rows[0]] == found.path_offsets[rows[0] + 1]
                    continue
                lines = [(float(d.features @ direction), float(d.features @ case.weights)) for d in derivations]
                expected = upper_envelope(lines, -reach, reach)
                paths = [found.paths[found.path_offsets[row] : found.path_offsets[row + 1]] for row in rows]
                ours = [
                    (found.points[row], slopes[path].astype(float).sum(), point.scores[path].sum())
                    for row, path in zip(rows, paths, strict=True)
                ]
                np.testing.assert_allclose(np.array(ours), np.array(expected), rtol=1e-3, atol=2e-3)
                for path, (_, slope, score) in zip(paths, expected, strict=True):
                    words = {
                        d.tokens
                        for d, line in zip(derivations, lines, strict=True)
                        if abs(line[0] - slope) < 1e-4 and abs(line[1] - score) < 1e-4
                    }
                    assert case.spell(case.lattices.words.take(path).values) in words


@pytest.mark.parametrize("seed", range(4))
def test_segments_have_the_statistics_and_features_of_their_derivations(seed: int) -> None:
    case = Case(seed)
    point = case.surface.locate(case.weights)
    found = case.surface.search(point, 0).envelopes
    features, digests = describe(case.surface.pool, case.lattices.features, found.paths, found.path_offsets)
    seen = {}
    for row, number in enumerate(found.sentences.tolist()):
        path = found.paths[found.path_offsets[row] : found.path_offsets[row + 1]]
        words = case.spell(case.lattices.words.take(path).values)
        assert found.statistics[row].tolist() == corpus_statistics([words], [case.references[number]])[0].tolist()
        np.testing.assert_allclose(features[row], case.lattices.features[:, path].sum(axis=1), rtol=1e-5, atol=1e-5)
        assert seen.setdefault(words, digests[row]) == digests[row]
    assert len(set(seen.values())) == len(seen)


def bleu_at(case: Case, weights: np.ndarray) -> float:
    """Corpus BLEU of the best derivations, found by Viterbi at these weights."""
    ids = best_paths(case.lattices, weights).words(case.lattices)
    return bleu(corpus_statistics([case.spell(words) for words in ids], case.references))


@pytest.mark.parametrize("seed", range(4))
def test_line_search_beats_a_grid_and_keeps_its_promise(seed: int) -> None:
    case = Case(seed)
    point = case.surface.locate(case.weights)
    reach = REACH * np.abs(case.weights[case.features.tunable]).sum()
    for feature in np.flatnonzero(case.features.tunable).tolist():
        line = case.surface.search(point, feature, narrowest=0.0)
        direction = np.eye(case.features.size)[feature]
        grid = [bleu_at(case, case.weights + x * direction) for x in np.linspace(-reach, reach, 101)]
        assert line.bleu >= max(grid) - 1e-9
        assert case.surface.bleu(case.weights + line.x * direction) == pytest.approx(line.bleu, abs=1e-9)


def test_surface_follows_the_weights_and_ascent_climbs() -> None:
    case = Case(5)
    generator = np.random.default_rng(1)
    for _ in range(5):
        weights = np.where(case.features.tunable, generator.normal(size=case.features.size), case.weights)
        assert case.surface.bleu(weights) == pytest.approx(bleu_at(case, weights), abs=1e-12)
        scaled = case.surface.normalised(weights)
        assert np.abs(scaled[case.features.tunable]).sum() == pytest.approx(1.0)
        assert case.surface.bleu(scaled) == pytest.approx(bleu_at(case, weights), abs=1e-12)
        end = case.surface.ascend(scaled)
        assert case.surface.bleu(end) >= case.surface.bleu(scaled)
        point = case.surface.locate(end)
        best = max(case.surface.search(point, f).bleu for f in np.flatnonzero(case.features.tunable).tolist())
        assert best <= case.surface.bleu(end) + 1e-4


def test_weights_that_are_fixed_and_matter_rule_out_rescaling() -> None:
    case = Case(0)
    tunable = case.features.tunable.copy()
    tunable[0] = False
    surface = LatticeSurface(case.lattices, Ragged.from_lists([[3]] * len(SENTENCES)), tunable)
    assert np.array_equal(surface.normalised(case.weights), case.weights)
    weights = case.weights.copy()
    weights[0] = 0.0
    assert np.abs(surface.normalised(weights)[tunable]).sum() == pytest.approx(1.0)
    mixed = Case(0, [["a", "b", "c"]])  # here the unknown-word penalty, which is fixed, matters
    assert np.array_equal(mixed.surface.normalised(mixed.weights), mixed.weights)
    with pytest.raises(ValueError, match="5 lattices for 1 references"):
        LatticeSurface(case.lattices, Ragged.from_lists([[3]]))


@pytest.mark.parametrize("seed", range(3))
def test_optimum_keeps_its_promise_and_beats_every_single_step(seed: int) -> None:
    case = Case(seed)
    none = Candidates.empty(len(SENTENCES), case.features.size)
    optimum, listed = optimise_lattices(
        case.surface, [case.weights], none, generator=np.random.default_rng(1), restarts=4
    )
    assert len(listed) > len(SENTENCES)
    assert optimum.bleu == pytest.approx(bleu_at(case, optimum.weights), abs=1e-12)
    start = case.surface.normalised(case.weights)
    point = case.surface.locate(start)
    steps = [case.surface.search(point, feature) for feature in np.flatnonzero(case.features.tunable).tolist()]
    assert optimum.bleu >= max(line.bleu for line in steps) > case.surface.bleu(start)
    assert np.abs(optimum.weights[case.features.tunable]).sum() == pytest.approx(1.0)
    again, _ = optimise_lattices(
        case.surface, [case.weights], none, generator=np.random.default_rng(1), restarts=4, threads=3
    )
    assert again.weights.tolist() == optimum.weights.tolist()


def derivations_of(lattices: FlatLattices, number: int) -> set[tuple]:
    """Words and feature sums of every way through the lattice of a sentence."""
    first, stop = lattices.node_offsets[number : number + 2].tolist()
    ways = {first: [((), np.zeros(len(lattices.features)))]}
    for node in range(first + 1, stop):
        ways[node] = [
            (words + tuple(lattices.words[arc].tolist()), values + lattices.features[:, arc])
            for arc in range(lattices.arc_offsets[node], lattices.arc_offsets[node + 1])
            for words, values in ways[int(lattices.tails[arc])]
        ]
    return {(words, tuple(np.round(values, 3))) for words, values in ways[stop - 1]} if stop > first else set()


def random_weights(case: Case, seed: int) -> Weights:
    return Weights.from_vector(case.features, np.random.default_rng(seed).normal(0.3, 0.5, case.features.size))


def test_joined_lattices_have_the_derivations_of_both(tmp_path: Path) -> None:
    case = Case(3)
    narrow = SearchSettings(stack_size=3)
    one, other = (Decoder(case.model, narrow, random_weights(case, seed)) for seed in (0, 1))
    first = FlatLattices.of(one.lattices(SENTENCES), case.features.size)
    second = FlatLattices.of(other.lattices([*SENTENCES[:3], [], SENTENCES[4]]), case.features.size)
    pool = LatticePool.empty(len(SENTENCES), case.features.size)
    assert len(pool) == 0
    pool = pool.extended(first).extended(second)
    assert len(pool) == len(first.tails) + len(second.tails)
    pool.save(tmp_path / "pool")
    joined = LatticePool.load(tmp_path / "pool").lattices
    for number in range(len(SENTENCES)):
        expected = derivations_of(first, number) | derivations_of(second, number)
        assert derivations_of(joined, number) == expected
    assert derivations_of(first, 0) != derivations_of(second, 0)
    with pytest.raises(ValueError, match="5 lattices cannot be joined with 4"):
        join(first, FlatLattices.of(other.lattices(SENTENCES[:4]), case.features.size))


def test_bleu_of_a_union_is_that_of_its_parts_where_they_agree() -> None:
    case = Case(1)
    twice = LatticePool.empty(len(SENTENCES), case.features.size).extended(case.lattices).extended(case.lattices)
    references = Ragged(case.surface.pool.references, case.surface.pool.reference_offsets)
    surface = LatticeSurface(twice.lattices, references, case.features.tunable)
    point, single = surface.locate(case.weights), case.surface.locate(case.weights)
    for feature in itertools.islice(np.flatnonzero(case.features.tunable).tolist(), 6):
        ours, theirs = surface.search(point, feature), case.surface.search(single, feature)
        assert (ours.x, ours.bleu) == pytest.approx((theirs.x, theirs.bleu), abs=1e-9)


class Run:
    """Tuning of a tiny model with lattices from a narrow search; it can be killed before any decoding pass."""

    settings = section_settings(
        "tuning", {"candidates": "lattice", "iterations": 4, "restarts": 2, "refinements": 2}
    ).replace(min_gain=-1.0)

    def __init__(self, folder: Path, survived: int = -1):
        self.case = Case(2)
        self.left = survived
        self.folder = folder

    def decode(self, vector: np.ndarray) -> FlatLattices:
        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1
        decoder = Decoder(
            self.case.model, SearchSettings(stack_size=2), Weights.from_vector(self.case.features, vector)
        )
        return FlatLattices.of(decoder.lattices(SENTENCES), self.case.features.size)

    def __call__(self) -> Progress:
        references = Ragged(self.case.surface.pool.references, self.case.surface.pool.reference_offsets)
        method = LatticeMethod(self.decode, references, self.case.features.tunable, self.settings)
        return run(method, self.case.weights, self.settings, seed=1, state=State(self.folder, "mark"))


def test_a_killed_run_over_lattices_ends_like_one_never_killed(tmp_path: Path) -> None:
    whole = Run(tmp_path / "whole")()
    assert len(whole.iterations) > 1
    assert max(i.decoder_bleu for i in whole.iterations) > whole.iterations[0].decoder_bleu
    assert [i.candidates for i in whole.iterations] == np.cumsum([i.new_candidates for i in whole.iterations]).tolist()
    for survived in range(len(whole.iterations)):
        folder = tmp_path / str(survived)
        with pytest.raises(KeyboardInterrupt):
            Run(folder, survived)()
        resumed = Run(folder, len(whole.iterations) - survived)()
        assert resumed.weights == whole.weights
        assert [i.weights for i in resumed.iterations] == [i.weights for i in whole.iterations]
        assert [i.list_bleu for i in resumed.iterations] == [i.list_bleu for i in whole.iterations]


def test_nothing_to_tune_on_is_refused(tmp_path: Path) -> None:
    empty = FlatLattices.of([None], 3)
    method = LatticeMethod(lambda vector: empty, Ragged.from_lists([[3]]), np.ones(3, dtype=bool), Run.settings)
    with pytest.raises(UserError, match="no translation of the development set"):
        run(method, np.ones(3), Run.settings, seed=1, state=State(tmp_path, "mark"))
    method = LatticeMethod(lambda vector: empty, Ragged.from_lists([[3], [4]]), np.ones(3, dtype=bool), Run.settings)
    with pytest.raises(ValueError, match="1 lattices for 2 references"):
        method.gather(LatticePool.empty(2, 3), np.ones(3))
