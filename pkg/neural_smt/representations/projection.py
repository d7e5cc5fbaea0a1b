"""Hashed word features of a sentence, and their projection to the vector of its reference (Auli et al. 2013, 5.4).

Features: unigrams count 1 for each time they occur, bigrams one half; then the vector is divided by its L2 norm. A
feature's number is the lowest bits of a hash of its name, so features may share one; their values then add up. The
paper does not say which hash: here words are hashed by BLAKE2b, pairs of words by mixing both numbers.
The transform d to the vector of the reference is linear; gradient descent with a constant rate lowers the squared
error (equation 1) one sentence at a time: d += rate (r - d x) x^T, where the 2 of the square is part of the rate.
Features are of length 1, so a rate of 1 would fit the sentence at hand exactly.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from neural_smt.io.files import hash_text
from neural_smt.io.ragged import Ragged
from neural_smt.jit import leaf, mix
from neural_smt.vocabulary import Vocabulary

BIGRAM_WEIGHT = 0.5

SENTENCES = 1 << 16
"""Whose features, or vectors, are worked out at a time, which bounds memory."""


def word_hashes(vocabulary: Vocabulary) -> np.ndarray:
    """uint64 ``[V]``: a hash of each word's spelling."""
    return np.array([hash_text(word) for word in vocabulary.words], dtype=np.uint64)


