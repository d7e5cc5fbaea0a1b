"""The table of what systems are built from: selected pairs beside all of the pool and a random draw of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from neural_smt.errors import UserError
from neural_smt.io.files import open_text, read_object

HEADINGS = {
    "data": "Data",
    "pairs": "Pairs",
    "target_words": "Target words",
    "unknown": "Unknown dev words",
    "perplexity": "Dev perplexity",
    "phrase_pairs": "Phrase pairs",
}
"""Columns of the CSV between a system's name and its scores, and what a reader sees above them."""

NOTES = (
    "Pairs include the in-domain ones, which are always kept; random pairs are as many as selection keeps.",
    "Dev perplexity: of the n-gram model built from the data, on the target side, ends of sentences included; a word "
    "that it does not know counts as one of the whole vocabulary, so rows can be compared.",
)


def read_facts(data: str, text: Path, perplexity: Path, phrase_table: Path) -> dict[str, str]:
    """The columns of ``HEADINGS`` for one choice of data.

    text: target side of its training pairs; perplexity: what ``measure_language_model`` wrote of its language model;
    phrase_table: folder of its phrase table. ``UserError`` names a file that lacks a number.
    """
    pairs, words = count_words(text)
    measured, table = Path(perplexity), Path(phrase_table) / "meta.json"
    return {
        "data": data,
        "pairs": str(pairs),
        "target_words": str(words),
        "unknown": str(_number(measured, "unknown")),
        "perplexity": f"{_number(measured, 'comparable_perplexity'):.4f}",
        "phrase_pairs": str(_number(table, "rows")),
    }


def count_words(text: Path) -> tuple[int, int]:
    """Lines and words of a tokenised text."""
    try:
        with open_text(text) as stream:
            lengths = [len(line.split()) for line in stream]
    except FileNotFoundError:
        raise UserError(f"{text}: no such file; run the selection stage again") from None
    return len(lengths), sum(lengths)


def shown_columns(rows: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
    """Heading -> the column of all rows as a reader wants it: thousands apart, perplexity with one decimal."""
    return {heading: [_shown(column, row[column]) for row in rows] for column, heading in HEADINGS.items()}


def _shown(column: str, text: str) -> str:
    if column == "data":
        return text
    return f"{float(text):,.1f}" if column == "perplexity" else f"{int(text):,}"


def _number(path: Path, key: str) -> float:
    content = read_object(path)
    if key not in content:
        raise UserError(f"{path}: no '{key}' among {', '.join(content)}; run the stage that makes it again")
    return content[key]
