"""A page on which people explore words and phrases in the plane: search, zoom, drag and hover, in one file."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from bokeh.embed import components
from bokeh.models import BooleanFilter, CDSView, ColumnDataSource, HoverTool, Plot, TabPanel, Tabs
from bokeh.plotting import figure
from bokeh.resources import Resources
from scipy.spatial import cKDTree

from neural_smt.analysis.plots import read_points
from neural_smt.io.plots import BLUE
from neural_smt.report.pages import to_html, write_page
from neural_smt.vocabulary import spelled

NEAR = 5
"""Neighbours that are named beside a point."""

UUID = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

TOOLTIPS = [("", "@text"), ("seen", "@count{0,0} times"), ("near", "@near")]


def show_map(*, words: Path, phrases: Path, output: Path, title: str = "", about: str = "") -> None:
    """Write a page (HTML, self-contained) to search, zoom and read the projected words and phrases; about: Markdown.

    Characters that the tokeniser wrote as entities are shown as themselves. Which labels fit is decided in the browser,
    most frequent points first.
    """
    layers = {"words": read_points(words), "phrases": read_points(phrases)}
    titles = {layer: f"{layer.capitalize()} {len(points):,}" for layer, points in layers.items()}
    panels = [TabPanel(child=_plane(layer, points), title=titles[layer]) for layer, points in layers.items()]
    script, element = components(Tabs(tabs=panels, name="layers", sizing_mode="stretch_both"))
    # Bokeh draws identifiers at random; the page is the same in every run
    for number, identifier in enumerate(dict.fromkeys(UUID.findall(element + script))):
        script, element = (text.replace(identifier, f"map-{number}") for text in (script, element))
    libraries = Resources(mode="inline", components=["bokeh"]).js_raw
    name = title or "Words and phrases as the encoder sees them"
    values = {"libraries": libraries, "script": script, "element": element}
    write_page(output, "map.html", title=name, about=to_html(about), **values)


def _plane(name: str, points: pd.DataFrame) -> Plot:
    """The points of a layer with their labels; the browser chooses which of these it shows."""
    words, places = spelled(points["text"]), points[["x", "y"]].to_numpy().round(3)
    shown: Any = points.assign(text=words, x=places[:, 0], y=places[:, 1], near=_neighbours(words, places))
    source = ColumnDataSource(shown.to_dict("list"), name=name)
    options: dict[str, Any] = {"tools": "pan,wheel_zoom,reset", "active_scroll": "wheel_zoom", "match_aspect": True}
    plane = figure(name=name, sizing_mode="stretch_both", **options)
    dots = plane.scatter("x", "y", source=source, size=5, color=BLUE, alpha=0.7, nonselection_alpha=0.25)
    dots.selection_glyph = dots.glyph.clone(fill_color="#b93a0b", line_color="#b93a0b", size=9)
    labels = CDSView(filter=BooleanFilter(booleans=[False] * len(words)))
    style: dict[str, Any] = {"text_font_size": "12px", "text_baseline": "middle", "x_offset": 6}
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
