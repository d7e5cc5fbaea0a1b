"""Batch MIRA against plain Python, literal numbers, and problems with a known answer."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tuning_world import CASES, bleu_at, candidates_of

from neural_smt.experiment.settings import Settings, section_settings
from neural_smt.tuning.candidates import Candidates
from neural_smt.tuning.mert import ErrorSurface
from neural_smt.tuning.mira import background_bleu, optimise_margins, update


def even_candidates(seed: int, sentences: int, each: int, features: int) -> Candidates:
    """Candidates of 10 words whose matches are random; references have 8 to 13."""
    generator = np.random.default_rng(seed)
    rows = sentences * each
    matches = np.minimum.accumulate(generator.integers(1, 10, (rows, 4)) - np.arange(4), axis=1).clip(0)
    totals, values = np.tile([10, 9, 8, 7], (rows, 1)), generator.normal(size=(rows, features))
    lengths = np.repeat(generator.integers(8, 14, sentences), each)
    return candidates_of(values, matches, totals, lengths, np.full(sentences, each))


def test_bleu_over_a_background_in_numbers() -> None:
    statistics = np.array([3, 4, 1, 3, 0, 2, 0, 1, 5], dtype=np.int32)
    expected = (4 / 5 * 2 / 4 * 1 / 3 * 1 / 2) ** 0.25 * math.exp(1 - 6 / 5) * 6
    assert background_bleu(statistics, np.ones(9)) == pytest.approx(expected)


def python_bleu(statistics, background):
    *counts, reference = np.add(statistics, background).tolist()
    logs = sum(math.log(matches / total) for matches, total in zip(counts[::2], counts[1::2], strict=True))
    return math.exp(logs / 4 + min(0.0, 1 - reference / counts[1])) * reference


def python_mira(candidates, start, tunable, generator, choice):
    """The algorithm as the paper prints it, with lists and loops."""
    rows = [range(a, b) for a, b in itertools.pairwise(candidates.offsets)]
    h = candidates.features.astype(float)
    s = candidates.statistics.tolist()
    orders = [generator.permutation(len(rows)) for _ in range(choice.epochs)]
    w, background, averages, seen = np.array(start, float), [1.0] * 9, [], []
    for order in orders:
        for i in order:
            bleus = {e: python_bleu(s[e], background) for e in rows[i]}
            hope = max(rows[i], key=lambda e: h[e] @ w + bleus[e])
            fear = max(rows[i], key=lambda e: h[e] @ w - bleus[e])
            difference = np.where(tunable, h[hope] - h[fear], 0.0)
            cost = bleus[hope] - bleus[fear]
            loss = cost - w @ (h[hope] - h[fear])
            if cost > 0 and loss > 0 and difference.any():
                w = w + min(choice.regularisation, loss / (difference @ difference)) * difference
            background = [choice.decay * b + x for b, x in zip(background, s[hope], strict=True)]
            seen.append(w)
        averages.append(np.mean(seen, axis=0))
    return averages


def tuned(candidates, start, seed=0, tunable=None, **choice):
    """What MIRA makes of a start, all of whose weights are tuned by default."""
    settings = section_settings("tuning.mira", choice).as_dict()
    surface, generator = ErrorSurface(candidates, tunable), np.random.default_rng(seed)
    return optimise_margins(candidates, surface, np.array(start), generator, settings)


@pytest.mark.parametrize(("cost", "tunable", "longest", "expected"), CASES["steps"])
def test_one_step_in_numbers(cost, tunable, longest, expected):
    weights = np.array([0.5, 0.1])
    update(np.array([1.0, -2.0]), cost, np.array(tunable), longest, weights)
    np.testing.assert_allclose(weights, expected)


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_algorithm_of_the_paper(seed):
    candidates = even_candidates(seed, 6, 8, 4)
    tunable = np.array([True, True, False, True])
    start = np.array([0.1, 0.0, 1.0, -0.3])
    choice = Settings({"epochs": 7, "regularisation": 0.05, "decay": 0.9})
    averages = python_mira(candidates, start, tunable, np.random.default_rng(seed), choice)
    found = tuned(candidates, start, seed, tunable, **choice.as_dict())
    scores = [bleu_at(candidates, weights) for weights in [start, *averages]]
    assert found.bleu == pytest.approx(max(scores))
    np.testing.assert_allclose(found.weights, [start, *averages][int(np.argmax(scores))], atol=1e-5)
    assert found.weights[2] == 1.0


def test_a_separable_problem_is_solved():
    """The first feature is the number of matches, the second misleads."""
    candidates = even_candidates(1, 30, 10, 2)
    matches = candidates.statistics[:, [0, 2, 4, 6]].sum(axis=1)
    candidates.features[:, 0] = matches / 10
    candidates.features[:, 1] = -matches / 10 + candidates.features[:, 1]
    found = tuned(candidates, [0, 1])
    assert found.bleu >= 0.995 * bleu_at(candidates, np.array([1.0, 0.0]))


def test_many_features_are_no_obstacle():
    """A planted direction among 200 features is found from 50 sentences of each half."""
    generator = np.random.default_rng(5)
    planted = generator.normal(size=200)
    candidates = even_candidates(2, 100, 20, 200)
    good = candidates.features @ planted
    for a, b in itertools.pairwise(candidates.offsets):
        ranks = np.argsort(np.argsort(good[a:b]))
        candidates.statistics[a:b, 0] = 1 + 9 * ranks // 20
        candidates.statistics[a:b, 2:8:2] = np.maximum(candidates.statistics[a:b, :1] - [[1, 2, 3]], 0)
    fields = candidates.features, candidates.statistics, candidates.digests
    offsets = candidates.offsets[:51]
    seen, unseen = (Candidates(*(x[part] for x in fields), offsets) for part in (slice(1000), slice(1000, None)))
    found = tuned(seen, np.zeros(200))
    cosine = found.weights @ planted / np.linalg.norm(found.weights) / np.linalg.norm(planted)
    assert cosine > 0.5
    assert bleu_at(unseen, found.weights) > bleu_at(unseen, np.zeros(200)) + 0.2


def test_lists_without_choice_change_nothing():
    for lists in (Candidates.empty(3, 2), even_candidates(0, 5, 1, 2)):
        assert tuned(lists, [0.4, -0.1]).weights.tolist() == [0.4, -0.1]
    hopeless = even_candidates(0, 5, 4, 2)
    hopeless.statistics[:, 0:8:2] = 0
    found = tuned(hopeless, [0.4, -0.1])
    assert found.bleu == 0 and np.isfinite(found.weights).all()


@pytest.mark.parametrize("decay", [0.0, 0.001])
def test_a_background_without_four_words_in_a_row_divides_nothing_by_zero(decay):
    """References of three words: the background of n-grams of four fades until there is none."""
    statistics = [[2, 3, 0, 2, 0, 1, 0, 0, 3], [1, 3, 0, 2, 0, 1, 0, 0, 3]] * 3
    candidates = replace(even_candidates(0, 3, 2, 2), statistics=np.array(statistics, dtype=np.int32))
    found = tuned(candidates, [0, 0], decay=decay, epochs=200)
    assert found.bleu == 0 and np.isfinite(found.weights).all()


@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(1, 6), st.sampled_from([1e-6, 1, 1e6]))
def test_it_never_ends_below_its_start(seed, sentences, each, scale):
    candidates = even_candidates(seed, sentences, each, 3)
    candidates.features[:] *= scale
    start = np.random.default_rng(seed).normal(size=3)
    found = tuned(candidates, start, seed, epochs=5)
    assert np.isfinite(found.weights).all()
    assert found.bleu >= bleu_at(candidates, start) - 1e-6
    assert found.bleu == pytest.approx(bleu_at(candidates, found.weights), abs=2e-2)
