"""Scores as codes of 8 bits: what each code stands for, and which is nearest."""

import numpy as np

BITS = 8
"""Of a code."""

CODES = 1 << BITS

_CELLS = 1 << 16
"""Into which the range of the scores is cut: a bin is as many cells that hold a score as any other."""

_ROWS = 1 << 20
"""Scores that are worked on at a time."""


def choose_centres(scores: np.ndarray, zero: bool = False, rounds: int = 0) -> np.ndarray:
    """float32 ``[256]``, rising: what each code stands for, given all scores (float32 ``[n]``, finite).

    zero: code 0 stands for exactly 0, and the others for scores that are not 0, rising from code 1 on. Codes that are
    left over stand for the last centre again. Up to 256 cells that hold a score have a code each. rounds: of Lloyd's
    algorithm, which lowers the mean squared error.
    """
    codes = CODES - zero
    taken = scores != 0 if zero else True
    low, high = float(scores.min(where=taken, initial=np.inf)), float(scores.max(where=taken, initial=-np.inf))
    scale = (_CELLS - 1) / ((high - low) or 1.0)  # one cell where all are equal
    counts, sums = np.zeros(_CELLS, dtype=np.int64), np.zeros(_CELLS)
    for start in range(0, len(scores), _ROWS):
        part = scores[start : start + _ROWS]
        part = part[part != 0] if zero else part
        cell = ((part.astype(np.float64) - low) * scale).astype(np.int64)
        counts += np.bincount(cell, minlength=_CELLS)
        sums += np.bincount(cell, weights=part, minlength=_CELLS)
    held = np.flatnonzero(counts)
    if len(held) == 0:
        return np.zeros(CODES, dtype=np.float32)
    bins = np.arange(len(held)) * min(codes, len(held)) // len(held)
    means = np.bincount(bins, weights=sums[held]) / np.bincount(bins, weights=counts[held])
    for _ in range(rounds):
        bins = np.searchsorted((means[1:] + means[:-1]) / 2, sums[held] / counts[held])
        weights = np.bincount(bins, weights=counts[held], minlength=len(means))
        means = np.where(weights > 0, np.bincount(bins, sums[held], len(means)) / np.maximum(weights, 1), means)
    centres = np.full(codes, means[-1], dtype=np.float32)
    centres[: len(means)] = means
    return np.concatenate([np.zeros(1, dtype=np.float32), centres]) if zero else centres


def encode(scores: np.ndarray, centres: np.ndarray, codes: np.ndarray, zero: bool = False) -> None:
    """Fill ``codes`` (uint8 ``[n]``) with the nearest of the centres; if ``zero``, 0 alone has code 0."""
    values = centres[int(zero) :].astype(np.float64)
    middles = (values[1:] + values[:-1]) / 2
    for start in range(0, len(scores), _ROWS):
        part = scores[start : start + _ROWS]
        nearest = np.searchsorted(middles, part)
        codes[start : start + _ROWS] = np.where(part != 0, nearest + 1, 0) if zero else nearest
