"""The report's figures of BLEU: systems beside each other, and tuning over its iterations."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from neural_smt.io.files import atomic, read_csv
from neural_smt.report.scores import Cell, mean, spread

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


def draw_scores(path: Path, cells: Mapping[str, Mapping[str, Cell]], title: str) -> None:
    """sacreBLEU of every system, one panel per set: a dot per run, a bar at the mean, a line for its spread."""
    systems = list(cells)
    sets = list(cells[systems[0]])
    with drawing(path, 1.6 + 3.4 * len(sets), 1.3 + 0.5 * len(systems)) as figure:
        panels = figure.subplots(1, len(sets), sharey=True, squeeze=False)[0]
        for axes, name in zip(panels, sets, strict=True):
            for row, system in enumerate(systems):
                _draw_cell(axes, row, cells[system][name])
            axes.set(title=name, xlabel="sacreBLEU (of 100)")
            axes.set_yticks(range(len(systems)), systems)
            axes.set_ylim(len(systems) - 0.5, -0.5)
            axes.margins(x=0.15)
            clean(axes)
        if title:
            figure.suptitle(title)


def _draw_cell(axes: Axes, row: int, cell: Cell) -> None:
    middle, deviation = mean(cell.sacrebleu), spread(cell.sacrebleu)
    if deviation is not None:
        axes.plot([middle - deviation, middle + deviation], [row, row], color=BLUE, linewidth=1.5)
    axes.plot(cell.sacrebleu, [row] * len(cell.sacrebleu), "o", color=GREY, markersize=5)
    axes.plot([middle], [row], "|", color=BLUE, markersize=16, markeredgewidth=2.5)
    axes.annotate(
        f"{middle:.2f}", (middle, row), xytext=(0, 10), textcoords="offset points", ha="center", color=BLUE, fontsize=8
    )


def draw_histories(path: Path, histories: Mapping[str, Sequence[str]], title: str) -> None:
    """Development BLEU of the decoder against tuning iterations: a panel per system, a line per run."""
    columns = min(3, len(histories))
    rows = -(-len(histories) // columns)
    with drawing(path, 1.0 + 3.4 * columns, 0.6 + 2.8 * rows) as figure:
        panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flat
        for (system, files), axes in zip(histories.items(), panels, strict=False):  # takes no panel too many
            for number, file in enumerate(files):
                table = read_csv(Path(file))
                values = [float(row["decoder_bleu"]) for row in table]
                colour = COLOURS[number % len(COLOURS)]
                axes.plot(
                    range(1, len(values) + 1), values, "o-", color=colour, markersize=4, label=f"run {number + 1}"
                )
            axes.set(title=system)
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            axes.legend(frameon=False, fontsize="small", loc="lower right")
            clean(axes)
        for axes in list(panels):
            axes.set_visible(False)
        figure.supxlabel("iteration (number)", fontsize="medium")
        figure.supylabel("development BLEU (of 100; tokens, 1-best)", fontsize="medium")
        if title:
            figure.suptitle(title)
