"""fast_align: a reparameterisation of IBM model 2 that favours links near the diagonal (Dyer et al. 2013).

Every target word j of m is linked to one of the n source words i or to NULL, with prior probability ``p0`` for NULL
and in proportion to exp(-tension |i/n - j/m|) for the others. Lexical probabilities have a sparse Dirichlet prior
(mean-field variational Bayes), and the tension is optimised by gradient steps. Everything follows the tool's
defaults with ``-d -o -v``, so the links are the tool's own; the same input gives the same links.

Instead of hashing word pairs, the pairs of each source word are numbered once and every cell of every sentence
pair's grid remembers its number (4 bytes a cell), which makes an iteration a few array reads a cell. A long text is
trained on in pieces, which are numbered one by one and lie in files: an iteration counts in every piece, then adds up
the pieces' counts of each source word, so that memory does not grow with the text.
"""

import logging
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from neural_smt.alignment.diagonal_primitives import feature, fill_prior, optimised_tension
from neural_smt.experiment.settings import Settings
from neural_smt.io.best import best_of_each
from neural_smt.io.ragged import Lists, Ragged, blocks, offsets_of
from neural_smt.jit import kernel, longest
from neural_smt.shards import in_threads

log = logging.getLogger(__name__)

CELLS = 1 << 27
"""Cells of the grids of a piece, about; a thread that works on one holds a few bytes for each of them."""

UNIT = float(1 << 36)
"""Expected counts are whole numbers of so many parts, up to 2^27: sums of whole numbers are the same in any order, so
that a text in pieces has, to the last bit, the model of the same text in one.
"""

FEATURE_UNIT = float(1 << 30)
"""The same of the sum of expected features."""

ROWS = 1 << 24
"""Word pairs of all pieces whose counts are added up at a time, about."""

TextPiece = tuple[Ragged, Ragged]
"""int32 word ids of the source and of the target sentences."""


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


class _Piece(NamedTuple):
    """A piece of the text and its rows of the lexical table.

    row_offsets: int64 ``[source_size + 2]``, of NULL (first) and of every source word; targets: int32 ``[rows]``, their
    target words; probabilities: float64 ``[rows]``, p(target word | source word), equal in all pieces, which sum to
    less than 1 (the prior's weight is spread over pairs that never occurred); counts: int64 ``[rows]``, expected
    (in parts, see ``UNIT``).
    """

    grid: _Grid
    row_offsets: np.ndarray
    targets: np.ndarray
    probabilities: np.ndarray
    counts: np.ndarray


@kernel
def _number_cells(
    occurrences: np.ndarray,
    pairs: np.ndarray,
    source: Lists,
    grid: _Grid,
    row_targets: np.ndarray,
    target_size: int,
    row_offsets: np.ndarray,
) -> None:
    """Number the distinct word pairs source word by source word, writing the number into every cell, and the target
    word of every number.

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
                row_targets[row] = target[j]
                row += 1
            cells[cell] = row_of[target[j]]
            cell += 1
    row_offsets[current + 1 :] = row


@kernel
def _expect(piece: _Piece, p0: float, tension: float) -> tuple[np.int64, float]:
    """E-step: write a piece's expected counts; return (sum of expected features in parts, log-likelihood)."""
    grid, probabilities, counts = piece.grid, piece.probabilities, piece.counts
    counts[:] = 0
    cells = grid.cells
    largest = longest(grid.starts)
    prior, joint = np.empty(largest), np.empty(largest)
    sums = np.empty(longest(grid.target_offsets))
    all_features, likelihood = np.int64(0), 0.0
    n, m = 0, 0
    for pair in grid.order:
        start, words = grid.starts[pair], grid.target[grid.target_offsets[pair] : grid.target_offsets[pair + 1]]
        height, width = grid.source_offsets[pair + 1] - grid.source_offsets[pair], len(words)
        if height != n or width != m:
            n, m = height, width
            fill_prior(prior, m, n, p0, tension)
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
            counts[words[j]] += np.int64(probabilities[words[j]] * p0 * sums[j] * UNIT + 0.5)
        features = 0.0
        for i in range(n):
            for j in range(m):
                cell = i * m + j
                posterior = joint[cell] * sums[j]
                counts[cells[start + cell]] += np.int64(posterior * UNIT + 0.5)
                # The tool counts j from 0 in this sum only.
                features += posterior * feature(j, i + 1, m, n)
        all_features += np.int64(features * FEATURE_UNIT - 0.5)
    return all_features, likelihood


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
def _maximise(
    targets: np.ndarray,
    counts: np.ndarray,
    bounds: np.ndarray,
    alpha: float,
    target_size: int,
    probabilities: np.ndarray,
) -> None:
    """M-step of mean-field variational Bayes: exp(digamma(c + alpha) - digamma(sum of c + alpha)) per source word.

    targets, counts, probabilities: of the rows of all pieces; piece p has ``bounds[p, s]:bounds[p, s + 1]`` of word s.
    """
    sums, seen = np.empty(target_size, dtype=np.int64), np.full(target_size, -1, dtype=np.int32)
    distinct, values = np.empty(target_size, dtype=np.int32), np.empty(target_size)
    pieces, words = bounds.shape
    for word in range(words - 1):
        size = 0
        for piece in range(pieces):
            for row in range(bounds[piece, word], bounds[piece, word + 1]):
                target = targets[row]
                if seen[target] != word:
                    seen[target], sums[target] = word, 0
                    distinct[size] = target
                    size += 1
                sums[target] += counts[row]
        total = 0.0
        for target in distinct[:size]:
            values[target] = sums[target] / UNIT + alpha
            total += values[target]
        if size:
            total = _digamma(total)
        for target in distinct[:size]:
            values[target] = np.exp(_digamma(values[target]) - total)
        for piece in range(pieces):
            for row in range(bounds[piece, word], bounds[piece, word + 1]):
                probabilities[row] = values[targets[row]]


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
            fill_prior(prior, m, n, p0, tension)
        for j in range(m):
            highest = probabilities[grid.target[first + j]] * p0
            for i in range(n):
                joint = probabilities[grid.cells[start + i * m + j]] * prior[i * m + j]
                if joint > highest:
                    highest = joint
                    best[first + j] = i


