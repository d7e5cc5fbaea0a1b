"""Figure 3 of Cho et al. (2014): the network's score of phrase pairs against that of the translation model."""

from pathlib import Path

import numpy as np
from matplotlib.colors import LogNorm

from neural_smt.io.plots import clean, drawing


def draw_scatter(path: Path, network: np.ndarray, translation: np.ndarray, extracted: np.ndarray) -> None:
    """Draw natural log-probabilities of pairs (all ``[n]``); extracted: how often each pair's source phrase was.

    Left, all pairs as a density, since most lie on few values of the translation model; right, the pairs as points
    whose colour shows how often the source phrase was extracted.
    """
    correlation = rank_correlation(network, translation)
    with drawing(path, 10.0, 4.4) as figure:
        left, right = figure.subplots(1, 2, sharex=True, sharey=True)
        cells = left.hexbin(network, translation, gridsize=45, cmap="Blues", norm=LogNorm(vmin=0.7), linewidths=0.1)
        figure.colorbar(cells, ax=left, label="phrase pairs in a cell (log scale)")
        order = np.argsort(extracted, kind="stable")
        points = right.scatter(
            network[order],
            translation[order],
            c=extracted[order],
            s=5,
            alpha=0.6,
            linewidths=0,
            cmap="viridis",
            norm=LogNorm(1, max(2, int(extracted.max(initial=1)))),
            rasterized=True,
        )
        figure.colorbar(points, ax=right, label="times the source phrase was extracted")
        for axes, title in (
            (left, f"{len(network):,} phrase pairs, rank correlation {correlation:.2f}"),
            (right, "the same pairs by frequency"),
        ):
            axes.set_xlabel("network, log p(target | source) (nats)")
            axes.set_title(title, fontsize=10)
            clean(axes)
        left.set_ylabel("translation model, log p(target | source) (nats)")


def rank_correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Spearman's rank correlation with mean ranks for ties; 0 where one of them is constant."""
    ranks = [_ranks(values) for values in (first, second)]
    deviations = [values - values.mean() for values in ranks]
    scale = np.sqrt((deviations[0] ** 2).sum() * (deviations[1] ** 2).sum())
    return float((deviations[0] * deviations[1]).sum() / scale) if scale > 0 else 0.0


def _ranks(values: np.ndarray) -> np.ndarray:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return (ends - (counts - 1) / 2)[inverse]
