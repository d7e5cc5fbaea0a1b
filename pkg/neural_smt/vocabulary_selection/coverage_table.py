"""Tables 1 and 2 of Mi et al. (2016) as CSV and Markdown, with the paper's figures below ours."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from neural_smt.io.files import write_csv, write_lines
from neural_smt.vocabulary_selection.coverage import TRAINING, Coverage

COLUMNS = (
    *("text", "parts", "top", "reference_words", "known", "covered", "coverage"),
    *("sentences", "complete_sentences", "sentence_size", "batch_size"),
)

PAPER = {
    "paper, train": (("73.6", "82.1", "87.8", "93.5", "86.6", "89.4", "93.7", "92.7", "94.2", "96.2"), "2080", "6153"),
    "paper, dev": (("73.5", "80.0", "85.5", "91.0", "86.6", "88.4", "91.7", "91.7", "92.7", "94.3"), "2067", ""),
}
"""Coverage in %, columns as ``PAPER_TOPS``, then sizes of a sentence and of a batch; 12 million pairs, |V_y| = 500k."""

PAPER_TOPS = [
    ("V^P", None),
    *((name, top) for name in ("V^D", "V^P + V^D", "V^P + V^D + V^T") for top in (10, 20, 50)),
]


class Row(NamedTuple):
    """Coverage of one text by one combination of parts."""

    text: str
    parts: str
    top: int | None
    coverage: Coverage


def share(part: int, whole: int) -> float:
    """part / whole, 0 for nothing of nothing."""
    return part / whole if whole else 0.0


def write_coverage(csv_output: Path, markdown_output: Path, rows: Sequence[Row], top: int, batch: int) -> None:
    """Write both files; top: n of V^D of the sets whose sizes are shown; batch: sentences of a batch."""
    write_csv(csv_output, COLUMNS, [_cells(row) for row in rows])
    lines = ["# Target vocabularies of sentences", "", *_coverage_lines(rows), "", *_size_lines(rows, top, batch)]
    write_lines(markdown_output, lines)


def _cells(row: Row) -> list[str | int]:
    c = row.coverage
    held = c.words, c.known, c.covered, f"{share(c.covered, c.words):.6f}"
    sizes = f"{c.sentence_size:.2f}", f"{c.batch_size:.2f}"
    return [row.text, row.parts, row.top or "", *held, c.sentences, c.complete, *sizes]


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    rule = ["---"] + ["---:"] * (len(header) - 1)
    return ["| " + " | ".join(cells) + " |" for cells in (header, rule, *rows)]


def _coverage_lines(rows: Sequence[Row]) -> list[str]:
    """Table 1: a row a text, a column a combination."""
    found = {(row.text, row.parts, row.top): row.coverage for row in rows if row.parts != TRAINING}
    columns = list(dict.fromkeys((parts, top) for _, parts, top in found))
    header = ["", "known", *(parts if top is None else f"{parts} ({top})" for parts, top in columns)]
    table = []
    for text in dict.fromkeys(row.text for row in rows):
        cells = [found.get((text, *column)) for column in columns]
        known = next(f"{100 * share(row.coverage.known, row.coverage.words):.1f}" for row in rows if row.text == text)
        table.append([text, known, *("" if c is None else f"{100 * share(c.covered, c.words):.1f}" for c in cells)])
    for name, (figures, _, _) in PAPER.items():
        paper = dict(zip(PAPER_TOPS, figures, strict=True))
        table.append([name, "", *(paper.get(column, "") for column in columns)])
    what = "Running words of the reference (%) that the network knows, and that the sets hold by the top n of V^D:"
    return [what, "", *_table(header, table)]


def _size_lines(rows: Sequence[Row], top: int, batch: int) -> list[str]:
    """Table 2: sizes with V^D of the top n, and with V^R where a network trains on the text."""
    header = ["", "sentence", f"batch of {batch}", "complete references (%)"]
    table = []
    for row in rows:
        c = row.coverage
        if row.parts in ("V^P + V^D + V^T", TRAINING) and row.top == top:
            sizes = f"{c.sentence_size:.0f}", f"{c.batch_size:.0f}"
            table.append([f"{row.text}, {row.parts}", *sizes, f"{100 * share(c.complete, c.sentences):.1f}"])
    table += [[name, sentence, size, ""] for name, (_, sentence, size) in PAPER.items()]
    return [f"Mean size of the sets with the top {top} of V^D, UNK and EOS counted:", "", *_table(header, table)]
