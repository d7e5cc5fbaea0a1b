"""Figure 2 of Mi et al. (2016): BLEU on the development set after every epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.ticker import MaxNLocator

from neural_smt.report.attention_results import Epoch
from neural_smt.report.markdown import table_lines
from neural_smt.report.mi2016 import BEST_BLEU, BEST_EPOCH, CURVE, FIXED
from neural_smt.report.numbers import number_text
from neural_smt.report.plots import BLUE, GREY, RED, clean, drawing

STYLES: dict[str, dict[str, Any]] = {
    CURVE: {"color": RED, "linestyle": "-", "zorder": 3},
    FIXED: {"color": BLUE, "linestyle": "--", "zorder": 3},
}
"""The paper's two lines; those of other networks are grey."""

MARKERS = "osD^vPX"


def best_epoch(epochs: Sequence[Epoch]) -> Epoch:
    """The epoch of the highest BLEU, the first of several."""
    return max(epochs, key=lambda record: record.bleu)


def draw_epochs(path: Path, epochs: Mapping[str, Sequence[Epoch]], dev: str) -> None:
    """Draw BLEU (tokens) against epochs as PNG, a line per network; empty axes say that nothing was measured."""
    with drawing(path, 5.6, 4.0) as figure:
        axes = figure.subplots()
        others = [name for name in epochs if name not in STYLES]
        for name, records in epochs.items():
            style = STYLES.get(name) or {"color": GREY, "marker": MARKERS[others.index(name) % len(MARKERS)]}
            values = [record.bleu for record in records]
            axes.plot(
                [record.epoch for record in records], values, **{"marker": "o", "markersize": 4, "label": name} | style
            )
        axes.set(xlabel="epoch", ylabel=f"BLEU (tokens), {dev}")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        if epochs:
            axes.legend(frameon=False, fontsize="small", loc="lower right")
        else:
            axes.text(0.5, 0.5, "no epoch was measured", ha="center", va="center", transform=axes.transAxes)
        clean(axes)


def curve_lines(epochs: Mapping[str, Sequence[Epoch]], dev: str) -> list[str]:
    """What the figure shows, as Markdown: the best epoch of every network beside the paper's."""
    if not epochs:
        return []
    header = ["Network", "Paper: best epoch", "BLEU", f"Here: best epoch, {dev}", "BLEU", "perplexity", "epochs"]
    rows = []
    for name, records in epochs.items():
        best = best_epoch(records)
        paper = [str(BEST_EPOCH), f"{BEST_BLEU:.2f}"] if name == CURVE else ["", ""]
        perplexity = number_text(best.perplexity, 2)
        rows.append([name, *paper, str(best.epoch), f"{best.bleu:.2f}", perplexity, str(records[-1].epoch)])
    notes = [
        "BLEU of tokens. The paper's 30.72 is that of its Table 4 with unknown words replaced, here they never are. "
        "Perplexity is the held-out one after that epoch, where it was measured."
    ]
    if CURVE in epochs and FIXED in epochs:
        difference = best_epoch(epochs[FIXED]).bleu - best_epoch(epochs[CURVE]).bleu
        notes.append(
            f"With embeddings that stay fixed the best BLEU is {difference:+.2f} against learned ones (paper, fixed "
            "from epoch 5: no significant difference)."
        )
    return ["## Figure 2: learning curves", "", *table_lines(header, rows), "", " ".join(notes), ""]
