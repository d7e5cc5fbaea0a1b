"""Is a system better than the baseline? Paired tests on corpus BLEU over several tuning runs.

Clark et al. (2011) ask for several optimiser runs of every system and pool their outputs. The runs' outputs of one
sentence are near copies of each other, so they are no independent evidence: here a sentence with all its runs is
drawn, or swapped between the systems, as one. Repeating a run therefore leaves every p-value as it is; how much the
runs differ is reported beside it, as a standard deviation.
"""

from collections.abc import Sequence

import numpy as np
from sacrebleu.metrics import BLEU

ORDER = 4
HYPOTHESIS_LENGTH, REFERENCE_LENGTH = 0, 1
MATCHES, TOTALS = slice(2, 2 + ORDER), slice(2 + ORDER, 2 + 2 * ORDER)

CHUNK = 2**22
"""How many (trial, sentence) cells are drawn at once, to bound memory."""


def sentence_statistics(metric: BLEU, hypotheses: Sequence[str], references: Sequence[str]) -> np.ndarray:
    """sacreBLEU's sufficient statistics, float64 ``[sentences, 10]``: lengths of both sides, matches, totals."""
    return np.array(metric._extract_corpus_statistics(hypotheses, [references]), dtype=np.float64).reshape(-1, 10)


def corpus_scores(statistics: np.ndarray) -> np.ndarray:
    """BLEU (0 to 100) of summed statistics ``[..., 10]``, zero matches smoothed exponentially as by sacreBLEU."""
    matches, totals = statistics[..., MATCHES], statistics[..., TOTALS]
    halvings = np.cumsum(matches == 0, axis=-1)
    smoothed = np.where(matches > 0, matches, 0.5**halvings)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(smoothed / totals).mean(axis=-1)
        penalty = np.minimum(0.0, 1.0 - statistics[..., REFERENCE_LENGTH] / statistics[..., HYPOTHESIS_LENGTH])
        scores = 100.0 * np.exp(logs + penalty)
    return np.where((matches > 0).any(axis=-1) & (totals > 0).all(axis=-1), scores, 0.0)


def approximate_randomisation(
    baseline: np.ndarray, system: np.ndarray, trials: int, generator: np.random.Generator
) -> float:
    """Two-sided p-value of the difference in BLEU under swaps of sentences by chance (Riezler and Maxwell 2005).

    baseline, system: statistics ``[sentences, 10]``, summed (or averaged) over runs.
    """
    observed = abs(corpus_scores(system.sum(axis=0)) - corpus_scores(baseline.sum(axis=0)))
    both, difference = (system + baseline).sum(axis=0), system - baseline
    extreme = 0
    for size in _chunks(trials, len(system)):
        swapped = generator.integers(0, 2, size=(size, len(system)), dtype=np.int8)
        shuffled = baseline.sum(axis=0) + swapped.astype(np.float64) @ difference
        gaps = np.abs(corpus_scores(shuffled) - corpus_scores(both - shuffled))
        extreme += int((gaps >= observed - 1e-9).sum())
    return (extreme + 1) / (trials + 1)


def paired_bootstrap(baseline: np.ndarray, system: np.ndarray, trials: int, generator: np.random.Generator) -> float:
    """p-value of the difference in BLEU by resampling sentences (Koehn 2004), counted as sacreBLEU counts it.

    baseline, system: statistics ``[sentences, 10]``, summed (or averaged) over runs.
    """
    observed = abs(corpus_scores(system.sum(axis=0)) - corpus_scores(baseline.sum(axis=0)))
    sentences, gaps = len(system), []
    for size in _chunks(trials, sentences):
        drawn = generator.integers(0, sentences, size=(size, sentences))
        cells = (drawn + sentences * np.arange(size)[:, None]).ravel()
        times = np.bincount(cells, minlength=size * sentences).reshape(size, sentences).astype(np.float64)
        gaps.append(np.abs(corpus_scores(times @ system) - corpus_scores(times @ baseline)))
    differences = np.concatenate(gaps)
    extreme = int((differences - differences.mean() >= observed - 1e-9).sum())
    return (extreme + 1) / (trials + 1)


TESTS = {"approximate_randomisation": approximate_randomisation, "bootstrap": paired_bootstrap}
"""The tests by their names in the configuration."""


def _chunks(trials: int, sentences: int) -> list[int]:
    """Split ``trials`` into sizes that keep the drawn table within ``CHUNK`` cells."""
    size = max(1, CHUNK // max(sentences, 1))
    return [min(size, trials - start) for start in range(0, trials, size)]
