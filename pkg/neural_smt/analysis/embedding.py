"""Points in the plane for words and phrases (t-SNE, Cho et al. 2014, section 4.4), and a page on which people explore
them: search, zoom, drag and hover, in one file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from bokeh.embed import components
from bokeh.models import BooleanFilter, CDSView, ColumnDataSource, HoverTool, Plot, TabPanel, Tabs
from bokeh.plotting import figure
from bokeh.resources import Resources
from scipy.spatial import cKDTree

from neural_smt.errors import UserError
from neural_smt.io.files import read_csv, write_csv
from neural_smt.io.plots import BLUE
from neural_smt.io.ragged import Ragged
from neural_smt.report.pages import render, to_html

if TYPE_CHECKING:
    from neural_smt.networks.encoder_decoder import EncoderDecoder

HEADER = ("text", "count", "x", "y")
NEIGHBOURS = 24
"""Points that a zoomed region is built around."""


class Point(NamedTuple):
    """A word or phrase, its running count, and where it lies."""

    text: str
    count: int
    x: float
    y: float


class Region(NamedTuple):
    """A square of the plane: its lower left corner and its side."""

    x: float
    y: float
    side: float


def summaries(network: EncoderDecoder, phrases: Ragged, batch: int = 1024) -> np.ndarray:
    """c of every source phrase (int32 shortlist ids): float32 ``[n, H]``."""
    # PyTorch takes a second to load, and pictures of points need none of it.
    import torch

    from neural_smt.networks.packing import pack

    output = np.empty((len(phrases), network.config.hidden), dtype=np.float32)
    with torch.no_grad():
        for start in range(0, len(phrases), batch):
            rows = np.arange(start, min(start + batch, len(phrases)))
            packed, order = pack(phrases.take(rows), network.output.weight.device)
            output[rows[order]] = network.encode(packed).float().cpu().numpy()
    return output


def project(vectors: np.ndarray, perplexity: float, seed: int) -> np.ndarray:
    """Barnes-Hut t-SNE (van der Maaten 2013) of ``[n, d]`` to the plane: float64 ``[n, 2]``.

    Perplexity is lowered to a third of n - 1 where it would be higher.
    """
    from sklearn.manifold import TSNE  # a second to import, needed here only

    if len(vectors) < 5:
        raise UserError(f"t-SNE was given {len(vectors)} points; lower the limits under analysis, or take more text")
    chosen = min(perplexity, (len(vectors) - 1) / 3)
    # vectors that are quite equal would give distances of 0 to each other only
    model = TSNE(perplexity=chosen, init="pca", learning_rate="auto", method="barnes_hut", random_state=seed, n_jobs=1)
    return model.fit_transform(np.ascontiguousarray(vectors, dtype=np.float32)).astype(np.float64)


def write_points(path: Path, texts: Sequence[str], counts: np.ndarray, places: np.ndarray) -> None:
    """Write points as CSV, most frequent first."""
    order = np.argsort(-counts, kind="stable")
    rows = ((texts[i], int(counts[i]), f"{places[i, 0]:.4f}", f"{places[i, 1]:.4f}") for i in order.tolist())
    write_csv(path, HEADER, rows)


def read_points(path: Path) -> list[Point]:
    """Inverse of ``write_points``."""
    return [Point(row["text"], int(row["count"]), float(row["x"]), float(row["y"])) for row in read_csv(path)]


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


NEAR = 5
"""Neighbours that are named beside a point."""

TOOLTIPS = [("", "@text"), ("seen", "@count{0,0} times"), ("near", "@near")]


def map_page(layers: Mapping[str, Sequence[Point]], title: str = "", about: str = "") -> list[str]:
    """The page: a tab for each layer (name -> points, most frequent first); about: Markdown.

    Characters that the tokeniser wrote as entities are shown as themselves. Which labels fit is decided in the browser,
    most frequent points first.
    """
    titles = {layer: f"{layer.capitalize()} {len(points):,}" for layer, points in layers.items()}
    panels = [TabPanel(child=_plane(layer, points), title=titles[layer]) for layer, points in layers.items()]
    script, element = components(Tabs(tabs=panels, name="layers", sizing_mode="stretch_both"))
    libraries = Resources(mode="inline", components=["bokeh"]).js_raw
    name = title or "Words and phrases as the encoder sees them"
    return render("map.html", title=name, about=to_html(about), libraries=libraries, script=script, element=element)


def _plane(name: str, points: Sequence[Point]) -> Plot:
    """The points of a layer with their labels; the browser chooses which of these it shows."""
    words = [unescape(point.text) for point in points]
    places = np.array([(point.x, point.y) for point in points], dtype=np.float64).reshape(-1, 2).round(3)
    source = ColumnDataSource(
        {
            "text": words,
            "count": [point.count for point in points],
            "x": places[:, 0].tolist(),
            "y": places[:, 1].tolist(),
            "near": _neighbours(words, places),
        },
        name=name,
    )
    options = {"tools": "pan,wheel_zoom,reset", "active_scroll": "wheel_zoom", "match_aspect": True}
    plane = figure(name=name, sizing_mode="stretch_both", **options)
    dots = plane.scatter("x", "y", source=source, size=5, color=BLUE, alpha=0.7, nonselection_alpha=0.25)
    dots.selection_glyph = dots.glyph.clone(fill_color="#b93a0b", line_color="#b93a0b", size=9)
    labels = CDSView(filter=BooleanFilter([False] * len(words)))
    style = {"text_font_size": "12px", "text_baseline": "middle", "x_offset": 6}
    plane.text("x", "y", "text", source=source, view=labels, name="labels", **style)
    plane.add_tools(HoverTool(renderers=[dots], tooltips=TOOLTIPS))
    plane.axis.axis_label = "t-SNE coordinate (no unit)"
    plane.toolbar.logo = None
    return plane


def _neighbours(words: Sequence[str], places: np.ndarray) -> list[str]:
    """The nearest points of each."""
    if not words:
        return []
    count = min(NEAR + 1, len(words))
    _, nearest = cKDTree(places).query(places, list(range(1, count + 1)))
    return [" · ".join(words[i] for i in row if i != number) for number, row in enumerate(nearest.tolist())]
