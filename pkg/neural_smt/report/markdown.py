"""Tables in Markdown."""

from collections.abc import Sequence


def table_lines(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Lines of a table whose first ``left`` columns are aligned left and the others right."""
    rule = ["---"] * left + ["---:"] * (len(header) - left)
    return [row_line(cells) for cells in (header, rule, *rows)]


def row_line(cells: Sequence[str]) -> str:
    """One row; what Markdown would take for marks is escaped."""
    return "| " + " | ".join(text.strip().replace("|", "\\|").replace("*", "\\*") for text in cells) + " |"


def remark_lines(remarks: str) -> list[str]:
    """Remarks (Markdown) as the last section of a page; no lines where there are none."""
    return ["## Remarks", "", *remarks.strip().splitlines()] if remarks.strip() else []
