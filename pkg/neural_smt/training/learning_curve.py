"""Learning curves: one record per validation, as a table and as a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from neural_smt.io.files import atomic
from neural_smt.io.tables import formatted, write_frame

COST, PERPLEXITY = "#0b5394", "#b51f1f"


class Record(NamedTuple):
    """updates: so far; examples: phrase pairs or n-grams so far; seconds: of training so far; train_cost: nats per
    predicted word since the last record; validation_perplexity: e to the nats per predicted word of the held-out
    examples (None without any); words: predicted so far; epochs: how often each example has been seen. End symbols
    count.
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
    """Write the records as CSV, one column per field."""
    write_frame(path, formatted(pd.DataFrame(records, columns=list(Record._fields), dtype=object), FORMATS))


def plot_curve(path: Path, records: Sequence[Record], title: str) -> None:
    """Draw training cost and validation perplexity against updates, as PNG."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    updates = [record.updates for record in records]
    lines = axes.plot(updates, [r.train_cost for r in records], "o-", color=COST, markersize=4, label="training cost")
    axes.set_xlabel("updates (number)")
    axes.set_ylabel("training cost (nats per word)", color=COST)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.3)
    validated = [(r.updates, r.validation_perplexity) for r in records if r.validation_perplexity is not None]
    if validated:
        right = axes.twinx()
        lines += right.plot(
            *zip(*validated, strict=True), "s--", color=PERPLEXITY, markersize=4, label="held-out perplexity"
        )
        right.set_yscale("log")
        right.set_ylabel("held-out perplexity (per word, log scale)", color=PERPLEXITY)
        values = [value for _, value in validated]
        named = "125" if max(values) > 10 * min(values) else "123456789"
        right.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.4g}"))
        right.yaxis.set_minor_formatter(
            FuncFormatter(lambda value, _: f"{value:,.4g}" if f"{value:e}"[0] in named else "")
        )
    axes.legend(handles=lines, frameon=False, fontsize="small", loc="upper right")
    axes.set_title(title)
    with atomic(path) as temporary:
        figure.savefig(temporary, format="png", dpi=120)
