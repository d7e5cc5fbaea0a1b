"""The picture of a selection: dev perplexity against the share of the pool that is kept."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from neural_smt.io.files import atomic
from neural_smt.selection.curve import Curve, Point

_SELECTED, _RANDOM = "#0b5394", "#999999"


def plot_curve(curve: Curve | None, title: str, path: Path) -> None:
    """Draw the curve as PNG; without one, say that selection is off."""
    figure = Figure(figsize=(6.4, 4.0), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    if curve is None:
        axes.text(0.5, 0.5, "selection is off: the whole pool is kept", ha="center", va="center")
        axes.set_axis_off()
    else:
        _draw(axes, curve, title)
    with atomic(path) as temporary:
        figure.savefig(temporary, format="png", metadata={"Software": None})


def _draw(axes: Axes, curve: Curve, title: str) -> None:
    if curve.random:
        x, y = _coordinates(curve.random)
        axes.plot(x, y, color=_RANDOM, marker="o", markersize=3, label="random, as many words")
    x, y = _coordinates(curve.selected)
    axes.plot(x, y, color=_SELECTED, marker="o", markersize=3, label="selected")
    best = curve.selected[curve.chosen]
    axes.plot(
        [100 * best.fraction],
        [best.perplexity],
        color=_SELECTED,
        marker="*",
        markersize=14,
        linestyle="none",
        label=f"kept: {100 * best.fraction:.3g} %, perplexity {best.perplexity:.1f}",
    )
    axes.set_xscale("log")
    axes.set_xticks([t for t in (1, 2, 5, 10, 20, 50, 100) if min(x) <= t <= max(x)])
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set(xlabel="share of the pool kept (%, log scale)", ylabel="dev perplexity", title=title)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)


def _coordinates(points: dict[float, Point]) -> tuple[list[float], list[float]]:
    ordered = [points[fraction] for fraction in sorted(points)]
    return [100 * point.fraction for point in ordered], [point.perplexity for point in ordered]
