"""Hashed features and the transform learnt on them."""

import hashlib

import numpy as np
import pytest

from neural_smt.io.ragged import Ragged
from neural_smt.representations import projection
from neural_smt.representations.projection import feature_matrix, train_projection
from neural_smt.vocabulary import Vocabulary

VOCABULARY = Vocabulary.from_sentences(["a a a b b c"])  # 3, 4, 5
HASHES = projection.word_hashes(VOCABULARY)


def dense_row(ids: list[int], bits: int = 20) -> dict[int, float]:
    matrix = feature_matrix(Ragged.from_lists([ids]), HASHES, bits)
    return dict(zip(matrix.indices.tolist(), matrix.data.tolist(), strict=True))


def number(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little") % 2**20


def test_unigrams_count_one_and_bigrams_one_half_at_length_one() -> None:
    found = dense_row([3, 4, 3, 4])  # a b a b: twice each word and the pair a b, once b a
    values = sorted(np.array(list(found.values())) * np.sqrt(2**2 + 2**2 + 1**2 + 0.5**2))
    assert values == pytest.approx([0.5, 1, 2, 2])
    assert found[number("a")] == found[number("b")] == max(found.values())
    assert dense_row([3]) == {number("a"): 1.0}


def test_features_know_the_order_of_a_pair_and_all_unknown_words_are_one() -> None:
    assert dense_row([3, 4]).keys() & dense_row([4, 3]).keys() == {number("a"), number("b")}
    assert dense_row([0]) == {number("<unk>"): 1.0}


def test_numbers_are_the_lowest_bits_and_features_that_share_one_add_up() -> None:
    assert dense_row([3, 5, 4], bits=4).keys() == {key % 16 for key in dense_row([3, 5, 4])}
    ids = Ragged.from_lists([[3, 4, 5], [3, 4], []])
    matrix = feature_matrix(ids, HASHES, 1)
    assert matrix.shape == (3, 2) and matrix.has_sorted_indices
    assert np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel() == pytest.approx([1, 1, 0])
    wide = dense_row([3, 4])
    sums = [sum(value for key, value in wide.items() if key % 2 == bit) for bit in (0, 1)]
    assert matrix[[1]].toarray()[0] == pytest.approx(np.array(sums) / np.linalg.norm(sums))
    assert projection.count_collisions(ids, HASHES, 20) == (5, 0)
    features = {key % 2 for key in dense_row([3, 4, 5])}
    assert projection.count_collisions(ids, HASHES, 1)[0] == 5
    assert projection.count_collisions(ids, HASHES, 1)[1] >= 5 - len(features) + 1


def test_a_text_gone_through_in_pieces_has_the_same_features(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(3)
    ids = Ragged.from_lists([random.integers(0, 6, n) for n in random.integers(0, 9, 50)])
    whole, collisions = feature_matrix(ids, HASHES, 4), projection.count_collisions(ids, HASHES, 4)
    monkeypatch.setattr(projection, "SENTENCES", 7)
    pieces = feature_matrix(ids, HASHES, 4)
    assert (pieces != whole).nnz == 0 and pieces.dtype == np.float32
    assert projection.count_collisions(ids, HASHES, 4) == collisions


@pytest.fixture(scope="module")
def task() -> tuple[Ragged, np.ndarray]:
    """400 sentences of 20 words, and references of 3 dimensions that are linear in their features but for noise."""
    random = np.random.default_rng(5)
    ids = Ragged.from_lists([random.integers(0, 6, n) for n in random.integers(1, 9, 400)])
    matrix = feature_matrix(ids, HASHES, 20).toarray()
    used = np.flatnonzero(matrix.any(axis=0))
    truth = random.normal(size=(len(used), 3))
    return ids, (matrix[:, used] @ truth + random.normal(0, 0.05, (400, 3))).astype(np.float32)


def test_a_step_follows_the_gradient(task: tuple[Ragged, np.ndarray]) -> None:
    ids, references = task
    matrix = feature_matrix(ids.take(np.array([7])), HASHES, 20)
    x, rate = matrix.toarray()[0][matrix.indices].astype(np.float64), 0.3
    learnt, _ = train_projection(matrix, references[7:8], np.array([False]), rate, 2, seed=1)
    weights = np.zeros((len(x), 3))
    for _ in range(2):
        gradient = np.zeros_like(weights)
        for place in np.ndindex(weights.shape):  # central differences of (1) for this sentence
            moved = np.zeros_like(weights)
            moved[place] = 1e-4
            losses = [((references[7] - x @ (weights + sign * moved)) ** 2).sum() for sign in (1, -1)]
            gradient[place] = (losses[0] - losses[1]) / 2e-4
        weights -= rate * gradient / 2
    np.testing.assert_allclose(learnt.weights, weights, atol=1e-5)


def test_it_comes_near_the_least_squares_solution(task: tuple[Ragged, np.ndarray]) -> None:
    ids, references = task
    matrix = feature_matrix(ids, HASHES, 20)
    nobody = np.zeros(len(ids), dtype=bool)
    learnt, fit = train_projection(matrix, references, nobody, 0.05, 300, seed=1)
    dense = matrix[:, learnt.features].toarray().astype(np.float64)
    solution = np.linalg.lstsq(dense, references.astype(np.float64), rcond=None)[0]
    least = ((dense @ solution - references) ** 2).sum() / len(ids)
    assert projection.mean_squared_error(learnt, matrix, references) < 1.15 * least
    assert projection.mean_squared_error(learnt, matrix, references) >= least
    assert fit.epoch == 300 and fit.errors == []
    assert projection.cosines(learnt.project(matrix), references).mean() > 0.98


def test_the_epoch_and_the_rate_are_chosen_on_sentences_held_out(task: tuple[Ragged, np.ndarray]) -> None:
    ids, references = task
    matrix, held_out = feature_matrix(ids, HASHES, 20), np.arange(len(ids)) % 4 == 0
    chosen, fit = projection.choose_projection(matrix, references, held_out, 0, 30, seed=1)
    tested = projection.mean_squared_error(chosen, matrix[np.flatnonzero(held_out)], references[held_out])
    assert tested == pytest.approx(min(fit.errors)) and fit.errors[fit.epoch - 1] == min(fit.errors)
    for rate in (0.025, 0.1, 0.4):
        single, alone = projection.choose_projection(matrix, references, held_out, rate, 30, seed=1)
        assert alone.rate == rate and min(alone.errors) >= min(fit.errors)
        assert (single.weights == train_projection(matrix, references, held_out, rate, 30, seed=1)[0].weights).all()
    stops = train_projection(matrix, references, held_out, 1.9, 30, seed=1)[1]
    assert len(stops.errors) == min(30, stops.epoch + 2)


def test_features_that_training_did_not_see_count_for_nothing() -> None:
    seen = feature_matrix(Ragged.from_lists([[3]]), HASHES, 20)
    learnt, _ = train_projection(seen, np.array([[2.0]], dtype=np.float32), np.array([False]), 1.0, 1, seed=1)
    assert learnt.features.tolist() == [number("a")] and learnt.weights.tolist() == [[2.0]]
    new = feature_matrix(Ragged.from_lists([[4, 5], [3, 4], []]), HASHES, 20)
    assert learnt.project(new).ravel() == pytest.approx([0, 2 / 1.5, 0])
    nothing = projection.Projection(np.zeros(0, dtype=np.int32), np.zeros((0, 1), dtype=np.float32))
    assert nothing.project(new).tolist() == [[0], [0], [0]]


def test_the_cosine_of_zeros_is_zero() -> None:
    first, second = np.array([[1.0, 0], [3, 4], [0, 0]]), np.array([[2.0, 0], [4, -3], [1, 1]])
    assert projection.cosines(first, second) == pytest.approx([1, 0, 0])
