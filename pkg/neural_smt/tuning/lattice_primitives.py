"""Kernels of the line search over the lattices of all sentences: envelopes, their translations, their BLEU."""

from typing import NamedTuple

import numpy as np

from neural_smt.bleu_primitives import SIZE, count_statistics
from neural_smt.jit import kernel, mix
from neural_smt.tuning.envelope_primitives import differ, sweep
from neural_smt.tuning.lattice_envelope_primitives import Arcs, best_path, find_envelope, find_potentials


class Pool(NamedTuple):
    """The lattices of S sentences and their references, as the kernels read them.

    node_offsets: int64 ``[S + 1]``; first_arcs: int64 ``[S + 1]``, where the arcs of each sentence start; tails, heads:
    int32 ``[A]``, nodes numbered within the sentence, ordered by head; numbers: int32 ``[A]``, 0 to A - 1; words: int32
    and word_offsets: int64 ``[A + 1]``; references: int32 and reference_offsets: int64 ``[S + 1]``.
    """

    node_offsets: np.ndarray
    first_arcs: np.ndarray
    tails: np.ndarray
    heads: np.ndarray
    numbers: np.ndarray
    words: np.ndarray
    word_offsets: np.ndarray
    references: np.ndarray
    reference_offsets: np.ndarray


@kernel
def _select(pool: Pool, slopes: np.ndarray, scores: np.ndarray, sentence: int) -> Arcs:
    """The arcs of one sentence."""
    start, stop = pool.first_arcs[sentence], pool.first_arcs[sentence + 1]
    return Arcs(
        pool.tails[start:stop], pool.heads[start:stop], slopes[start:stop], scores[start:stop],
        pool.numbers[start:stop],
    )  # fmt: skip


@kernel
def _count_path(pool: Pool, sentence: int, path: np.ndarray) -> np.ndarray:
    """BLEU's statistics of a derivation, int32 ``[9]``."""
    length = 0
    for arc in path:
        length += pool.word_offsets[arc + 1] - pool.word_offsets[arc]
    hypothesis, length = np.empty(length, dtype=np.int32), 0
    for arc in path:
        for position in range(pool.word_offsets[arc], pool.word_offsets[arc + 1]):
            hypothesis[length] = pool.words[position]
            length += 1
    reference = pool.references[pool.reference_offsets[sentence] : pool.reference_offsets[sentence + 1]]
    return count_statistics(hypothesis, reference, np.array([0, len(reference)]))


@kernel
def count_paths(pool: Pool, sentences: np.ndarray, paths: np.ndarray, path_offsets: np.ndarray) -> np.ndarray:
    """BLEU's statistics of derivations of these sentences, int32 ``[L, 9]``."""
    statistics = np.empty((len(sentences), SIZE), dtype=np.int32)
    for i in range(len(sentences)):
        statistics[i] = _count_path(pool, sentences[i], paths[path_offsets[i] : path_offsets[i + 1]])
    return statistics


@kernel
def find_all_potentials(pool: Pool, scores: np.ndarray, slopes: np.ndarray, potentials: np.ndarray) -> None:
    """Write the potentials at x = 0 of the nodes of all sentences, float64 ``[2, M]``."""
    for sentence in range(len(pool.first_arcs) - 1):
        start, stop = pool.node_offsets[sentence], pool.node_offsets[sentence + 1]
        if start < stop:
            arcs = _select(pool, slopes, scores, sentence)
            find_potentials(arcs, 0.0, potentials[0, start:stop], potentials[1, start:stop])


@kernel
def count_best(pool: Pool, scores: np.ndarray, slopes: np.ndarray, potentials: np.ndarray) -> np.ndarray:
    """The summed statistics of the best derivations at x = 0, int64 ``[9]``."""
    total = np.zeros(SIZE, dtype=np.int64)
    for sentence in range(len(pool.first_arcs) - 1):
        start, stop = pool.node_offsets[sentence], pool.node_offsets[sentence + 1]
        path = np.zeros(0, dtype=np.int32)
        if start < stop:
            path, _, _ = best_path(_select(pool, slopes, scores, sentence), 0.0, potentials[0, start:stop])
        total += _count_path(pool, sentence, path)
    return total


