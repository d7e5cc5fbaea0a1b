"""Hashed word features of a sentence (Auli et al. 2013, section 5.4).

Unigrams count 1 for each time they occur, bigrams one half; then the vector is divided by its L2 norm. A feature's
number is the lowest bits of a hash of its name, so features may share one; their values then add up. The paper does not
say which hash: here words are hashed by BLAKE2b, pairs of words by mixing both numbers.
"""

import hashlib

import numpy as np
from scipy import sparse

from neural_smt.io.ragged import Ragged
from neural_smt.jit import leaf, mix
from neural_smt.vocabulary import Vocabulary

BIGRAM_WEIGHT = 0.5


def word_hashes(vocabulary: Vocabulary) -> np.ndarray:
    """uint64 ``[V]``: a hash of each word's spelling."""
    digests = b"".join(hashlib.blake2b(word.encode(), digest_size=8).digest() for word in vocabulary.words)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


@leaf
def _fill_keys(ids: np.ndarray, offsets: np.ndarray, hashes: np.ndarray, keys: np.ndarray, values: np.ndarray) -> None:
    """Hash (uint64) and value (float32) of every unigram and bigram; of a sentence its unigrams first."""
    place = 0
    for sentence in range(len(offsets) - 1):
        for word in range(offsets[sentence], offsets[sentence + 1]):
            keys[place] = hashes[ids[word]]
            values[place] = 1.0
            place += 1
        for word in range(offsets[sentence], offsets[sentence + 1] - 1):
            keys[place] = mix(mix(hashes[ids[word]]) ^ hashes[ids[word + 1]])
            values[place] = BIGRAM_WEIGHT
            place += 1


def feature_keys(ids: Ragged, hashes: np.ndarray) -> tuple[Ragged, np.ndarray]:
    """The whole hashes (uint64 ``Ragged``, a list for each sentence) of all features, and float32, their values."""
    offsets = np.zeros(len(ids) + 1, dtype=np.int64)
    np.cumsum(np.maximum(2 * ids.lengths - 1, 0), out=offsets[1:])
    keys, values = np.empty(offsets[-1], dtype=np.uint64), np.empty(offsets[-1], dtype=np.float32)
    _fill_keys(np.ascontiguousarray(ids.values, dtype=np.int32), ids.offsets, hashes, keys, values)
    return Ragged(keys, offsets), values


def feature_matrix(ids: Ragged, hashes: np.ndarray, bits: int) -> sparse.csr_matrix:
    """float32 ``[n, 2^bits]``: the normalised features x of each sentence, in rising order of their numbers.

    ids: word ids; hashes: of ``word_hashes``. A sentence without words has no features.
    """
    keys, values = feature_keys(ids, hashes)
    numbers = (keys.values & np.uint64((1 << bits) - 1)).astype(np.int32)
    matrix = sparse.csr_matrix((values, numbers, keys.offsets), shape=(len(ids), 1 << bits))
    matrix.sum_duplicates()
    norms = np.sqrt(matrix.multiply(matrix).sum(axis=1)).A1
    matrix.data /= np.repeat(norms, np.diff(matrix.indptr)).astype(np.float32)
    return matrix


def count_collisions(ids: Ragged, hashes: np.ndarray, bits: int) -> tuple[int, int]:
    """How many features a text has, and how many of them share their number with another."""
    features = np.unique(feature_keys(ids, hashes)[0].values)
    _, sharers = np.unique(features & np.uint64((1 << bits) - 1), return_counts=True)
    return len(features), int(sharers[sharers > 1].sum())
