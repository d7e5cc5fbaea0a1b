"""What may explain that systems gain other than the paper's: training, data, vocabulary, tuning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from neural_smt.io.files import read_csv, read_object
from neural_smt.io.ragged import Ragged
from neural_smt.report.paper_order import PAPER, Step


def diagnose(
    *,
    networks: Path | None,
    perplexity: Path | None,
    unknown_rows: tuple[int, int],
    steps: Sequence[Step],
) -> list[str]:
    """Sentences from which a reader sees why an order may not hold: training, data, vocabulary, tuning.

    networks: the CSV of the table of networks; perplexity: what ``measure_cslm`` wrote; unknown_rows: rows of the
    phrase table whose target phrase holds a word outside the shortlist, and all rows.
    """
    items = []
    for row in read_csv(networks) if networks else []:
        items.append(
            f"{row['network']}: {float(row['epochs']):.2f} epochs of training ({int(row['examples']):,} examples, "
            f"{float(row['seconds']):,.0f} s), {int(row['parameters']):,} parameters, held-out perplexity "
            f"{float(row['perplexity']):.2f}."
            if row["perplexity"]
            else f"{row['network']}: {float(row['epochs']):.2f} epochs of training, nothing held out."
        )
    for text, measured in (read_object(perplexity) if perplexity else {}).items():
        items.append(_of_perplexity(text, measured))
    unknown, rows = unknown_rows
    items.append(
        f"{100 * unknown / max(rows, 1):.1f} % of the phrase table's {rows:,} rows have a target word outside the "
        "shortlist, whose probability all such words share."
    )
    return items + _of_gains(steps)


def _of_perplexity(text: str, measured: Mapping[str, Any]) -> str:
    return (
        f"Perplexity of {text}: {measured['ngram']:.1f} under the {measured['ngram_order']}-gram model, "
        f"{measured['cslm']:.1f} under the CSLM, {measured['mixture']:.1f} under half of each "
        "(what is gained over the first is what the CSLM can add)."
    )


def _of_gains(steps: Sequence[Step]) -> list[str]:
    """The gain of each step on the development set, which it was tuned on, beside those on the other sets."""
    gains = []
    for dev in (step for step in steps if step.first):
        others = [s for s in steps if not s.first and (s.before, s.after) == (dev.before, dev.after)]
        tested = ", ".join(f"{s.difference:+.2f} on {s.set_name}" for s in others)
        gains.append(
            f"{PAPER[dev.before][0]} → {PAPER[dev.after][0]}: {dev.difference:+.2f} on {dev.set_name}, "
            f"which weights are tuned on, {tested}."
        )
    return gains


def rows_with_unknown_words(values: np.ndarray, offsets: np.ndarray, unknown: np.ndarray) -> tuple[int, int]:
    """Phrases that hold an unknown word, and all.

    values, offsets: ids of all phrases one after the other, and where each begins (one more for the end); unknown: bool
    per id.
    """
    counts = Ragged(values, offsets).count(unknown)
    return int(np.count_nonzero(counts)), len(counts)
