"""Codes of 8 bits for scores: bins that each stand for the mean of what they hold, as KenLM's (Heafield 2011).

KenLM's bins have equal population, so the few scores far from the others share wide bins. Those are scores of n-grams
that are often asked for: on news, perplexity rises by half as much when the range of scores is divided evenly, which is
done here (gaps, where no score lies, left out).
"""

import numpy as np

CODES = 256

_CELLS = 1 << 16
"""Into which the range of the scores is cut: a bin is as many cells that hold a score as any other."""

_ROWS = 1 << 20
"""Scores that are worked on at a time."""


def choose_centres(scores: np.ndarray, zero: bool = False) -> np.ndarray:
    """float32 ``[256]``, rising: what each code stands for, given all scores (float32 ``[n]``, finite).

    zero: code 0 stands for exactly 0, and the others for scores that are not 0, rising from code 1 on. Codes that are
    left over stand for the last centre again. Up to 256 cells that hold a score have a code each.
    """
    codes = CODES - zero
    low, high = _range(scores, zero)
    counts, sums = np.zeros(_CELLS, dtype=np.int64), np.zeros(_CELLS)
    for start in range(0, len(scores), _ROWS):
        part = _taken(scores[start : start + _ROWS], zero)
        cell = _cells(part, low, high)
        counts += np.bincount(cell, minlength=_CELLS)
        sums += np.bincount(cell, weights=part, minlength=_CELLS)
    held = np.flatnonzero(counts)
    if len(held) == 0:
        return np.zeros(CODES, dtype=np.float32)
    bins = np.arange(len(held)) * min(codes, len(held)) // len(held)
    means = np.bincount(bins, weights=sums[held]) / np.bincount(bins, weights=counts[held])
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


def _taken(scores: np.ndarray, zero: bool) -> np.ndarray:
    return scores[scores != 0] if zero else scores


def _range(scores: np.ndarray, zero: bool) -> tuple[float, float]:
    """The smallest and the largest score."""
    low, high = np.inf, -np.inf
    for start in range(0, len(scores), _ROWS):
        part = _taken(scores[start : start + _ROWS], zero)
        if len(part):
            low, high = min(low, float(part.min())), max(high, float(part.max()))
    return low, high


def _cells(scores: np.ndarray, low: float, high: float) -> np.ndarray:
    """int64: the cell of each score; one cell where all are equal."""
    width = (high - low) or 1.0
    return ((scores.astype(np.float64) - low) * ((_CELLS - 1) / width)).astype(np.int64)
