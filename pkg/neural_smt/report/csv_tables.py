"""CSV tables of other stages as a reader wants them: columns named in words with their units, numbers short."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from pathlib import Path

from neural_smt.errors import UserError
from neural_smt.io.files import read_csv
from neural_smt.report.markdown_html import table

LONG = 25
"""Tables with more rows are folded."""


def _count(text: str) -> str:
    return f"{float(text):,.0f}"


def _percent(text: str) -> str:
    return f"{100 * float(text):.1f}"


def _with_digits(digits: int) -> Callable[[str], str]:
    return lambda text: f"{float(text):,.{digits}f}"


COLUMNS: dict[str, tuple[str, Callable[[str], str]]] = {
    "pairs": ("Lines", _count),
    "kept": ("Kept (lines)", _count),
    "empty": ("Dropped: empty (lines)", _count),
    "too_long": ("Dropped: too long (lines)", _count),
    "ratio": ("Dropped: lengths too unlike (lines)", _count),
    "running_words": ("Running words", _count),
    "covered": ("Of these in the shortlist", _count),
    "fraction": ("Share (%)", _percent),
    "precision": ("Precision (%)", _percent),
    "recall": ("Recall (%)", _percent),
    "aer": ("Error rate AER (%)", _percent),
    "links": ("Links", _count),
    "kept_fraction": ("Share of the pool (%)", _percent),
    "sentences": ("Sentences", _count),
    "words": ("Words", _count),
    "dev_perplexity": ("Perplexity of the development set", _with_digits(1)),
    "chosen": ("Kept", lambda text: "yes" if text == "1" else ""),
    "updates": ("Updates", _count),
    "examples": ("Examples", _count),
    "seconds": ("Wall time (s)", _with_digits(1)),
    "train_cost": ("Training cost (nats per word)", _with_digits(3)),
    "validation_perplexity": ("Held-out perplexity", _with_digits(2)),
    "epochs": ("Epochs", _with_digits(2)),
    "jobs": ("Jobs", _count),
    "processor_seconds": ("Processor time (s)", _with_digits(1)),
    "peak_memory_mb": ("Peak memory of one job (MB)", _count),
    "fitted_seconds": ("Fitted line (processor s)", _with_digits(1)),
}
"""Column -> its heading with the unit, and how a number of it is written; columns that are not here hold text."""

NAMES = {"pairs": "Sentence pairs", "words": "Predicted words"}
"""Headings of columns that mean something else in tables of costs and of training."""


def table_html(path: Path) -> str:
    """HTML of a CSV table; ``UserError`` names the file and the column that holds no number where there must be one."""
    rows = read_csv(path)
    if not rows:
        return "<p>This table has no rows.</p>"
    names = list(rows[0])
    other = NAMES if {"fitted_seconds", "updates"} & set(names) else {}
    headings = [other.get(name) or COLUMNS.get(name, (name.replace("_", " ").capitalize(),))[0] for name in names]
    shown = [[_cell(name, row[name], path) for name in names] for row in rows]
    sides = [":" if name in COLUMNS and name != "chosen" else "-" for name in names]
    found = table([escape(heading) for heading in headings], shown, sides)
    if len(rows) <= LONG:
        return found
    return f"<details><summary>The numbers ({len(rows):,} rows)</summary>\n{found}\n</details>"


def _cell(name: str, text: str, path: Path) -> str:
    if name not in COLUMNS or not text:
        return escape(_plain(name, text))
    try:
        return escape(COLUMNS[name][1](text))
    except ValueError:
        raise UserError(f"{path}: the column {name} holds {text!r}, which is no number; make the table again") from None


def _plain(name: str, text: str) -> str:
    return text.replace("_", " ") if name in ("stage", "rule", "method") else text
