"""The table of systems, as CSV for machines, Markdown for pages and aligned text for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from neural_smt.errors import UserError
from neural_smt.io.files import read_csv, write_csv, write_lines
from neural_smt.report.numbers import p_value_text
from neural_smt.report.scores import Cell, mean, spread

COLUMNS = ("sacrebleu", "sacrebleu_std", "tokenised", "tokenised_std", "p_value")
"""What the CSV holds for each set, as ``<set>:<column>``."""

LEVELS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
"""Marks of p-values below each level."""


def write_scores(
    path: Path, cells: dict[str, dict[str, Cell]], facts: Mapping[str, Mapping[str, str]] | None = None
) -> None:
    """Write the CSV: one row per system; numbers of runs, five columns per set, and the sacreBLEU signature.

    facts: system -> further columns, the same ones for each, that stand after its name.
    """
    sets = list(next(iter(cells.values())))
    facts = facts or {system: {} for system in cells}
    header = [
        "system",
        *next(iter(facts.values())),
        "runs",
        *(f"{name}:{column}" for name in sets for column in COLUMNS),
        "signature",
    ]
    rows = []
    for system, row in cells.items():
        values = [text for name in sets for text in _csv_values(row[name])]
        first = row[sets[0]]
        rows.append([system, *facts[system].values(), len(first.sacrebleu), *values, first.signature])
    write_csv(path, header, rows)


def _csv_values(cell: Cell) -> list[str]:
    numbers = [
        mean(cell.sacrebleu),
        spread(cell.sacrebleu),
        mean(cell.tokenised),
        spread(cell.tokenised),
    ]
    texts = ["" if number is None else f"{number:.4f}" for number in numbers]
    return [*texts, "" if cell.p_value is None else f"{cell.p_value:.6f}"]


def layout(table: Path) -> tuple[list[str], list[list[str]]]:
    """The sets of a CSV table, and its rows as a reader wants them: system, then three texts per set.

    The three are sacreBLEU with its spread, tokenised BLEU with its spread, and p with its mark.
    """
    rows = read_csv(table)
    if not rows or "system" not in rows[0]:
        raise UserError(f"{table}: not a table of systems; run the report stage again")
    sets = [key.removesuffix(":sacrebleu") for key in rows[0] if key.endswith(":sacrebleu")]
    shown = []
    for row in rows:
        texts = [row["system"]]
        for name in sets:
            for column in ("sacrebleu", "tokenised"):
                texts.append(_with_spread(row[f"{name}:{column}"], row[f"{name}:{column}_std"]))
            texts.append(_with_mark(row[f"{name}:p_value"]))
        shown.append(texts)
    return sets, shown


def notes(table: Path) -> list[str]:
    """What a reader must know to read the numbers."""
    first = read_csv(table)[0]
    runs = int(first["runs"])
    over = f"mean ± standard deviation over {runs} tuning runs" if runs > 1 else "one tuning run"
    marks = ", ".join(f"{mark} p < {level:g}" for level, mark in reversed(LEVELS))
    return [
        f"BLEU: sacreBLEU on detokenised text ({first['signature']}) and BLEU on tokens; {over}.",
        f"p: paired test against the baseline; {marks}.",
    ]


def write_markdown(
    path: Path,
    table: Path,
    title: str,
    facts: Mapping[str, Sequence[str]] | None = None,
    remarks: Sequence[str] = (),
) -> None:
    """Turn a CSV table into Markdown.

    facts: heading -> texts of a further column, a text per row, after the system's name; remarks: sentences below the
    table, before those on its scores.
    """
    sets, rows = layout(table)
    further = facts or {}
    columns = [*further, *(text for name in sets for text in (f"{name}: sacreBLEU", "tokens", "p"))]
    rows = [[row[0], *(texts[i] for texts in further.values()), *row[1:]] for i, row in enumerate(rows)]
    lines = [f"# {title}", ""] if title else []
    lines += [_markdown(cells) for cells in (["System", *columns], ["---", *["---:"] * len(columns)], *rows)]
    for note in [*remarks, *notes(table)]:
        lines += ["", note.replace("*", "\\*")]
    write_lines(path, lines)


def terminal(table: Path) -> str:
    """Turn a CSV table into aligned columns."""
    sets, rows = layout(table)
    titles = ["System", *(text for _ in sets for text in ("sacreBLEU", "tokens", "p    "))]
    widths = [max(len(row[i]) for row in (titles, *rows)) for i in range(len(titles))]
    blocks = []
    for number, name in enumerate(sets):
        inner = widths[1 + 3 * number : 4 + 3 * number]
        # a set's name may be longer than its three columns: the last one makes room
        widths[3 + 3 * number] += max(0, len(name) - (sum(inner) + 4))
        blocks.append(name.center(sum(widths[1 + 3 * number : 4 + 3 * number]) + 4))
    head = "  ".join([" " * widths[0], *blocks]).rstrip()
    line = "-" * (sum(widths) + 2 * (len(widths) - 1))
    return "\n".join(
        [head, _aligned(titles, widths), line, *(_aligned(row, widths) for row in rows), "", *notes(table)]
    )


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (
        text.ljust(width) if i == 0 else text.rjust(width)
        for i, (text, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join([first, *others]).rstrip()


def _markdown(cells: Sequence[str]) -> str:
    return "| " + " | ".join(text.strip().replace("|", "\\|").replace("*", "\\*") for text in cells) + " |"


def _with_spread(value: str, deviation: str) -> str:
    return f"{float(value):.2f}" + (f" ± {float(deviation):.2f}" if deviation else "")


def _with_mark(p_value: str) -> str:
    """``0.012 *``; marks are padded so that the numbers stay aligned."""
    if not p_value:
        return ""
    mark = next((mark for level, mark in LEVELS if float(p_value) < level), "")
    return f"{p_value_text(float(p_value))} {mark:<3}"
