"""The accumulating store of candidates."""

from pathlib import Path

import numpy as np

from neural_smt.tuning.candidates import Candidates, digest_words

STATISTICS = np.arange(27, dtype=np.int32).reshape(3, 9)
WORDS = np.array([digest_words(["a", "b"]), digest_words(["a"]), digest_words(["c"])], dtype=np.uint64)
FEATURES = np.array([[0.5, -1.0], [0.25, -2.0], [0.5, -1.0]], dtype=np.float32)


def store() -> Candidates:
    return Candidates.empty(3, 2).extended(np.array([2, 0, 2]), WORDS, FEATURES, STATISTICS)


def test_candidates_are_ordered_by_sentence() -> None:
    candidates = store()
    assert candidates.sentences.tolist() == [0, 2, 2]
    assert candidates.offsets.tolist() == [0, 1, 1, 3]
    assert candidates.statistics[:, 0].tolist() == [9, 0, 18]


def test_the_same_words_and_features_are_one_candidate() -> None:
    twice = store().extended(np.array([2, 0, 2]), WORDS, FEATURES + np.float32(1e-6), STATISTICS)
    assert twice.digests.tolist() == store().digests.tolist()
    assert len(Candidates.empty(1, 2).extended(np.zeros(2), WORDS[[0, 0]], FEATURES[[0, 0]], STATISTICS[:2])) == 1


def test_other_words_features_or_sentence_make_another_candidate() -> None:
    new = store().extended(
        np.array([0, 0, 2]), WORDS[[2, 1, 0]], np.array([[0.25, -2.0], [0.25, -2.5], [0.5, -1.0]]), STATISTICS
    )
    assert new.sentences.tolist() == [0, 0, 0, 2, 2]
    assert new.features.tolist() == [[0.25, -2.0], [0.25, -2.0], [0.25, -2.5], [0.5, -1.0], [0.5, -1.0]]


def test_saved_and_loaded(tmp_path: Path) -> None:
    store().save(tmp_path / "candidates")
    loaded = Candidates.load(tmp_path / "candidates")
    for name in ("features", "statistics", "sentences", "digests"):
        assert np.array_equal(getattr(loaded, name), getattr(store(), name))
        assert getattr(loaded, name).dtype == getattr(store(), name).dtype
    assert loaded.size == 3


def test_digest_of_words_is_that_of_the_sentence() -> None:
    assert digest_words(["a", "b"]) == digest_words(["a", "b"]) != digest_words(["ab"])
    assert 0 <= digest_words([]) < 2**64
