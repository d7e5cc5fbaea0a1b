"""Systems of an experiment beside those of a paper's tables: what the tables of all papers share."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar, cast

import pandas as pd

from neural_smt.io.files import read_object
from neural_smt.io.tables import formatted, markdown, table, texts, write_frame
from neural_smt.report.papers import Paper
from neural_smt.report.scores import PLACE, p_value_text, score_texts, set_names

NUMBERS = ["table", "row", "system", "set", "quantity", "paper", "here"]
"""Columns of a CSV with one number of the paper and ours in each row, where there are any."""


@dataclass(frozen=True)
class Comparison:
    """An experiment beside a paper; names of systems are those of the paper's tables, or others.

    systems: a row for each system and set (the index), the development set first: what ``read_scores`` gives, and
    further figures (see ``means_of_runs``).
    """

    paper: ClassVar[Paper]
    systems: pd.DataFrame

    @property
    def sets(self) -> list[str]:
        """The development set, then the test sets."""
        return set_names(self.systems)

    @property
    def test(self) -> pd.DataFrame:
        """The systems on the last test set."""
        return cast(pd.DataFrame, self.systems.xs(self.sets[-1], level="set"))

    def bleu(self, system: str, name: str) -> float:
        """Mean BLEU of the runs on a set."""
        return self.systems["sacrebleu"][system][name]

    def test_mean(self, system: str) -> float | None:
        """Mean BLEU of the runs over all test sets; None where there is no such system."""
        if system not in self.test.index:
            return None
        return fmean(self.bleu(system, name) for name in self.sets[1:] or self.sets)

    def own(self, system: str) -> str:
        """The system that stands for one of the paper's: of the same name, or its stand-in where there is none."""
        return system if system in self.test.index else self.paper.stand_ins.get(system, system)

    def rows(self, name: str) -> pd.DataFrame:
        """The rows of one of the paper's tables that have a system."""
        found = self.paper.rows(name)
        found = found.assign(system=found["system"].map(self.own))
        return found[found["system"].isin(self.test.index)]

    def beside(self, rows: pd.DataFrame, name: str) -> pd.DataFrame:
        """Rows of the paper with our figures of a set as columns ``here_...``, and its name as ``set``."""
        return rows.join(self.systems.xs(name, level="set").add_prefix("here_"), on="system").assign(set=name)

    def beside_on_sets(self, rows: pd.DataFrame) -> pd.DataFrame:
        """The same on every set, row by row; the paper's BLEU of its development or its test set as ``paper``."""
        columns = {name: "dev" if name == self.sets[0] else "test" for name in self.sets}
        parts = [self.beside(rows, name).assign(paper=rows[column]) for name, column in columns.items()]
        return pd.concat(parts).sort_index(kind="stable")

    def shown(self, rows: pd.DataFrame, layout: str, left: int = 1) -> str:
        """A table in Markdown as one of the paper's ``layouts`` says, without columns that ``rows`` do not have.

        Besides those of ``rows`` with a ``system`` there are ``bleu:SET``, ``p`` over all test sets against the
        system's control and, of several test sets, their ``mean``. left: how many columns hold text.
        """
        if "system" in rows:
            systems = list(rows["system"])
            further: dict[str, Any] = {f"bleu:{name}": score_texts(self.systems, systems, name) for name in self.sets}
            further["p"] = [*map(p_value_text, self.test["p_tests"][systems])]
            if len(self.sets) > 2:
                further["mean"] = [*map(self.test_mean, systems)]
            rows = rows.assign(**further)
        columns: dict[tuple[str, str], Iterable[str]] = {}
        for heading, column, *number_format in self.paper.facts["layouts"][layout]:
            for name in self.sets if "{set}" in column else [""]:
                names = {"dev": self.sets[0], "test": self.sets[-1], "set": name}
                values = rows.get(place := column.format(**names))
                if values is not None:
                    own = texts(values, number_format[0]) if number_format else values
                    columns[heading.format(**names), place] = own
        return markdown(table(*((heading, own) for (heading, _), own in columns.items())), left) if len(rows) else ""

    def numbers(self, rows: pd.DataFrame, layout: str, name: str = "") -> pd.DataFrame:
        """The numbers of rows (with their ``label``, ``system`` and ``set``) beside the paper's, row by row, as one of
        its ``numbers`` says: ``NUMBERS``; name: of the table where that says ``{table}``.
        """
        own = rows.reset_index(drop=True).rename(columns={"label": "row"})
        places = own.reindex(columns=["row", "system", "set"], fill_value="")
        parts = [
            places.assign(table=table.format(table=name), quantity=quantity, paper=own.get(paper), here=own[here])
            for table, quantity, paper, here in self.paper.facts["numbers"][layout]
        ]
        return pd.concat(parts).astype(object).sort_index(kind="stable")


def means_of_runs(
    files: Mapping[str, Mapping[str, Sequence[str]]], names: Sequence[str], optional: bool = False
) -> pd.DataFrame:
    """Means over runs of figures, a row for each system and set (the index); NaN without runs.

    files: system -> set -> JSON files of its runs; optional: a figure that not all runs have is NaN too.
    """
    found = {}
    for system, sets in files.items():
        for name, paths in sets.items():
            runs = [read_object(Path(path)) for path in paths]
            chosen = [key for key in names if runs and not (optional and any(key not in run for run in runs))]
            found[system, name] = {key: fmean(run[key] for run in runs) for key in chosen}
    return pd.DataFrame(list(found.values()), pd.MultiIndex.from_tuples(found, names=PLACE), list(names), dtype=float)


Pairs = list[tuple[str, str]]
"""Two systems each."""


def compare_orders(pairs: Iterable[Sequence[str]], values: pd.Series) -> tuple[Pairs, Pairs]:
    """The pairs of systems, lower and higher in the paper, whose values are known, and those that are not in order."""
    known = [(low, high) for low, high in pairs if {low, high} <= {*values.dropna().index}]
    return known, [(low, high) for low, high in known if values[low] >= values[high]]


def write_numbers(path: Path, tables: Iterable[pd.DataFrame]) -> None:
    """Write every number of every table beside the paper's (CSV); tables: see ``Comparison.numbers``."""
    write_frame(path, formatted(pd.concat(tables)[NUMBERS], {"paper": ".6g", "here": ".6g"}))
