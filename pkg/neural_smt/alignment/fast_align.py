"""fast_align: a reparameterisation of IBM model 2 that favours links near the diagonal (Dyer et al. 2013).

Every target word j of m is linked to one of the n source words i or to NULL, with prior probability ``p0`` for NULL
and in proportion to exp(-tension |i/n - j/m|) for the others. Lexical probabilities have a sparse Dirichlet prior
(mean-field variational Bayes), and the tension is optimised by gradient steps. Everything follows the tool's
defaults with ``-d -o -v``, so the links are the tool's own; the same input gives the same links.

Instead of hashing word pairs, the pairs of each source word are numbered once and every cell of every sentence
pair's grid remembers its number (4 bytes a cell), which makes an iteration a few array reads a cell.
"""

import logging
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from neural_smt.experiment.settings import Settings
from neural_smt.io.ragged import Lists, Ragged, best_of_each, offsets_of
from neural_smt.jit import kernel, longest

log = logging.getLogger(__name__)

TENSION_STEPS = 8
TENSION_RATE = 20.0
TENSION_RANGE = (0.1, 14.0)


class _Grid(NamedTuple):
    """A parallel text as the kernels read it: the cell (i, j) of pair k is ``cells[starts[k] + i * m + j]``."""

    target: np.ndarray
    """int32 ``[target tokens]``: word ids"""
    source_offsets: np.ndarray
    """int64 ``[pairs + 1]``"""
    target_offsets: np.ndarray
    """int64 ``[pairs + 1]``"""
    order: np.ndarray
    """int64: the pairs with words on both sides, those of equal size together"""
    starts: np.ndarray
    """int64 ``[pairs + 1]``"""
    cells: np.ndarray
    """int32 ``[sum of n * m]``: row of the lexical table"""


@kernel
def _number_cells(
    occurrences: np.ndarray, pairs: np.ndarray, source: Lists, grid: _Grid, target_size: int, row_offsets: np.ndarray
) -> None:
    """Number the distinct word pairs source word by source word, writing the number into every cell.

    occurrences: source positions sorted by word; pairs: the sentence pair of each position. NULL has
    the first ``target_size`` rows, word s the rows ``row_offsets[s]:row_offsets[s + 1]``.
    """
    words, source_offsets = source
    target, target_offsets, starts, cells = grid.target, grid.target_offsets, grid.starts, grid.cells
    row_of = np.empty(target_size, dtype=np.int64)
    row = target_size
    row_of[:] = -1
    current = -1
    for position in occurrences:
        word = words[position]
        while current < word:
            current += 1
            row_offsets[current] = row
        pair = pairs[position]
        first, last = target_offsets[pair], target_offsets[pair + 1]
        cell = starts[pair] + (position - source_offsets[pair]) * (last - first)
        for j in range(first, last):
            # A number below the word's first row was given by an earlier word.
            if row_of[target[j]] < row_offsets[word]:
                row_of[target[j]] = row
                row += 1
            cells[cell] = row_of[target[j]]
            cell += 1
    row_offsets[current + 1 :] = row


@kernel
def _feature(j: float, i: float, m: int, n: int) -> float:
    """Distance from the diagonal, negated; positions count from 1."""
    return -abs(i / n - j / m)


@kernel
def _normaliser(j: int, m: int, n: int, tension: float) -> float:
    """Z of target word j: the sum over i of exp(tension * feature), by two geometric series (eq. 2)."""
    below = int(j * n / m)
    ratio = np.exp(-tension / n)
    total = 0.0
    if below != n:
        # Beyond the last position (see _expected_feature) the tool's unsigned count of terms wraps round: no end.
        rest = ratio ** (n - below) if below < n else 0.0
        total += np.exp(tension * _feature(j, below + 1, m, n)) * (1.0 - rest) / (1.0 - ratio)
    if below > 0:
        total += np.exp(tension * _feature(j, below, m, n)) * (1.0 - ratio**below) / (1.0 - ratio)
    return total


@kernel
def _series(first: float, weight: float, ratio: float, step: float, terms: int) -> float:
    """Sum of (first + k step) weight ratio^k for k < terms."""
    last_weight = weight * ratio**terms
    last = first + step * (terms - 1)
    slope = ratio - 1.0
    return (last * last_weight - first * weight) / slope - step * (last_weight - weight * ratio) / (slope * slope)


@kernel
def _expected_feature(j: int, m: int, n: int, tension: float) -> float:
    """Derivative of log Z by the tension: the feature's expectation under the prior (section 3.2)."""
    below = int(j * n / m)
    ratio = np.exp(-tension / n)
    total = 0.0
    if below < n:
        feature = _feature(j, below + 1, m, n)
        total += _series(feature, np.exp(tension * feature), ratio, -1.0 / n, n - below)
    if below > 0:
        feature = _feature(j, below, m, n)
        total += _series(feature, np.exp(tension * feature), ratio, -1.0 / n, below)
    # The tool passes m and n in this order here, unlike everywhere else; following it keeps its tensions.
    return total / _normaliser(j, n, m, tension)


