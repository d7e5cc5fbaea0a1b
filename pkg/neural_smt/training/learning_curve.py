"""Learning curves: one record per validation, as a table and as a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from matplotlib.ticker import FuncFormatter, MaxNLocator

from neural_smt.io.plots import BLUE, RED, clean, drawing
from neural_smt.io.tables import formatted, write_frame


class Record(NamedTuple):
    """updates: so far; examples: phrase pairs or n-grams so far; seconds: of training so far; train_cost: nats per
    predicted word since the last record; validation_perplexity: e to the nats per predicted word of the held-out
    examples (None without any, NaN where the network gives no number); words: predicted so far; epochs: how often each
    example has been seen. End symbols count.
    """

    updates: int
    examples: int
    seconds: float
    train_cost: float
    validation_perplexity: float | None
    words: int = 0
    epochs: float = 0.0


FORMATS = {"seconds": ".1f", "train_cost": ".6f", "validation_perplexity": ".4f", "epochs": ".4f"}
"""Of the columns of the table that are no whole numbers."""


def write_curve(path: Path, records: Sequence[Record]) -> None:
    """Write the records as CSV, one column per field: NaN as ``nan``, and nothing for what was not measured."""
    rows = [["nan" if value != value else value for value in record] for record in records]
    write_frame(path, formatted(pd.DataFrame(rows, columns=list(Record._fields), dtype=object), FORMATS))


def plot_curve(path: Path, records: Sequence[Record], title: str) -> None:
    """Draw training cost and validation perplexity against updates, as PNG."""
    with drawing(path, 7.0, 4.0) as figure:
        axes = figure.subplots()
        updates, costs = [record.updates for record in records], [record.train_cost for record in records]
        lines = axes.plot(updates, costs, "o-", color=BLUE, markersize=4, label="training cost")
        axes.set(xlabel="updates (number)", title=title)
        axes.set_ylabel("training cost (nats per word)", color=BLUE)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        clean(axes)
        validated = [(r.updates, r.validation_perplexity) for r in records if r.validation_perplexity is not None]
        if validated:
            right = axes.twinx()
            places, values = zip(*validated, strict=True)
            lines += right.plot(places, values, "s--", color=RED, markersize=4, label="held-out perplexity")
            right.spines["top"].set_visible(False)
            right.set_yscale("log")
            right.set_ylabel("held-out perplexity (per word, log scale)", color=RED)
            named = "125" if max(values) > 10 * min(values) else "123456789"
            right.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.4g}"))
            right.yaxis.set_minor_formatter(
                FuncFormatter(lambda value, _: f"{value:,.4g}" if f"{value:e}"[0] in named else "")
            )
        axes.legend(handles=lines, frameon=False, fontsize="small", loc="upper right")
