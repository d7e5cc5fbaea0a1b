"""Figures 3 to 5 of Cho et al. (2014): scores of phrase pairs, and the plane of words or phrases with regions of it."""

from collections.abc import Sequence
from html import unescape
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke
from matplotlib.transforms import Bbox
from scipy.stats import rankdata

from neural_smt.analysis.embedding import Point, Region, densest_regions
from neural_smt.io.plots import COLOURS, GREY, clean, drawing

OFFSETS = (
    (5, 0, "left", "center"),
    (-5, 0, "right", "center"),
    (0, 5, "center", "bottom"),
    (0, -5, "center", "top"),
    (4, 4, "left", "bottom"),
    (4, -4, "left", "top"),
    (-4, 4, "right", "bottom"),
    (-4, -4, "right", "top"),
)
"""Where a label may stand beside its point, in points, in order of preference."""

SHARES = {"left": 0.0, "bottom": 0.0, "center": 0.5, "right": 1.0, "top": 1.0}
"""How much of a label's width or height is left of its place, or below it, by its alignment."""

MOVES = np.array([place[:2] for place in OFFSETS])
BACK = np.array([[SHARES[alignment] for alignment in place[2:]] for place in OFFSETS])

HALO = [withStroke(linewidth=1.5, foreground="white")]

WHOLE_LABELS = 160
"""Labels in the whole picture, which shows where things are; the enlarged ones are for reading."""


def draw_embedding(path: Path, points: Sequence[Point], title: str, zooms: int) -> None:
    """Draw all points (most frequent first) with labels where there is room, and the densest regions enlarged."""
    places = np.array([(point.x, point.y) for point in points])
    regions = densest_regions(places, zooms)
    with drawing(path, 13.0, 13.0) as figure:
        grid = figure.add_gridspec(2, 2)
        whole = figure.add_subplot(grid[0, 0])
        panels = [figure.add_subplot(grid[number // 2, number % 2]) for number in range(1, len(regions) + 1)]
        whole.scatter(places[:, 0], places[:, 1], s=4, color=GREY, linewidths=0)
        for region, colour in zip(regions, COLOURS, strict=False):
            whole.add_patch(
                Rectangle(region[:2], region.side, region.side, fill=False, edgecolor=colour, linewidth=1.8)
            )
        whole.set_title(f"{title}: {len(points):,} points", fontsize=11)
        for axes, region, colour in zip(panels, regions, COLOURS, strict=False):
            _zoom(axes, places, region, colour)
        for axes in (whole, *panels):
            axes.set(xlabel="t-SNE, first coordinate (no unit)", ylabel="t-SNE, second coordinate (no unit)")
            axes.xaxis.label.set_size(8)
            axes.yaxis.label.set_size(8)
            axes.tick_params(labelsize=7)
        figure.draw_without_rendering()
        _label(figure, whole, points, places, 6.0, most=WHOLE_LABELS)
        for axes in panels:
            _label(figure, axes, points, places, 8.0, clear=2.0)


def _zoom(axes: Axes, places: np.ndarray, region: Region, colour: str) -> None:
    axes.scatter(places[:, 0], places[:, 1], s=14, color=colour, linewidths=0)
    # labels stand to the right of their points
    axes.set_xlim(region.x - 0.1 * region.side, region.x + 1.1 * region.side)
    axes.set_ylim(region.y - 0.1 * region.side, region.y + 1.1 * region.side)
    for spine in axes.spines.values():
        spine.set(edgecolor=colour, linewidth=1.8)


def _label(
    figure: Figure,
    axes: Axes,
    points: Sequence[Point],
    places: np.ndarray,
    size: float,
    most: int = 10000,
    clear: float = 0.0,
) -> int:
    """Write the labels of points inside ``axes``, the most frequent first, where none is there yet; how many were.

    most: labels at most; clear: half the side (points) of the square around every point that stays free of labels, 0
    for none.
    """
    renderer = figure.canvas.get_renderer()
    frame = axes.get_window_extent(renderer)
    written = 0
    pixels = axes.transData.transform(places)
    inside = np.flatnonzero([frame.contains(x, y) for x, y in pixels])
    margin = clear * figure.dpi / 72
    taken = np.hstack((pixels[inside] - margin, pixels[inside] + margin)) if clear else np.empty((0, 4))
    for number in inside.tolist():
        if written == most:
            break
        text = axes.annotate(
            unescape(points[number].text),
            places[number],
            xytext=(0, 0),
            textcoords="offset points",
            fontsize=size,
            clip_on=True,
        )
        # drawn once: to lay a text out takes most of the time
        extent = np.array(text.get_window_extent(renderer).size)
        corners = pixels[number] + MOVES * (figure.dpi / 72) - BACK * extent
        boxes = np.hstack((corners, corners + extent))
        free = np.flatnonzero(_are_free(boxes, taken, frame))
        if len(free) == 0:
            text.remove()
            continue
        right, up, horizontal, vertical = OFFSETS[free[0]]
        text.set(position=(right, up), ha=horizontal, va=vertical)
        taken = np.vstack((taken, boxes[free[0]]))
        written += 1
    return written


def _are_free(boxes: np.ndarray, taken: np.ndarray, frame: Bbox) -> np.ndarray:
    """bool: which boxes are within the frame and touch none of those taken; rows are left, bottom, right, top."""
    inside = (boxes[:, :2] >= frame.min).all(axis=1) & (boxes[:, 2:] <= frame.max).all(axis=1)
    low, high = boxes[:, None, :2] < taken[:, 2:], taken[:, :2] < boxes[:, None, 2:]
    return inside & ~(low & high).all(axis=2).any(axis=1)


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
    ranks = [rankdata(values) for values in (first, second)]
    deviations = [values - values.mean() for values in ranks]
    scale = np.sqrt((deviations[0] ** 2).sum() * (deviations[1] ** 2).sum())
    return float((deviations[0] * deviations[1]).sum() / scale) if scale > 0 else 0.0
