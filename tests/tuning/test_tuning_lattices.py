"""MERT over lattices against brute force: every derivation of tiny models, every crossing of their lines."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from lattice_files import all_paths
from refusals import check_refused
from tiny_models import EVERYTHING, all_derivations, random_decoder
from tuning_world import Decoding, killed_and_resumed, tuning_settings

from neural_smt.bleu import bleu, corpus_statistics
from neural_smt.decoding.features import Weights
from neural_smt.decoding.lattices.flat import FlatLattices, best_paths
from neural_smt.decoding.lattices.oracle import encode_references
from neural_smt.decoding.search import Decoder, SearchSettings
from neural_smt.io.ragged import Ragged
from neural_smt.tuning.candidates import Candidates, LatticePool, join
from neural_smt.tuning.lattice_mert import REACH, LatticeSurface, optimise_lattices
from neural_smt.tuning.lattice_primitives import find_envelopes
from neural_smt.tuning.loop import State, run
from neural_smt.tuning.methods import LatticeMethod

SENTENCES = [["a", "b", "a", "c"], [], ["c", "unknown", "b"], ["b"], ["a", "b", "b", "a"]]
"""The tiny models have no entry for ``c`` alone; within ``b c`` it is no unknown word."""


class Case:
    """A tiny model, its complete lattices, references that are derivations with some words exchanged."""

    def __init__(self, seed: int, sentences: list[list[str]] = SENTENCES):
        generator = np.random.default_rng(seed)
        self.decoder = random_decoder(seed, EVERYTHING)
        self.model = self.decoder.model
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
        self.encoded = encode_references(self.references, self.model.target_vocabulary, prepared.unknown_words)
        self.surface = LatticeSurface(self.lattices, self.encoded, self.features.tunable)
        self.tunable = np.flatnonzero(self.features.tunable).tolist()

    def narrow(self, vector: np.ndarray, stack_size: int, sentences: list[list[str]] = SENTENCES) -> FlatLattices:
        """Lattices of a search that keeps few hypotheses."""
        weights = Weights.from_vector(self.features, vector)
        decoder = Decoder(self.model, SearchSettings(stack_size=stack_size), weights)
        return FlatLattices.of(decoder.lattices(sentences), self.features.size)

    def spell(self, ids: np.ndarray) -> tuple[str, ...]:
        return tuple(self.spelling[i] for i in ids.tolist())


@pytest.mark.parametrize("seed", range(4))
def test_envelope_is_that_of_all_derivations(seed: int) -> None:
    """Along every tunable coordinate and in two random directions."""
    case = Case(seed)
    point, flat = case.surface.locate(case.weights), case.lattices
    others = np.random.default_rng(seed).normal(size=(2, case.features.size))
    for direction in np.vstack([np.eye(case.features.size)[case.features.tunable], others]):
        slopes = (direction @ flat.features).astype(np.float32)
        for reach in (0.5, 100.0):
            found = find_envelopes(case.surface.pool, slopes, point.scores, point.best, -reach, reach)
            paths = Ragged(found.paths, found.path_offsets)
            texts = [case.spell(words) for words in flat.translations(paths)]
            answers = [case.references[number] for number in found.sentences]
            assert found.statistics.tolist() == corpus_statistics(texts, answers).tolist()
            sums = np.array([flat.features[:, path].sum(axis=1, dtype=float) for path in paths])
            keys = zip(found.sentences.tolist(), texts, map(tuple, sums.round(4)), strict=True)
            rows = list({key: row for row, key in enumerate(keys)}.values())
            first = np.searchsorted(found.sentences, np.arange(len(SENTENCES) + 1))
            listed = case.surface.listed(Candidates.empty(len(SENTENCES), case.features.size), paths, first)
            np.testing.assert_allclose(listed.features, sums[rows], rtol=1e-5, atol=1e-5)
            assert listed.statistics.tolist() == found.statistics[rows].tolist()
            for number, derivations in enumerate(case.derivations):
                rows = np.flatnonzero(found.sentences == number)
                if not derivations:
                    assert len(rows) == 1 and len(paths[rows[0]]) == 0
                    continue
                lines = np.array([(d.features @ direction, d.features @ case.weights) for d in derivations])
                ours = np.array([(slopes[paths[i]].sum(dtype=float), point.scores[paths[i]].sum()) for i in rows])
                turns = np.append(found.breakpoints[rows], reach)
                assert turns[0] == -reach and (np.diff(turns) > 0).all() and (np.diff(ours[:, 0]) > 0).all()
                for x in (turns[:-1], turns[1:]):  # each segment is on top where it starts and where it ends
                    heights = lines[:, :1] * x + lines[:, 1:]
                    np.testing.assert_allclose(ours[:, 0] * x + ours[:, 1], heights.max(axis=0), rtol=1e-3, atol=2e-3)
                for row, line in zip(rows, ours, strict=True):
                    nearest = lines[np.abs(lines - line).max(axis=1).argmin()]
                    np.testing.assert_allclose(line, nearest, rtol=1e-3, atol=2e-3)
                    same = np.flatnonzero(np.abs(lines - nearest).max(axis=1) < 1e-4)
                    assert texts[row] in {derivations[i].tokens for i in same}


def bleu_at(case: Case, weights: np.ndarray) -> float:
    """Corpus BLEU of the best derivations, found by Viterbi at these weights."""
    ids = case.lattices.translations(best_paths(case.lattices, weights)[0])
    return bleu(corpus_statistics([case.spell(words) for words in ids], case.references))


@pytest.mark.parametrize("seed", range(4))
def test_line_search_beats_a_grid_and_keeps_its_promise(seed: int) -> None:
    case = Case(seed)
    point = case.surface.locate(case.weights)
    reach = REACH * np.abs(case.weights[case.features.tunable]).sum()
    for feature in case.tunable:
        x, found = case.surface.search(point, feature, narrowest=0.0)
        direction = np.eye(case.features.size)[feature]
        grid = [bleu_at(case, case.weights + x * direction) for x in np.linspace(-reach, reach, 101)]
        assert found >= max(grid) - 1e-9
        assert case.surface.bleu(case.weights + x * direction) == pytest.approx(found, abs=1e-9)


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
        best = max(case.surface.search(point, feature)[1] for feature in case.tunable)
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
    none, settings = Candidates.empty(len(SENTENCES), case.features.size), tuning_settings(restarts=4)
    (optimum, listed), (again, _) = (
        optimise_lattices(case.surface, case.weights, none, settings, np.random.default_rng(1), threads)
        for threads in (1, 3)
    )
    assert len(listed) > len(SENTENCES)
    assert optimum.bleu == pytest.approx(bleu_at(case, optimum.weights), abs=1e-12)
    start = case.surface.normalised(case.weights)
    point = case.surface.locate(start)
    steps = [case.surface.search(point, feature)[1] for feature in case.tunable]
    assert optimum.bleu >= max(steps) > case.surface.bleu(start)
    assert np.abs(optimum.weights[case.features.tunable]).sum() == pytest.approx(1.0)
    assert again.weights.tolist() == optimum.weights.tolist()


def derivations_of(lattices: FlatLattices, number: int) -> set[tuple]:
    """Words and feature sums of every way through the lattice of a sentence."""
    return {
        (*lattices.words.take(path).values.tolist(), *np.round(lattices.features[:, path].sum(axis=1, dtype=float), 3))
        for path in map(np.array, all_paths(lattices, number))
    }


def test_joined_lattices_have_the_derivations_of_both(tmp_path: Path) -> None:
    case = Case(3)
    one, other = (np.random.default_rng(seed).normal(0.3, 0.5, case.features.size) for seed in (0, 1))
    first, second = case.narrow(one, 3), case.narrow(other, 3, [*SENTENCES[:3], [], SENTENCES[4]])
    pool = LatticePool.empty(len(SENTENCES), case.features.size)
    assert len(pool) == 0
    pool = replace(pool, lattices=join(join(pool.lattices, first), second))
    assert len(pool) == len(first.tails) + len(second.tails)
    pool.save(tmp_path / "pool")
    joined = LatticePool.load(tmp_path / "pool").lattices
    for number in range(len(SENTENCES)):
        expected = derivations_of(first, number) | derivations_of(second, number)
        assert derivations_of(joined, number) == expected
    assert derivations_of(first, 0) != derivations_of(second, 0)
    with pytest.raises(ValueError, match="5 lattices cannot be joined with 4"):
        join(first, case.narrow(other, 3, SENTENCES[:4]))


def test_bleu_of_a_union_is_that_of_its_parts_where_they_agree() -> None:
    case = Case(1)
    surface = LatticeSurface(join(case.lattices, case.lattices), case.encoded, case.features.tunable)
    point, single = surface.locate(case.weights), case.surface.locate(case.weights)
    for feature in case.tunable[:6]:
        assert surface.search(point, feature) == pytest.approx(case.surface.search(single, feature), abs=1e-9)


SETTINGS = tuning_settings(candidates="lattice", iterations=4, restarts=2, refinements=2).replace(min_gain=-1.0)


def test_a_killed_run_over_lattices_ends_like_one_never_killed(tmp_path: Path) -> None:
    """The lattices are those of a narrow search."""
    case = Case(2)
    decode = Decoding(lambda vector: case.narrow(vector, 2))
    method = LatticeMethod(decode, case.encoded, case.features.tunable, SETTINGS)
    whole = killed_and_resumed(lambda folder: run(method, case.weights, 1, State(folder, "mark")), decode, tmp_path)
    assert max(i.decoder_bleu for i in whole.iterations) > whole.iterations[0].decoder_bleu
    assert [i.candidates for i in whole.iterations] == np.cumsum([i.new_candidates for i in whole.iterations]).tolist()


def test_nothing_to_tune_on_is_refused(tmp_path: Path) -> None:
    empty = FlatLattices.of([None], 3)
    method = LatticeMethod(lambda vector: empty, Ragged.from_lists([[3]]), np.ones(3, dtype=bool), SETTINGS)
    check_refused("no translation", run, method, np.ones(3), 1, State(tmp_path, "mark"))
