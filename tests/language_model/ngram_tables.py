"""N-grams written down in tests, and comparing models by all that they hold."""

from collections.abc import Sequence

import numpy as np

from neural_smt.language_model.ngrams import NgramTable


def ngrams(words: Sequence[Sequence[int]], log10_prob: object = -1, backoff: object = 0) -> NgramTable:
    """A table of n-grams; log10_prob, backoff: one for each, or one for all."""
    values = (np.broadcast_to(np.float32(value), len(words)).copy() for value in (log10_prob, backoff))
    return NgramTable(np.array(words, dtype=np.int32), *values)


def assert_same_ngrams(ours: Sequence[NgramTable], theirs: Sequence[NgramTable], tolerance: float) -> None:
    """The same n-grams, ours in the order of their words, and values that are at most ``tolerance`` apart."""
    assert len(ours) == len(theirs)
    for our, their in zip(ours, theirs, strict=True):
        by_words = np.lexsort(their.words.T[::-1])
        assert np.array_equal(our.words, their.words[by_words])
        np.testing.assert_allclose(our.log10_prob, their.log10_prob[by_words], atol=tolerance)
        np.testing.assert_allclose(our.backoff, their.backoff[by_words], atol=tolerance)