@dataclass(frozen=True)
class _Room:
    """Where the arrays of pieces lie: in files without names on the disk of a folder, which are mapped, or (None) in
    memory.
    """

    folder: Path | None

    def empty(self, shape: int, dtype: type) -> np.ndarray:
        """A new array."""
        if self.folder is None or not shape:
            return np.empty(shape, dtype)
        with tempfile.TemporaryFile(dir=self.folder) as file:
            if hasattr(os, "posix_fallocate"):
                # a disk that is full is an error here, where it would be a crash in what writes to the array
                os.posix_fallocate(file.fileno(), 0, shape * np.dtype(dtype).itemsize)
            return np.memmap(file, dtype, "w+", shape=(shape,)).view(np.ndarray)

    def keep(self, array: np.ndarray) -> np.ndarray:
        """An array, or its copy there."""
        if self.folder is None:
            return array
        kept = self.empty(len(array), array.dtype.type)
        kept[:] = array
        return kept

    def piece(self, text: TextPiece, source_size: int, target_size: int) -> _Piece:
        """A piece of the text, before training."""
        source, target = text
        n, m = source.lengths, target.lengths
        starts, order = offsets_of(n * m), np.lexsort((m, n))
        grid = _Grid(
            self.keep(target.values),
            self.keep(source.offsets),
            self.keep(target.offsets),
            self.keep(order[(n * m)[order] > 0]),
            self.keep(starts),
            self.empty(starts[-1], np.int32),
        )
        row_offsets = np.zeros(source_size + 2, dtype=np.int64)
        occurrences, pairs = np.argsort(source.values, kind="stable"), np.repeat(np.arange(len(n)), n)
        # as many as there may be: what is not written takes no memory
        targets = np.empty(target_size + len(grid.cells), dtype=np.int32)
        targets[:target_size] = np.arange(target_size)
        _number_cells(occurrences, pairs, source.arrays, grid, targets, target_size, row_offsets[1:])
        rows = int(row_offsets[-1])
        piece = _Piece(
            grid, row_offsets, self.keep(targets[:rows]), self.empty(rows, np.float64), self.empty(rows, np.int64)
        )
        piece.probabilities[:] = 1.0 / target_size
        return piece


