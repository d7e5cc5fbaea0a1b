"""The page on which people explore the projected words and phrases: search, zoom, drag and hover, in one file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import unescape

import numpy as np
from bokeh.embed import components
from bokeh.models import BooleanFilter, CDSView, ColumnDataSource, HoverTool, Plot, TabPanel, Tabs
from bokeh.plotting import figure
from bokeh.resources import Resources
from scipy.spatial import cKDTree

from neural_smt.analysis.embedding import Point
from neural_smt.io.plots import BLUE
from neural_smt.report.pages import to_html
from neural_smt.report.rendering import render

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
