"""How every figure of the project looks, and how it is written."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from neural_smt.io.files import atomic

BLUE, RED, GREY = "#0b5394", "#b51f1f", "0.6"
COLOURS = ("#0b5394", "#cc5500", "#38761d", "#741b47", "#7f6000", "#45818e")


@contextmanager
def drawing(path: Path, width: float, height: float) -> Iterator[Figure]:
    """A figure (inches) that is written to ``path`` as PNG, atomically, when the block ends."""
    figure = Figure(figsize=(width, height), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    yield figure
    with atomic(path) as temporary:
        figure.savefig(temporary, format="png", metadata={"Software": None})


def clean(axes: Axes, grid: str = "both") -> None:
    """A light grid and no box."""
    axes.grid(alpha=0.3, axis=grid)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
