"""The prior of fast_align's links, which favours the diagonal (Dyer et al. 2013): its normaliser, expectation, tension.

Target word j of m comes of source word i of n in proportion to exp(-tension |i/n - j/m|).
"""

import numpy as np

from neural_smt.jit import kernel

TENSION_STEPS = 8
TENSION_RATE = 20.0
TENSION_RANGE = (0.1, 14.0)


@kernel
def feature(j: float, i: float, m: int, n: int) -> float:
    """Distance from the diagonal, negated; positions count from 1."""
    return -abs(i / n - j / m)


@kernel
def normaliser(j: int, m: int, n: int, tension: float) -> float:
    """Z of target word j: the sum over i of exp(tension * feature), by two geometric series (eq. 2)."""
    below = int(j * n / m)
    ratio = np.exp(-tension / n)
    total = 0.0
    if below != n:
        # Beyond the last position (see expected_feature) the tool's unsigned count of terms wraps round: no end.
        rest = ratio ** (n - below) if below < n else 0.0
        total += np.exp(tension * feature(j, below + 1, m, n)) * (1.0 - rest) / (1.0 - ratio)
    if below > 0:
        total += np.exp(tension * feature(j, below, m, n)) * (1.0 - ratio**below) / (1.0 - ratio)
    return total


@kernel
def _series(first: float, weight: float, ratio: float, step: float, terms: int) -> float:
    """Sum of (first + k step) weight ratio^k for k < terms."""
    last_weight = weight * ratio**terms
    last = first + step * (terms - 1)
    slope = ratio - 1.0
    return (last * last_weight - first * weight) / slope - step * (last_weight - weight * ratio) / (slope * slope)


@kernel
def expected_feature(j: int, m: int, n: int, tension: float) -> float:
    """Derivative of log Z by the tension: the feature's expectation under the prior (section 3.2)."""
    below = int(j * n / m)
    ratio = np.exp(-tension / n)
    total = 0.0
    if below < n:
        nearest = feature(j, below + 1, m, n)
        total += _series(nearest, np.exp(tension * nearest), ratio, -1.0 / n, n - below)
    if below > 0:
        nearest = feature(j, below, m, n)
        total += _series(nearest, np.exp(tension * nearest), ratio, -1.0 / n, below)
    # The tool passes m and n in this order here, unlike everywhere else; following it keeps its tensions.
    return total / normaliser(j, n, m, tension)


@kernel
def optimised_tension(tension: float, empirical: float, sizes: np.ndarray, counts: np.ndarray, tokens: int) -> float:
    """Climb towards the tension whose expected feature is the ``empirical`` one (both per target word)."""
    for _ in range(TENSION_STEPS):
        expected = 0.0
        for k in range(len(sizes)):
            n, m = sizes[k, 0], sizes[k, 1]
            for j in range(1, m + 1):
                expected += counts[k] * expected_feature(j, m, n, tension)
        tension += TENSION_RATE * (empirical - expected / tokens)
        tension = min(max(tension, TENSION_RANGE[0]), TENSION_RANGE[1])
    return tension


@kernel
def fill_prior(prior: np.ndarray, m: int, n: int, p0: float, tension: float) -> None:
    """Prior probabilities of the cells of an n by m grid, row by row."""
    for j in range(m):
        scale = (1.0 - p0) / normaliser(j + 1, m, n, tension)
        for i in range(n):
            prior[i * m + j] = scale * np.exp(tension * feature(j + 1, i + 1, m, n))
