"""Latent semantic analysis (Deerwester et al. 1990; Auli et al. 2013, section 5.1) of text without singletons.

M, of words by sentences, holds counts times inverse document frequencies; its truncated singular value decomposition is
M = T S R^T. Rows of T stand for words, rows of R for sentences. T's columns are orthonormal, so T^T M = S R^T, and a
sentence m, seen or new, is folded in as r = S^-1 T^T m: for a sentence of the training text that is its row of R.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from neural_smt.errors import UserError
from neural_smt.io.ragged import Ragged
from neural_smt.representations.representation import word_counts
from neural_smt.vocabulary import RESERVED

LEAST_SINGULAR_VALUE = 1e-6
"""Of the largest one: below it a direction is rounding noise."""


@dataclass(frozen=True)
class LatentSemantics:
    """idf: float64 ``[V]``, 0 for reserved entries and for words that are everywhere; words: T, float64 ``[V, d]``;
    singular: S, float64 ``[d]``, falling; energy: the sum of the squared entries of M, of which the squares of S are a
    part.
    """

    idf: np.ndarray
    words: np.ndarray
    singular: np.ndarray
    energy: float

    @property
    def folding(self) -> np.ndarray:
        """float64 ``[V, d]``: what each occurrence of a word adds to the vector of its sentence."""
        return self.idf[:, None] * self.words / self.singular

    def sentences(self, ids: Ragged) -> np.ndarray:
        """float64 ``[n, d]``: r = S^-1 T^T m of each sentence (word ids); zeros where no word is known."""
        return np.asarray(word_counts(ids, len(self.idf)) @ self.folding)


def analyse(ids: Ragged, words: int, dimensions: int, seed: int) -> LatentSemantics:
    """Decompose the sentences of a text (ids below ``words``).

    Of each column of T, the entry that is largest in size is positive, so that equal texts get equal vectors. Raises
    ``UserError`` when the text has fewer independent directions than dimensions.
    """
    matrix = word_counts(ids, words)
    frequency, idf = np.bincount(matrix.indices, minlength=words), np.zeros(words)
    known = np.flatnonzero(frequency)
    known = known[known >= len(RESERVED)]
    idf[known] = -np.log(frequency[known] / len(ids))
    matrix.data *= idf[matrix.indices]
    advice = "lower the dimensions of the representation"
    if dimensions >= min(len(ids), len(known)):
        needs = f"needs more sentences and repeated words than {len(ids)} and {len(known)}"
        raise UserError(f"a latent semantic analysis of {dimensions} dimensions {needs}; {advice}")
    # the eigenvectors of M M^T, of words by words, since R would take room for a vector of each sentence
    squared = LinearOperator((words, words), matvec=lambda vector: matrix.T @ (matrix @ vector), dtype=np.float64)
    squares, vectors = eigsh(squared, k=dimensions, v0=np.random.default_rng(seed).random(words))
    singular, vectors = np.sqrt(np.maximum(squares[::-1], 0)), vectors[:, ::-1]
    if singular[-1] <= LEAST_SINGULAR_VALUE * singular[0]:
        raise UserError(f"the text has fewer than {dimensions} independent directions; {advice}")
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(dimensions)])
    return LatentSemantics(idf, vectors * signs, singular, float((matrix.data**2).sum()))