class Envelopes(NamedTuple):
    """The envelopes of all sentences along one line: L segments, by sentence and by rising x.

    sentences: int32 ``[L]``; points: float64 ``[L]``, from where on each segment is best; statistics: int32 ``[L, 9]``
    of BLEU; paths: int32 and path_offsets: int64 ``[L + 1]``, the arcs of its derivation, first arc first.
    """

    sentences: np.ndarray
    points: np.ndarray
    statistics: np.ndarray
    paths: np.ndarray
    path_offsets: np.ndarray


@kernel
def find_envelopes(
    pool: Pool, slopes: np.ndarray, scores: np.ndarray, potentials: np.ndarray, low: float, high: float
) -> Envelopes:
    """The envelopes for ``low <= x <= high`` (``low < 0 < high``) along a direction.

    slopes: float32 ``[A]``, the feature of each arc (or a combination of features); scores: float64 ``[A]`` at x = 0
    with the potentials float64 ``[2, M]`` there.
    """
    sentences, points = [np.int32(0) for _ in range(0)], [0.0 for _ in range(0)]
    found = [np.zeros(0, dtype=np.int32) for _ in range(0)]
    length = 0
    for sentence in range(len(pool.first_arcs) - 1):
        start, stop = pool.node_offsets[sentence], pool.node_offsets[sentence + 1]
        if start == stop:  # an empty sentence has an empty translation
            sentences.append(np.int32(sentence))
            points.append(low)
            found.append(np.zeros(0, dtype=np.int32))
            continue
        turns, lines = [(0.0, 0) for _ in range(0)], [(0.0, 0.0) for _ in range(0)]
        paths = [np.zeros(0, dtype=np.int32) for _ in range(0)]
        centre = potentials[:, start:stop].copy()
        find_envelope(_select(pool, slopes, scores, sentence), centre, low, high, turns, lines, paths)
        for x, line in turns:
            sentences.append(np.int32(sentence))
            points.append(x)
            found.append(paths[line])
            length += len(paths[line])
    offsets, arcs = np.zeros(len(found) + 1, dtype=np.int64), np.empty(length, dtype=np.int32)
    for i in range(len(found)):
        offsets[i + 1] = offsets[i] + len(found[i])
        arcs[offsets[i] : offsets[i + 1]] = found[i]
    numbers = np.array(sentences)
    return Envelopes(numbers, np.array(points), count_paths(pool, numbers, arcs, offsets), arcs, offsets)


@kernel
def sweep_envelopes(envelopes: Envelopes, narrowest: float, low: float, high: float) -> tuple[float, float]:
    """The x in the middle of the interval with the highest corpus BLEU, and that BLEU to the fourth power.

    Intervals narrower than ``narrowest`` are passed over.
    """
    total = np.zeros(SIZE, dtype=np.int64)
    size, count = len(envelopes.points), 0
    points, changes = np.empty(size), np.empty((size, 2), dtype=np.int32)
    for row in range(size):
        if row == 0 or envelopes.sentences[row] != envelopes.sentences[row - 1]:
            total += envelopes.statistics[row]
        elif differ(envelopes.statistics[row - 1], envelopes.statistics[row]):
            points[count], changes[count, 0], changes[count, 1] = envelopes.points[row], row - 1, row
            count += 1
    return sweep(points[:count], changes[:count], total, envelopes.statistics, narrowest, low, high)


@kernel
def describe(
    pool: Pool, columns: np.ndarray, paths: np.ndarray, path_offsets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Feature sums float32 ``[L, F]`` of derivations, and digests uint64 ``[L]`` of their words."""
    count = len(path_offsets) - 1
    features, digests = np.zeros((count, len(columns)), dtype=np.float32), np.zeros(count, dtype=np.uint64)
    for i in range(count):
        path = paths[path_offsets[i] : path_offsets[i + 1]]
        for feature in range(len(columns)):
            total = 0.0
            for arc in path:
                total += columns[feature, arc]
            features[i, feature] = total
        key = np.uint64(0)
        for arc in path:
            for position in range(pool.word_offsets[arc], pool.word_offsets[arc + 1]):
                key = mix(key ^ np.uint64(pool.words[position] + 1))
        digests[i] = key
    return features, digests
