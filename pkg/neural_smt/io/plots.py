"""How every figure of the project looks, and how it is written."""

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from neural_smt.io.files import atomic

BLUE, RED, GREY = "#0b5394", "#b51f1f", "0.6"
SVG = "http://www.w3.org/2000/svg"
COLOURS = ("#0b5394", "#cc5500", "#38761d", "#741b47", "#7f6000", "#45818e")


@contextmanager
def drawing(path: Path, width: float, height: float) -> Iterator[Figure]:
    """A figure (inches) that is written to ``path`` as PNG, atomically, when the block ends."""
    figure = Figure(figsize=(width, height), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    yield figure
    with atomic(path) as temporary:
        figure.savefig(temporary, format="png", metadata={"Software": None})


def clean(axes: Axes, grid: Literal["both", "x", "y"] = "both") -> None:
    """A light grid and no box."""
    axes.grid(alpha=0.3, axis=grid)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def svg(figure: Figure, titles: Mapping[str, str]) -> str:
    """A figure as an SVG element with text as text, the same for the same figure.

    titles: gid of an artist -> what a reader sees who points at it.
    """
    stream = io.BytesIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "neural_smt"}):
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    for prefix, space in (("", SVG), ("xlink", "http://www.w3.org/1999/xlink")):
        ElementTree.register_namespace(prefix, space)
    root = ElementTree.fromstring(stream.getvalue())
    for group in root.iter(f"{{{SVG}}}g"):
        if group.get("id") in titles:
            title = ElementTree.Element(f"{{{SVG}}}title")
            title.text = titles[group.attrib["id"]]
            group.insert(0, title)
    return ElementTree.tostring(root, encoding="unicode")