@dataclass(frozen=True)
class FastAlign:
    """A trained model with the text that it was trained on, in pieces."""

    pieces: Sequence[_Piece]
    target_size: int
    tension: float
    p0: float

    def links(self) -> Iterator[Ragged]:
        """For every target word the most probable source word, or none (NULL): int16 ``[links, 2]`` (source, target)
        per pair of each piece, in order of the target; pairs with an empty side have no links.
        """
        for piece in self.pieces:
            offsets = piece.grid.target_offsets
            best = np.full(len(piece.grid.target), -1, dtype=np.int16)
            if len(piece.grid.order):
                _find_links(piece.grid, piece.probabilities, self.p0, self.tension, best)
            linked = np.flatnonzero(best >= 0)
            starts = np.searchsorted(linked, offsets)
            positions = linked - np.repeat(offsets[:-1], np.diff(starts))
            yield Ragged(np.stack([best[linked], positions], axis=1).astype(np.int16), starts.astype(np.int64))

    def translations(self, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Source words, target words (int) and p(target | source) (float64) of the ``count`` best of each source word,
        those of a word together.
        """
        found = []
        for first, rows, bounds in _blocks_of_words(self.pieces):
            targets = _joined(rows, "targets")
            words = np.concatenate([np.repeat(np.arange(len(own) - 1), np.diff(own)) for own in bounds])
            # once each, in the order in which pieces have them
            places = np.sort(np.unique(words * self.target_size + targets, return_index=True)[1])
            places = places[np.argsort(words[places], kind="stable")]
            probabilities = _joined(rows, "probabilities")[places]
            best, offsets = best_of_each(probabilities, offsets_of(np.bincount(words[places])), count)
            sources = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)) + first - 1
            found.append((sources, targets[places[best]], probabilities[best]))
        of_words = [[part[block[0] >= 0] for part in block] for block in found]
        sources, targets, probabilities = (np.concatenate(parts) for parts in zip(*of_words, strict=True))
        return sources, targets, probabilities


def _blocks_of_words(
    pieces: Sequence[_Piece],
) -> Iterator[tuple[int, list[tuple[_Piece, slice]], np.ndarray]]:
    """The rows of all pieces, of a few words at a time (NULL first): the number of the first word, the rows of each
    piece, and where its words begin and end (int64 ``[pieces, words + 1]``) if they stand one piece after the other.
    """
    for first, last in blocks(np.sum([piece.row_offsets for piece in pieces], axis=0), ROWS):
        bounds = np.stack([piece.row_offsets[first : last + 1] for piece in pieces])
        rows = [(piece, slice(own[0], own[-1])) for piece, own in zip(pieces, bounds, strict=True)]
        starts = offsets_of([part.stop - part.start for _, part in rows])[:-1]
        yield first, rows, bounds + (starts - bounds[:, 0])[:, None]


def _joined(rows: Iterable[tuple[_Piece, slice]], name: str) -> np.ndarray:
    """An array of all pieces, at some of their rows."""
    return np.concatenate([getattr(piece, name)[part] for piece, part in rows])


def fast_align(source: Ragged, target: Ragged, source_size: int, target_size: int, settings: Settings) -> Ragged:
    """The links of a text under the model that is trained on it in one piece, see ``train_fast_align``."""
    return next(train_fast_align([(source, target)], source_size, target_size, settings).links())


def train_fast_align(
    text: Iterable[TextPiece],
    source_size: int,
    target_size: int,
    settings: Settings,
    folder: Path | None = None,
    threads: int = 1,
) -> FastAlign:
    """Train the model on a text.

    text: pieces of it, word ids below ``source_size`` and ``target_size``, at least one; settings: of the section
    ``alignment.fast_align``; the last of the iterations only finds the best links. folder: an empty one for the files
    of several pieces, as long as the model is used; threads: each works on a piece.
    """
    waiting = iter(text)
    ahead = list(islice(waiting, 2))
    room = _Room(folder if len(ahead) > 1 else None)
    pieces, lengths = [], []
    for sides in chain(ahead, waiting):
        pieces.append(room.piece(sides, source_size, target_size))
        own = np.stack([side.lengths for side in sides], axis=1)
        lengths.append(np.unique(own[own.min(axis=1) > 0], axis=0, return_counts=True))
    ahead.clear()
    sizes, places = np.unique(np.concatenate([own for own, _ in lengths]), axis=0, return_inverse=True)
    frequencies = np.bincount(places, np.concatenate([number for _, number in lengths]), len(sizes)).astype(np.int64)
    tokens = int(sizes[:, 1] @ frequencies)
    tension = settings.tension
    for iteration in range(1, settings.iterations if tokens else 1):
        expected = in_threads(partial(_expect, p0=settings.p0, tension=tension), pieces, threads)
        features = sum(own for own, _ in expected) / FEATURE_UNIT
        perplexity = np.exp(-sum(likelihood for _, likelihood in expected) / tokens)
        log.info("fast_align iteration %d: perplexity %.4f, tension %.4f", iteration, perplexity, tension)
        if iteration > 1:
            tension = optimised_tension(tension, features / tokens, sizes, frequencies, tokens)
        for _, rows, bounds in _blocks_of_words(pieces):
            targets, counts = _joined(rows, "targets"), _joined(rows, "counts")
            probabilities = np.empty(len(counts))
            _maximise(targets, counts, bounds, settings.alpha, target_size, probabilities)
            for (piece, part), own in zip(rows, bounds, strict=True):
                piece.probabilities[part] = probabilities[own[0] : own[-1]]
    return FastAlign(pieces, target_size, tension, settings.p0)