@kernel
def _optimised_tension(tension: float, empirical: float, sizes: np.ndarray, counts: np.ndarray, tokens: int) -> float:
    """Climb towards the tension whose expected feature is the ``empirical`` one (both per target word)."""
    for _ in range(TENSION_STEPS):
        expected = 0.0
        for k in range(len(sizes)):
            n, m = sizes[k, 0], sizes[k, 1]
            for j in range(1, m + 1):
                expected += counts[k] * _expected_feature(j, m, n, tension)
        tension += TENSION_RATE * (empirical - expected / tokens)
        tension = min(max(tension, TENSION_RANGE[0]), TENSION_RANGE[1])
    return tension


@kernel
def _fill_prior(prior: np.ndarray, m: int, n: int, p0: float, tension: float) -> None:
    """Prior probabilities of the cells of an n by m grid, row by row."""
    for j in range(m):
        scale = (1.0 - p0) / _normaliser(j + 1, m, n, tension)
        for i in range(n):
            prior[i * m + j] = scale * np.exp(tension * _feature(j + 1, i + 1, m, n))


@kernel
def _expect(
    grid: _Grid, probabilities: np.ndarray, counts: np.ndarray, p0: float, tension: float
) -> tuple[float, float]:
    """E-step: add expected counts to ``counts``; return (sum of expected features, log-likelihood)."""
    cells = grid.cells
    largest = longest(grid.starts)
    prior, joint = np.empty(largest), np.empty(largest)
    sums = np.empty(longest(grid.target_offsets))
    features, likelihood = 0.0, 0.0
    n, m = 0, 0
    for pair in grid.order:
        start, words = grid.starts[pair], grid.target[grid.target_offsets[pair] : grid.target_offsets[pair + 1]]
        height, width = grid.source_offsets[pair + 1] - grid.source_offsets[pair], len(words)
        if height != n or width != m:
            n, m = height, width
            _fill_prior(prior, m, n, p0, tension)
        for j in range(m):
            sums[j] = probabilities[words[j]] * p0
        for i in range(n):
            for j in range(m):
                cell = i * m + j
                joint[cell] = probabilities[cells[start + cell]] * prior[cell]
                sums[j] += joint[cell]
        for j in range(m):
            likelihood += np.log(sums[j])
            sums[j] = 1.0 / sums[j]
            counts[words[j]] += probabilities[words[j]] * p0 * sums[j]
        for i in range(n):
            for j in range(m):
                cell = i * m + j
                posterior = joint[cell] * sums[j]
                counts[cells[start + cell]] += posterior
                # The tool counts j from 0 in this sum only.
                features += posterior * _feature(j, i + 1, m, n)
    return features, likelihood


@kernel
def _digamma(x: float) -> float:
    """Derivative of log Gamma: recurrence up to 7, then the asymptotic series around x - 1/2."""
    result = 0.0
    while x < 7.0:
        result -= 1.0 / x
        x += 1.0
    x -= 0.5
    square = 1.0 / (x * x)
    tail = square * (1 / 24 - square * (7 / 960 - square * (31 / 8064 - square * (127 / 30720))))
    return result + np.log(x) + tail


@kernel
def _maximise(counts: np.ndarray, row_offsets: np.ndarray, alpha: float, probabilities: np.ndarray) -> None:
    """M-step of mean-field variational Bayes: exp(digamma(c + alpha) - digamma(sum of c + alpha)) per source word."""
    for word in range(len(row_offsets) - 1):
        first, last = row_offsets[word], row_offsets[word + 1]
        total = 0.0
        for row in range(first, last):
            total += counts[row] + alpha
        if last > first:
            total = _digamma(total)
        for row in range(first, last):
            probabilities[row] = np.exp(_digamma(counts[row] + alpha) - total)


@kernel
def _find_links(grid: _Grid, probabilities: np.ndarray, p0: float, tension: float, best: np.ndarray) -> None:
    """Write the most probable source position of every target token into ``best``, which stays as it is for NULL."""
    prior = np.empty(longest(grid.starts))
    n, m = 0, 0
    for pair in grid.order:
        start, first = grid.starts[pair], grid.target_offsets[pair]
        height, width = grid.source_offsets[pair + 1] - grid.source_offsets[pair], grid.target_offsets[pair + 1] - first
        if height != n or width != m:
            n, m = height, width
            _fill_prior(prior, m, n, p0, tension)
        for j in range(m):
            highest = probabilities[grid.target[first + j]] * p0
            for i in range(n):
                joint = probabilities[grid.cells[start + i * m + j]] * prior[i * m + j]
                if joint > highest:
                    highest = joint
                    best[first + j] = i


