"""The tables of the papers, which lie beside this module in ``data/``: their rows, numbers and systems."""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from neural_smt.io.files import read_yaml

if TYPE_CHECKING:
    import pandas as pd

FOLDER = Path(__file__).parent / "data"

COLUMNS = ("label", "system", "dev", "test", "perplexity")
"""Columns of a table that names none of its own."""


class Paper(NamedTuple):
    """tables: name -> ``title``, ``note``, ``columns``, ``rows`` and, of a table for one pair of languages alone,
    ``languages``, as the file has them; facts: its other entries.
    """

    tables: dict[str, dict[str, Any]]
    facts: dict[str, Any]

    @property
    def stand_ins(self) -> dict[str, str]:
        """Systems that experiments may lack -> those that stand for them then."""
        return self.facts.get("stand_ins", {})

    def rows(self, name: str = "1") -> "pd.DataFrame":
        """The rows of a table; missing numbers are NaN."""
        import pandas as pd  # half a second, which rules that only ask for names can do without

        table = self.tables[name]
        columns = table.get("columns", COLUMNS)
        return pd.DataFrame([dict(zip(columns, row, strict=False)) for row in table["rows"]], columns=columns)

    def heading(self, name: str) -> str:
        """What stands above a table: its number in the paper, if it has one, and its title."""
        title = self.tables[name]["title"]
        return f"Table {name}: {title}" if name.isdigit() else f"{name}: {title}"

    @property
    def systems(self) -> list[str]:
        """The names of all systems in the tables, each once."""
        names = []
        for table in self.tables.values():
            places = [place for place, column in enumerate(table.get("columns", COLUMNS)) if column.endswith("system")]
            names += [row[place] for row in table["rows"] for place in places]
        return list(dict.fromkeys(names))


@cache
def load_paper(name: str) -> Paper:
    """A paper by the name of its file, as ``cho2014.yaml``."""
    content = read_yaml(FOLDER / name)
    tables = content.pop("tables")
    return Paper({table["name"]: table for table in tables}, content)
