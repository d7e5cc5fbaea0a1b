"""The table of word classes: what each way of making them has the softmax compute, and what it does to perplexity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from neural_smt.io.files import read_object, write_csv, write_lines
from neural_smt.report.markdown import table_lines
from neural_smt.report.networks_table import read_curve, value_in

COLUMNS = {
    "network": "Model",
    "method": "Classes by",
    "speed": "speed",
    "classes": "Classes",
    "cost": "Outputs a word",
    "epochs": "Epochs",
    "seconds": "Training (s)",
    "words_per_second": "Trained words/s",
}
"""The columns of the CSV, and what a reader sees above them; after them ``<set>:perplexity`` and ``<set>:cost`` of each
set, of which the perplexities are shown. speed: of exchange alone.
"""

NOTES = (
    "Outputs a word: how many the softmax over classes and then over the words of a class is expected to compute, "
    "C + Σ P(c) |c|, on the training text. Perplexity is per prediction, ends of sentences included.",
    "Classes by: frequency, the RNNLM toolkit's rule; optimal, the partition with the fewest outputs of all, by "
    "dynamic programming; exchange, from the optimal classes and with as many of them, the likelihood of a class "
    "bigram model less `speed` nats for every output within the class of a word.",
    "Auli et al. (2013, section 4.1) clustered words for likelihood with a term for the runtime, after Zweig and "
    "Makarychev (2013), whose abstract says that the fastest classes cost 5 to 10 % of perplexity, and that such a "
    "term saves the loss at nearly their speed. Neither the term nor its weight is known; those here are our own.",
)


def class_row(
    name: str, sets: Sequence[str], *, classes: Mapping[str, Any], curve: str, held_out: str, perplexity: str
) -> dict[str, str]:
    """The columns of one model.

    sets: whose perplexity is shown, in this order; classes: the model's settings of them; curve: its learning curve;
    held_out: what ``train_recurrent`` wrote of it; perplexity: what ``measure_recurrent`` wrote. ``UserError`` names a
    file that lacks a number.
    """
    last = read_curve(curve)[-1]
    made = value_in(held_out, read_object(Path(held_out)), "classes")
    seconds = float(last["seconds"])
    row = {
        "network": name,
        "method": value_in(held_out, made, "method"),
        "speed": f"{classes['speed']:g}" if classes["method"] == "exchange" else "",
        "classes": str(value_in(held_out, made, "count")),
        "cost": f"{value_in(held_out, made, 'cost'):.4f}",
        "epochs": f"{float(last['epochs']):.2f}",
        "seconds": last["seconds"],
        "words_per_second": f"{int(last['words']) / max(seconds, 1e-9):.1f}",
    }
    # texts are called by their set and a language
    measured = {Path(text).stem: figures for text, figures in read_object(Path(perplexity)).items()}
    for place in sets:
        figures = value_in(perplexity, measured, place)
        row[f"{place}:perplexity"] = f"{value_in(perplexity, figures, 'network'):.4f}"
        row[f"{place}:cost"] = f"{value_in(perplexity, figures, 'cost'):.4f}"
    return row


def write_classes(
    csv_output: Path, markdown_output: Path, rows: Sequence[Mapping[str, str]], sets: Sequence[str], title: str
) -> None:
    """Write the rows as CSV and as Markdown; sets: as ``class_row`` was given them."""
    write_csv(csv_output, list(rows[0]), [list(row.values()) for row in rows])
    perplexities = {f"{name}:perplexity": f"PPL of {name}" for name in sets}
    order = ["network", "method", "speed", "classes", "cost", *perplexities, "epochs", "seconds", "words_per_second"]
    lines = [f"# {title}", ""] if title else []
    lines += table_lines(
        [(COLUMNS | perplexities)[column] for column in order],
        [[_shown(column, row[column]) for column in order] for row in rows],
        left=2,
    )
    for note in (compared(rows, sets[-1]), *NOTES):
        lines += ["", note]
    write_lines(markdown_output, lines)


def compared(rows: Sequence[Mapping[str, str]], name: str) -> str:
    """What the classes with the fewest outputs cost of the perplexity of a set."""
    fastest = min(rows, key=lambda row: float(row["cost"]))
    best = min(rows, key=lambda row: float(row[f"{name}:perplexity"]))
    start = f"{fastest['network']} computes the fewest outputs ({float(fastest['cost']):.1f} a word)"
    if fastest is best:
        return f"{start} and has the lowest perplexity of {name}."
    loss = 100 * (float(fastest[f"{name}:perplexity"]) / float(best[f"{name}:perplexity"]) - 1)
    return (
        f"{start}, at a perplexity of {name} that is {loss:.1f} % above the lowest, that of {best['network']} "
        f"({float(best['cost']):.1f} outputs a word)."
    )


def _shown(column: str, text: str) -> str:
    if column in ("network", "method", "speed", "classes"):
        return text
    if column in ("seconds", "words_per_second"):
        return f"{float(text):,.0f}"
    return f"{float(text):.1f}" if column in ("cost", "epochs") else f"{float(text):.2f}"