def _build_grid(source: Ragged, target: Ragged, source_size: int, target_size: int) -> tuple[_Grid, np.ndarray]:
    """The grid of a text and the row offsets of NULL (first) and of every source word, int64 ``[source_size + 2]``."""
    n, m = source.lengths, target.lengths
    starts = offsets_of(n * m)
    order = np.lexsort((m, n))
    cells = np.empty(starts[-1], dtype=np.int32)
    grid = _Grid(target.values, source.offsets, target.offsets, order[(n * m)[order] > 0], starts, cells)
    row_offsets = np.zeros(source_size + 2, dtype=np.int64)
    occurrences, pairs = np.argsort(source.values, kind="stable"), np.repeat(np.arange(len(n)), n)
    _number_cells(occurrences, pairs, source.arrays, grid, target_size, row_offsets[1:])
    return grid, row_offsets


@kernel
def _row_targets(grid: _Grid, rows: int) -> np.ndarray:
    """The target word of every row of the lexical table, int32 ``[rows]``; those of NULL are not written."""
    targets = np.empty(rows, dtype=np.int32)
    for pair in grid.order:
        start, first = grid.starts[pair], grid.target_offsets[pair]
        width = grid.target_offsets[pair + 1] - first
        for cell in range(grid.starts[pair + 1] - start):
            targets[grid.cells[start + cell]] = grid.target[first + cell % width]
    return targets


@dataclass(frozen=True)
class FastAlign:
    """A trained model with the text that it was trained on.

    row_offsets: int64 ``[source_size + 2]``, see ``_build_grid``; probabilities: float64, p(target word | source word)
    of every row, which sum to less than 1 (the prior's weight is spread over pairs that never occurred).
    """

    grid: _Grid
    row_offsets: np.ndarray
    probabilities: np.ndarray
    tension: float
    p0: float

    def links(self) -> Ragged:
        """For every target word the most probable source word, or none (NULL): int16 ``[links, 2]`` (source, target)
        per pair, in order of the target; pairs with an empty side have no links.
        """
        offsets = self.grid.target_offsets
        best = np.full(len(self.grid.target), -1, dtype=np.int16)
        if len(self.grid.order):
            _find_links(self.grid, self.probabilities, self.p0, self.tension, best)
        linked = np.flatnonzero(best >= 0)
        starts = np.searchsorted(linked, offsets)
        positions = linked - np.repeat(offsets[:-1], np.diff(starts))
        return Ragged(np.stack([best[linked], positions], axis=1).astype(np.int16), starts.astype(np.int64))

    def translations(self, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Source words, target words (int) and p(target | source) (float64) of the ``count`` best of each source word,
        those of a word together.
        """
        null = self.row_offsets[1]
        targets, probabilities = _row_targets(self.grid, self.row_offsets[-1])[null:], self.probabilities[null:]
        rows, offsets = best_of_each(probabilities, self.row_offsets[1:] - null, count)
        return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)), targets[rows], probabilities[rows]


def fast_align(source: Ragged, target: Ragged, source_size: int, target_size: int, settings: Settings) -> Ragged:
    """The links of a text under the model that is trained on it, see ``train_fast_align``."""
    return train_fast_align(source, target, source_size, target_size, settings).links()


def train_fast_align(
    source: Ragged, target: Ragged, source_size: int, target_size: int, settings: Settings
) -> FastAlign:
    """Train the model on a text.

    source, target: int32 word ids per sentence, below ``source_size`` and ``target_size``; settings: of the section
    ``alignment.fast_align``; the last of the iterations only finds the best links.
    """
    grid, row_offsets = _build_grid(source, target, source_size, target_size)
    probabilities = np.full(row_offsets[-1], 1.0 / target_size)
    counts = np.empty(len(probabilities))
    lengths = np.stack([source.lengths, target.lengths], axis=1)[grid.order]
    sizes, frequencies = np.unique(lengths, axis=0, return_counts=True)
    tokens = int(lengths[:, 1].sum())
    tension = settings.tension
    for iteration in range(1, settings.iterations if tokens else 1):
        counts[:] = 0.0
        features, likelihood = _expect(grid, probabilities, counts, settings.p0, tension)
        perplexity = np.exp(-likelihood / tokens)
        log.info("fast_align iteration %d: perplexity %.4f, tension %.4f", iteration, perplexity, tension)
        if iteration > 1:
            tension = _optimised_tension(tension, features / tokens, sizes, frequencies, tokens)
        _maximise(counts, row_offsets, settings.alpha, probabilities)
    return FastAlign(grid, row_offsets, probabilities, tension, settings.p0)
