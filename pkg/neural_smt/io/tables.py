"""Tables as DataFrames: read from CSV, written as CSV for programs and as Markdown for readers."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from neural_smt.errors import UserError
from neural_smt.io.files import MAKE_AGAIN, atomic, read_csv


class Column(NamedTuple):
    """heading: what a reader sees above a column; csv, shown: format of its numbers in CSV and in Markdown, none for
    text.
    """

    heading: str
    csv: str = ""
    shown: str = ""


def read_frame(path: Path, columns: str = "", numbers: str = "", advice: str = MAKE_AGAIN) -> pd.DataFrame:
    """Read a CSV table as text but for ``numbers``; ``UserError`` says what it does not have.

    columns, numbers: names between spaces of columns that must be there; numbers become finite float64.
    """
    frame = pd.DataFrame(read_csv(Path(path)), dtype=object)
    missing = [name for name in f"{columns} {numbers}".split() if name not in frame.columns]
    if missing:
        raise UserError(f"{path}: has no column '{missing[0]}'; {advice}")
    return frame.assign(**{name: as_numbers(frame[name], path, advice, ()) for name in numbers.split()})


def as_numbers(values: pd.Series, path: Path, advice: str, others: Sequence[str] = ("", "nan", "inf")) -> pd.Series:
    """A column of texts as float64; ``UserError`` names what is neither a finite number nor one of ``others``."""
    found = pd.to_numeric(values, "coerce").astype(float)
    wrong = values[~np.isfinite(found) & ~values.isin(others)]
    if len(wrong):
        raise UserError(f"{path}: the column {values.name} holds {wrong.iloc[0]!r}, which is not a number; {advice}")
    return found


def write_frame(path: Path, frame: pd.DataFrame) -> None:
    """Write a table as CSV, atomically."""
    with atomic(Path(path)) as temporary:
        frame.to_csv(temporary, index=False, lineterminator="\n")


def write_rows(path: Path, columns: Iterable[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write rows of cells as CSV, atomically."""
    write_frame(path, pd.DataFrame(list(rows), columns=list(columns), dtype=object))


def texts(values: Iterable[Any], number_format: str) -> list[str]:
    """Numbers, or their texts, in a format; missing ones are empty, and the text ``nan`` stays."""
    numbers = ("" if v == "" or pd.isna(v) else float(v) if isinstance(v, str) else v for v in values)
    return ["" if number == "" else format(number, number_format).replace("%", " %") for number in numbers]


def formatted(frame: pd.DataFrame, formats: Mapping[str, str]) -> pd.DataFrame:
    """The columns of ``formats`` as text; other columns stay as they are."""
    return frame.assign(**{name: texts(frame[name], spec) for name, spec in formats.items() if spec})


def table(*columns: tuple[str, Iterable[Any]]) -> pd.DataFrame:
    """A table of text columns with their headings, which may occur more than once."""
    return pd.DataFrame(dict(enumerate(list(values) for _, values in columns)), dtype=object).set_axis(
        [heading for heading, _ in columns], axis=1
    )


def markdown(frame: pd.DataFrame, left: int | Sequence[str] = 1) -> str:
    """A table of text in Markdown: the first ``left`` columns are aligned left and the others right.

    left: or the side of every column, ``left`` or ``right``.
    """
    columns = len(frame.columns)
    sides = ["left"] * left + ["right"] * (columns - left) if isinstance(left, int) else left
    safe = frame.map(_escaped).set_axis([_escaped(heading) for heading in frame.columns], axis=1)
    return safe.to_markdown(index=False, disable_numparse=True, colalign=sides[:columns])


def _escaped(text: object) -> str:
    return str(text).strip().replace("|", "\\|").replace("*", "\\*")


def rounded(frame: pd.DataFrame, columns: Mapping[str, Column]) -> pd.DataFrame:
    """The columns of ``columns`` as CSV holds them."""
    return formatted(frame[list(columns)], {name: column.csv for name, column in columns.items()})


def readable(frame: pd.DataFrame, columns: Mapping[str, Column], order: Sequence[str] = ()) -> pd.DataFrame:
    """Columns of a CSV table as readers see them: with their headings, numbers short."""
    names = list(order or columns)
    shown = formatted(frame[names], {name: columns[name].shown for name in names})
    return shown.set_axis([columns[name].heading for name in names], axis=1)