def feature_keys(ids: Ragged, hashes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The sentence (int64), the whole hash (uint64) and the value (float32) of every unigram, then of every bigram."""
    unigrams, sentences = hashes[ids.values], np.repeat(np.arange(len(ids)), ids.lengths)
    first = np.flatnonzero(sentences[1:] == sentences[:-1])
    bigrams = mix.py_func(mix.py_func(unigrams[first]) ^ unigrams[first + 1])
    values = np.repeat(np.array([1, BIGRAM_WEIGHT], dtype=np.float32), [len(unigrams), len(bigrams)])
    return np.concatenate([sentences, sentences[first]]), np.concatenate([unigrams, bigrams]), values


def feature_matrix(ids: Ragged, hashes: np.ndarray, bits: int) -> sparse.csr_matrix:
    """float32 ``[n, 2^bits]``: the normalised features x of each sentence, in rising order of their numbers.

    ids: word ids; hashes: of ``word_hashes``. A sentence without words has no features.
    """
    nothing = sparse.csr_matrix((0, 1 << bits), dtype=np.float32)
    return sparse.vstack([nothing, *(_features(piece, hashes, bits) for piece in ids.pieces(SENTENCES))], format="csr")


def _features(ids: Ragged, hashes: np.ndarray, bits: int) -> sparse.csr_matrix:
    sentences, keys, values = feature_keys(ids, hashes)
    numbers = (keys & np.uint64((1 << bits) - 1)).astype(np.int32)
    matrix = sparse.coo_matrix((values, (sentences, numbers)), shape=(len(ids), 1 << bits)).tocsr()
    norms = np.sqrt(matrix.multiply(matrix).sum(axis=1)).A1
    matrix.data /= np.repeat(norms, np.diff(matrix.indptr)).astype(np.float32)
    return matrix


def count_collisions(ids: Ragged, hashes: np.ndarray, bits: int) -> tuple[int, int]:
    """How many features a text has, and how many of them share their number with another."""
    found = [np.unique(feature_keys(piece, hashes)[1]) for piece in ids.pieces(SENTENCES)]
    features = np.unique(np.concatenate([np.zeros(0, dtype=np.uint64), *found]))
    _, sharers = np.unique(features & np.uint64((1 << bits) - 1), return_counts=True)
    return len(features), int(sharers[sharers > 1].sum())


RATES = (0.025, 0.05, 0.1, 0.2, 0.4)
"""Tried where none is given."""


@leaf
def _descend(
    numbers: np.ndarray,
    values: np.ndarray,
    offsets: np.ndarray,
    references: np.ndarray,
    order: np.ndarray,
    rate: float,
    weights: np.ndarray,
    error: np.ndarray,
) -> None:
    """One pass over the sentences of ``order``; all but indices float32; error: room ``[d]``."""
    dimensions = len(error)
    for sentence in order:
        for place in range(dimensions):
            error[place] = references[sentence, place]
        for feature in range(offsets[sentence], offsets[sentence + 1]):
            row, value = numbers[feature], values[feature]
            for place in range(dimensions):
                error[place] -= value * weights[row, place]
        for feature in range(offsets[sentence], offsets[sentence + 1]):
            row, step = numbers[feature], rate * values[feature]
            for place in range(dimensions):
                weights[row, place] += step * error[place]


@dataclass(frozen=True)
class Projection:
    """d of the features that occurred in training; others count for nothing.

    features: int32 ``[K]``, their numbers, rising; weights: float32 ``[K, d]``.
    """

    features: np.ndarray
    weights: np.ndarray

    def project(self, matrix: sparse.csr_matrix) -> np.ndarray:
        """float32 ``[n, d]``: d x of each sentence's features (``feature_matrix``)."""
        return np.asarray(matrix[:, self.features] @ self.weights)


@dataclass
class Fit:
    """How a projection was trained: the rate, the mean squared error on held-out sentences after each epoch, and the
    epoch (from 1) whose weights were kept.
    """

    rate: float
    errors: list[float] = field(default_factory=list)
    epoch: int = 0


def mean_squared_error(projection: Projection, matrix: sparse.csr_matrix, references: np.ndarray) -> float:
    """The mean over sentences of |r - d x|^2."""
    errors = projection.project(matrix) - references
    return float((errors.astype(np.float64) ** 2).sum() / max(len(references), 1))


def cosines(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """float64 ``[n]``: the cosine similarity of each row of ``[n, d]`` with that of the other; 0 for zeros."""
    products, one, other = (
        np.einsum("nd,nd->n", *vectors, dtype=np.float64)
        for vectors in ((first, second), (first, first), (second, second))
    )
    lengths = np.sqrt(one * other)
    return np.divide(products, lengths, out=np.zeros(len(lengths)), where=lengths > 0)


def train_projection(
    matrix: sparse.csr_matrix, references: np.ndarray, held_out: np.ndarray, rate: float, epochs: int, seed: int
) -> tuple[Projection, Fit]:
    """Fit d on the sentences that are not held out; the weights are those of the epoch that is best on the others.

    matrix: ``feature_matrix``; references: float32 ``[n, d]``; held_out: bool ``[n]``; none of them: the last epoch's
    weights. It stops two epochs after the best one.
    """
    train, test = np.flatnonzero(~held_out), np.flatnonzero(held_out)
    features = np.unique(matrix[train].indices)
    known = matrix[:, features]
    references = np.ascontiguousarray(references, dtype=np.float32)
    weights = np.zeros((len(features), references.shape[1]), dtype=np.float32)
    error = np.empty(references.shape[1], dtype=np.float32)
    best, fit = Projection(features, weights), Fit(rate)
    random = np.random.default_rng(seed)
    kinds = (known.indices, np.int32), (known.data, np.float32), (known.indptr, np.int64)
    arrays = [array.astype(kind, copy=False) for array, kind in kinds]
    for epoch in range(1, epochs + 1):
        _descend(*arrays, references, random.permutation(train), np.float32(rate), weights, error)
        now = Projection(features, weights)
        if len(test):
            fit.errors.append(mean_squared_error(now, matrix[test], references[test]))
        if not len(test) or fit.errors[-1] <= min(fit.errors):
            fit.epoch, best = epoch, Projection(features, weights.copy())
        elif epoch >= fit.epoch + 2:
            break
    return best, fit


def choose_projection(
    matrix: sparse.csr_matrix, references: np.ndarray, held_out: np.ndarray, rate: float, epochs: int, seed: int
) -> tuple[Projection, Fit]:
    """``train_projection`` at the rate given, or at that of ``RATES`` which is best on the sentences held out (0)."""
    rates = (rate,) if rate else RATES
    found = (train_projection(matrix, references, held_out, tried, epochs, seed) for tried in rates)
    return min(found, key=lambda trained: min(trained[1].errors, default=0.0))
