"""The table of networks: their size, what their training saw and reached, and how fast they train and score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from neural_smt.errors import UserError
from neural_smt.io.files import read_csv, read_object, write_csv, write_lines
from neural_smt.networks.weights import count_parameters
from neural_smt.report.markdown import table_lines

COLUMNS = {
    "network": "Network",
    "parameters": "Parameters",
    "examples": "Examples seen",
    "epochs": "Epochs",
    "updates": "Updates",
    "perplexity": "Held-out perplexity",
    "seconds": "Training (s)",
    "tokens_per_second": "Trained tokens/s",
    "scored_per_second": "Scored/s",
    "normalisers_saved": "Normalisers saved",
    "states_saved": "States saved",
    "cache_hit_rate": "Cache hits",
}
"""The columns of the CSV, and what a reader sees above them."""

NOTES = (
    "Examples are phrase pairs (encoder-decoders) or n-grams (CSLM). Held-out perplexity is per target word, of the "
    "weights that were kept. Seconds of training include validation; tokens are predicted words, ends of phrases and "
    "sentences included.",
    "Scored: phrase pairs a second when the phrase table got its column, n-grams a second that went through the CSLM "
    "in the search (those of the cache not counted).",
    "Saved: the share that sharing of prefixes spares a scorer of phrase pairs, of the normalisers of the softmax and "
    "of the steps of encoder and decoder. Cache hits: share of the n-grams of the search whose score was known.",
)


def network_row(
    name: str,
    *,
    model: str,
    curve: str,
    keep: str,
    rescoring: str | None = None,
    searches: Sequence[str] = (),
) -> dict[str, str]:
    """The columns of one network.

    model: its folder; curve: its learning curve; keep: ``last`` or ``best``, the weights that were kept; rescoring:
    what ``score_phrase_table`` wrote of its column; searches: what ``decode`` wrote of searches with it.
    """
    records = read_curve(curve)
    last = records[-1]
    seconds = float(last["seconds"])
    row = dict.fromkeys(COLUMNS, "") | {
        "network": name,
        "parameters": str(count_parameters(Path(model))),
        "examples": last["examples"],
        "epochs": f"{float(last['epochs']):.2f}",
        "updates": last["updates"],
        "perplexity": kept_perplexity(records, keep),
        "seconds": f"{seconds:.1f}",
        "tokens_per_second": f"{int(last['words']) / max(seconds, 1e-9):.1f}",
    }
    if rescoring:
        row |= _of_rescoring(rescoring)
    if searches:
        row |= _of_searches(searches)
    return row


def read_curve(path: str) -> list[dict[str, str]]:
    """The records of a learning curve, one at least; ``UserError`` for a table that is none."""
    records = read_csv(Path(path))
    if not records or "words" not in records[0]:
        raise UserError(f"{path}: no learning curve with a column 'words'; train the network again")
    return records


def kept_perplexity(records: Sequence[Mapping[str, str]], keep: str) -> str:
    """The held-out perplexity of the weights that were kept; empty without any validation."""
    values = [record["validation_perplexity"] for record in records if record["validation_perplexity"]]
    if not values:
        return ""
    return min(values, key=float) if keep == "best" else values[-1]


def _of_rescoring(path: str) -> dict[str, str]:
    content = read_object(Path(path))
    return {
        "scored_per_second": f"{value_in(path, content, 'pairs_per_second'):.1f}",
        "normalisers_saved": _saved(value_in(path, content, "prefixes"), value_in(path, content, "words")),
        "states_saved": _saved(value_in(path, content, "states"), value_in(path, content, "steps")),
    }


def _saved(computed: float, needed: float) -> str:
    return f"{1 - computed / max(needed, 1):.4f}"


def _of_searches(paths: Sequence[str]) -> dict[str, str]:
    counts = [value_in(path, read_object(Path(path)), "cslm") for path in paths]
    # Where the search estimates, complete translations are scored exactly: counts of their own.
    counts += [count["exact"] for count in counts if "exact" in count]
    asked, found, seconds = (sum(count[key] for count in counts) for key in ("ngrams", "cache_hits", "seconds"))
    return {
        "scored_per_second": f"{(asked - found) / max(seconds, 1e-9):.1f}",
        "cache_hit_rate": f"{found / max(asked, 1):.4f}",
    }


def value_in(path: str, content: Any, key: str) -> Any:
    """What a mapping read from a file has under a key; ``UserError`` names file and key where there is none."""
    if key not in content:
        raise UserError(f"{path}: no '{key}' among {', '.join(content)}; run the step that makes it again")
    return content[key]


def write_networks(csv_output: Path, markdown_output: Path, rows: Sequence[Mapping[str, str]], title: str) -> None:
    """Write the rows as CSV and as Markdown."""
    write_csv(csv_output, list(COLUMNS), [[row[column] for column in COLUMNS] for row in rows])
    shown = [[_shown(column, row[column]) for column in COLUMNS] for row in rows]
    lines = [f"# {title}", ""] if title else []
    lines += table_lines(list(COLUMNS.values()), shown)
    for note in NOTES:
        lines += ["", note]
    write_lines(markdown_output, lines)


def _shown(column: str, text: str) -> str:
    """A number as a reader wants it: thousands apart, shares in percent."""
    if not text or column == "network":
        return text
    if column in ("normalisers_saved", "states_saved", "cache_hit_rate"):
        return f"{100 * float(text):.1f} %"
    return f"{float(text):.2f}" if column in ("epochs", "perplexity") else f"{float(text):,.0f}"
