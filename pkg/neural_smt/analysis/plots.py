"""Figures 3 to 5 of Cho et al. (2014): scores of phrase pairs, and the plane of words or phrases with regions of it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.patches import Rectangle
from matplotlib.transforms import Bbox
from scipy.spatial import cKDTree

from neural_smt.analysis.phrase_tables import direct_scores
from neural_smt.experiment.settings import section_settings
from neural_smt.io.plots import COLOURS, GREY, clean, drawing
from neural_smt.io.tables import read_frame
from neural_smt.phrases.table import PhraseTable, load_column
from neural_smt.vocabulary import spelled

NEIGHBOURS = 24
"""Points that a zoomed region is built around."""

OFFSETS = np.array([(5, 0), (-5, 0), (0, 5), (0, -5), (4, 4), (4, -4), (-4, 4), (-4, -4)])
"""Where a label may stand beside its point, in points to the right and up, in order of preference."""

BACK = (1 - np.sign(OFFSETS)) / 2
"""How much of a label's width is left of its place, and of its height below it: its near side is at the place."""

WHOLE_LABELS = 160
"""Labels in the whole picture, which shows where things are; the enlarged ones are for reading."""


class Region(NamedTuple):
    """A square of the plane: its lower left corner and its side."""

    x: float
    y: float
    side: float


def read_points(path: Path) -> pd.DataFrame:
    """What ``embed_words`` or ``embed_phrases`` wrote: text, count, x, y, most frequent first."""
    return read_frame(path, "text", "count x y").astype({"count": int})


