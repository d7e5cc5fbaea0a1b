"""Latent semantic analysis against a dense decomposition."""

import numpy as np
import pytest

from neural_smt.io.ragged import Ragged
from neural_smt.representations.lsa import LatentSemantics, analyse
from neural_smt.shortlist import repeated_words

WORDS, SENTENCES, DIMENSIONS = 40, 120, 6


@pytest.fixture(scope="module")
def ids() -> Ragged:
    """Zipfian sentences over the words 3 to 39; some words occur twice in a sentence, some sentences are empty."""
    random = np.random.default_rng(3)
    chances = 1 / np.arange(1, WORDS - 2)
    return Ragged.from_lists(
        [3 + random.choice(WORDS - 3, size=n, p=chances / chances.sum()) for n in random.integers(0, 14, SENTENCES)]
    )


@pytest.fixture(scope="module")
def semantics(ids: Ragged) -> LatentSemantics:
    return analyse(ids, WORDS, DIMENSIONS, seed=1)


def dense(ids: Ragged) -> np.ndarray:
    """M, words by sentences, straight from its definition."""
    matrix = np.zeros((WORDS, len(ids)))
    for word in range(WORDS):
        counts = [int((sentence == word).sum()) for sentence in ids]
        found = sum(count > 0 for count in counts)
        matrix[word] = counts if found == 0 else np.array(counts) * -np.log(found / len(ids))
    return matrix


def test_entries_are_counts_times_minus_the_log_of_the_share_of_sentences() -> None:
    sentences = ["a b b", "a c", "a b", "a c c c"]
    vocabulary = repeated_words(sentences)
    found = analyse(vocabulary.encode(sentences), len(vocabulary), 1, seed=1)
    assert dict(zip(vocabulary.words, found.idf, strict=True)) == pytest.approx(
        {"<unk>": 0, "<s>": 0, "</s>": 0, "a": 0, "b": np.log(2), "c": np.log(2)}
    )
    # two sentences of b (twice, once) and two of c (once, thrice): the larger direction is that of c alone
    assert found.singular == pytest.approx([np.log(2) * np.sqrt(10)])
    assert found.words[vocabulary.index["c"]] == pytest.approx([1])
    assert found.sentences(Ragged.from_lists([vocabulary.ids(["c", "a", "c"])])) == pytest.approx(2 / np.sqrt(10))


def test_the_decomposition_is_the_dense_one(ids: Ragged, semantics: LatentSemantics) -> None:
    matrix = dense(ids)
    left, singular, right = np.linalg.svd(matrix, full_matrices=False)
    np.testing.assert_allclose(semantics.singular, singular[:DIMENSIONS], rtol=1e-10)
    assert semantics.energy == pytest.approx((matrix**2).sum())
    signs = np.sign((left[:, :DIMENSIONS] * semantics.words).sum(axis=0))
    np.testing.assert_allclose(semantics.words, left[:, :DIMENSIONS] * signs, atol=1e-8)
    rows = semantics.sentences(ids)
    np.testing.assert_allclose(rows, right[:DIMENSIONS].T * signs, atol=1e-8)
    best = (left[:, :DIMENSIONS] * singular[:DIMENSIONS]) @ right[:DIMENSIONS]
    np.testing.assert_allclose((semantics.words * semantics.singular) @ rows.T, best, atol=1e-8)


def test_a_sentence_is_folded_in_where_it_stood_in_training(ids: Ragged, semantics: LatentSemantics) -> None:
    alone = semantics.sentences(ids.take(np.array([17, 4])))
    np.testing.assert_allclose(alone, semantics.sentences(ids)[[17, 4]], atol=1e-14)
    unknown = semantics.sentences(Ragged.from_lists([[0, 0], []]))
    assert unknown.tolist() == [[0.0] * DIMENSIONS] * 2


def test_the_largest_entry_of_each_direction_is_positive(ids: Ragged, semantics: LatentSemantics) -> None:
    assert (semantics.words.max(axis=0) == np.abs(semantics.words).max(axis=0)).all()
    again, other = analyse(ids, WORDS, DIMENSIONS, seed=1), analyse(ids, WORDS, DIMENSIONS, seed=2)
    assert (again.words == semantics.words).all()
    np.testing.assert_allclose(other.words, semantics.words, atol=1e-8)


def test_a_text_has_as_many_dimensions_as_independent_words() -> None:
    alike = Ragged.from_lists([[3, 4], [3, 4], [5], [5], [6], [6]])  # 3 and 4 always stand together
    assert len(analyse(alike, 7, 3, seed=1).singular) == 3
