"""Markdown without the padding of its tables, which depends on all cells of a column."""

import re
from pathlib import Path

from neural_smt.io.files import read_lines


def unpadded(lines: Path | list[str]) -> list[str]:
    """Lines (of a file) with table rows as ``| a | b |``, and ``| --- | ---: |`` below their header."""
    return [
        _row(line) if line.startswith("|") else line
        for line in (read_lines(lines) if isinstance(lines, Path) else lines)
    ]


def _row(line: str) -> str:
    cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))]
    cells = [re.sub(r"^:?-+(:?)$", r"---\1", cell) for cell in cells]
    return "| " + " | ".join(cells) + " |"
