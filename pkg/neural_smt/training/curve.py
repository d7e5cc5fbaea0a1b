"""Learning curves: one record per validation, as a table and as a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure

from neural_smt.files import atomic, write_csv


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


def write_curve(path: Path, records: Sequence[Record]) -> None:
    """Write the records as CSV, one column per field."""
    rows = [
        (
            r.updates,
            r.examples,
            f"{r.seconds:.1f}",
            f"{r.train_cost:.6f}",
            _shown(r.validation_perplexity),
            r.words,
            f"{r.epochs:.4f}",
        )
        for r in records
    ]
    write_csv(path, Record._fields, rows)


def _shown(perplexity: float | None) -> str:
    return "" if perplexity is None else f"{perplexity:.4f}"


def plot_curve(path: Path, records: Sequence[Record], title: str) -> None:
    """Draw training cost and validation perplexity against updates, as PNG."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    updates = [record.updates for record in records]
    axes.plot(updates, [record.train_cost for record in records], color="tab:blue", marker=".")
    axes.set_xlabel("updates")
    axes.set_ylabel("training cost (nats per word)", color="tab:blue")
    validated = [(r.updates, r.validation_perplexity) for r in records if r.validation_perplexity is not None]
    if validated:
        right = axes.twinx()
        right.plot(*zip(*validated, strict=True), color="tab:red", marker=".")
        right.set_yscale("log")
        right.set_ylabel("validation perplexity", color="tab:red")
    axes.set_title(title)
    with atomic(path) as temporary:
        figure.savefig(temporary, format="png", dpi=120)