def plot_embedding(*, points: Path, plot: Path, title: str, settings: dict[str, Any]) -> None:
    """Draw projected words or phrases, with labels where there is room, and their densest regions enlarged (Figures 4
    and 5).
    """
    found = read_points(points)
    words, places = spelled(found["text"]), found[["x", "y"]].to_numpy()
    regions = densest_regions(places, section_settings("analysis", settings).zooms)
    with drawing(plot, 13.0, 13.0) as figure:
        grid = figure.add_gridspec(2, 2)
        whole = figure.add_subplot(grid[0, 0])
        panels = [figure.add_subplot(grid[number // 2, number % 2]) for number in range(1, len(regions) + 1)]
        whole.scatter(places[:, 0], places[:, 1], s=4, color=GREY, linewidths=0)
        for region, colour in zip(regions, COLOURS, strict=False):
            square = Rectangle(region[:2], region.side, region.side, fill=False, edgecolor=colour, linewidth=1.8)
            whole.add_patch(square)
        whole.set_title(f"{title}: {len(words):,} points", fontsize=11)
        for axes, region, colour in zip(panels, regions, COLOURS, strict=False):
            _zoom(axes, places, region, colour)
        for axes in (whole, *panels):
            axes.set_xlabel("t-SNE, first coordinate (no unit)", fontsize=8)
            axes.set_ylabel("t-SNE, second coordinate (no unit)", fontsize=8)
            axes.tick_params(labelsize=7)
        figure.draw_without_rendering()
        _label(whole, words, places, 6.0, most=WHOLE_LABELS)
        for axes in panels:
            _label(axes, words, places, 8.0, clear=2.0)


def densest_regions(places: np.ndarray, count: int, neighbours: int = NEIGHBOURS) -> list[Region]:
    """Squares around the densest places of ``[n, 2]`` points, which do not overlap.

    The centre of each is the point with the nearest ``neighbours``-th neighbour among those from which no earlier
    square can be touched; the square just holds these neighbours, and has at least a fortieth of the picture's side.
    """
    neighbours = min(neighbours, len(places) - 1)
    distances, nearest = cKDTree(places).query(places, neighbours + 1)
    smallest = float(np.ptp(places, axis=0).max()) / 40
    regions: list[Region] = []
    for number in np.argsort(distances[:, -1], kind="stable").tolist():
        if len(regions) == count:
            break
        members = places[nearest[number]]
        low, high = members.min(axis=0), members.max(axis=0)
        side = max(1.1 * float((high - low).max()), smallest)
        corner = (low + high - side) / 2
        region = Region(float(corner[0]), float(corner[1]), side)
        if not any(_touch(region, other) for other in regions):
            regions.append(region)
    return regions


def _touch(first: Region, second: Region) -> bool:
    apart = max(first.side, second.side)  # a little room between them, so that they show different things
    return all(
        first[axis] < second[axis] + second.side + apart and second[axis] < first[axis] + first.side + apart
        for axis in (0, 1)
    )


def _zoom(axes: Axes, places: np.ndarray, region: Region, colour: str) -> None:
    axes.scatter(places[:, 0], places[:, 1], s=14, color=colour, linewidths=0)
    # labels stand to the right of their points
    axes.set_xlim(region.x - 0.1 * region.side, region.x + 1.1 * region.side)
    axes.set_ylim(region.y - 0.1 * region.side, region.y + 1.1 * region.side)
    for spine in axes.spines.values():
        spine.set(edgecolor=colour, linewidth=1.8)


def _label(
    axes: Axes, words: Sequence[str], places: np.ndarray, size: float, most: int = 10000, clear: float = 0.0
) -> None:
    """Write the labels of points inside ``axes``, the most frequent first, where none is there yet.

    most: labels at most; clear: half the side (points) of the square around every point that stays free of labels, 0
    for none.
    """
    figure: Any = axes.figure
    renderer = figure.canvas.get_renderer()
    frame, pixels = axes.get_window_extent(renderer), axes.transData.transform(places)
    inside = np.flatnonzero([frame.contains(x, y) for x, y in pixels])
    margin = clear * figure.dpi / 72
    taken = np.hstack((pixels[inside] - margin, pixels[inside] + margin)) if clear else np.empty((0, 4))
    for number in inside.tolist():
        if len(axes.texts) == most:
            break
        style: dict[str, Any] = {"textcoords": "offset points", "fontsize": size, "clip_on": True, "parse_math": False}
        text = axes.annotate(words[number], places[number], xytext=(0, 0), **style)
        # drawn once: to lay a text out takes most of the time
        extent = np.array(text.get_window_extent(renderer).size)
        corners = pixels[number] + OFFSETS * (figure.dpi / 72) - BACK * extent
        boxes = np.hstack((corners, corners + extent))
        free = np.flatnonzero(_are_free(boxes, taken, frame))
        if len(free) == 0:
            text.remove()
            continue
        right, up = np.sign(OFFSETS[free[0]]) + 1
        sides = {"ha": ("right", "center", "left")[right], "va": ("top", "center", "bottom")[up]}
        text.set(position=tuple(OFFSETS[free[0]].tolist()), **sides)
        taken = np.vstack((taken, boxes[free[0]]))


def _are_free(boxes: np.ndarray, taken: np.ndarray, frame: Bbox) -> np.ndarray:
    """bool: which boxes are within the frame and touch none of those taken; rows are left, bottom, right, top."""
    inside = (boxes[:, :2] >= frame.min).all(axis=1) & (boxes[:, 2:] <= frame.max).all(axis=1)
    low, high = boxes[:, None, :2] < taken[:, 2:], taken[:, :2] < boxes[:, None, 2:]
    return inside & ~np.any(np.all(low & high, axis=2), axis=1)


def plot_pair_scores(
    *,
    phrase_table: Path,
    column: Path,
    source_vocabulary: Path,
    target_vocabulary: Path,
    plot: Path,
    settings: dict[str, Any],
    seed: int,
) -> None:
    """Draw the network's scores of phrase pairs against those of the translation model (Figure 3)."""
    chosen = section_settings("analysis", settings)
    table, _ = PhraseTable.load_checked(phrase_table, source_vocabulary, target_vocabulary)
    scores = load_column(column, table)
    entries = np.random.default_rng(seed).choice(len(table), min(chosen.pairs, len(table)), replace=False)
    entries.sort()
    network, extracted = np.asarray(scores[entries], dtype=np.float64), np.asarray(table.counts[entries, 1])
    draw_scatter(plot, network, direct_scores(table, entries), extracted)


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
        colours = {"cmap": "viridis", "norm": LogNorm(1, max(2, int(extracted.max(initial=1))))}
        style = {"s": 5, "alpha": 0.6, "linewidths": 0, "rasterized": True, **colours}
        points = right.scatter(network[order], translation[order], c=extracted[order], **style)
        figure.colorbar(points, ax=right, label="times the source phrase was extracted")
        titles = f"{len(network):,} phrase pairs, rank correlation {correlation:.2f}", "the same pairs by frequency"
        for axes, title in zip((left, right), titles, strict=True):
            axes.set_xlabel("network, log p(target | source) (nats)")
            axes.set_title(title, fontsize=10)
            clean(axes)
        left.set_ylabel("translation model, log p(target | source) (nats)")


def rank_correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Spearman's rank correlation with mean ranks for ties; 0 where one of them is constant."""
    from scipy.stats import spearmanr  # half a second, which other figures need not wait for

    constant = len(first) == 0 or min(np.ptp(first), np.ptp(second)) == 0
    return 0.0 if constant else float(spearmanr(first, second).statistic)
