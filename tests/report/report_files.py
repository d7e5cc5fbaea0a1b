"""Files that the report reads, as the stages write them, and its Markdown as tests compare it."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from neural_smt.io.files import read_lines, write_json

SIGNATURE = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"


def written(path: Path, value: object) -> str:
    """The path of a JSON file with this value."""
    write_json(path, value)
    return str(path)


def evaluations(folder: Path, bleu: Mapping[str, Mapping[str, Sequence[float]]]) -> dict[str, dict[str, list[str]]]:
    """The evaluation of systems whose sacreBLEU on each set, run by run, is given; BLEU of tokens is higher by 1."""
    return {
        system: {
            name: [
                written(
                    folder / f"evaluation/{system}/run{run}/{name}.json",
                    {"sacrebleu": value, "tokenised_bleu": value + 1, "signature": SIGNATURE},
                )
                for run, value in enumerate(values, start=1)
            ]
            for name, values in sets.items()
        }
        for system, sets in bleu.items()
    }


def comparisons(folder: Path, p_values: Mapping[str, Mapping[str, float | None]]) -> dict[str, str]:
    """Comparisons with the baseline on each set: set -> system -> p."""
    return {
        name: written(folder / f"significance.{name}.json", {system: {"p_value": p} for system, p in values.items()})
        for name, values in p_values.items()
    }


def unpadded(lines: Path | list[str]) -> list[str]:
    """Lines (of a file) with table rows as ``| a | b |``, and ``| --- | ---: |`` below their header: how far cells are
    padded depends on all cells of a column.
    """
    return [
        _row(line) if line.startswith("|") else line
        for line in (read_lines(lines) if isinstance(lines, Path) else lines)
    ]


def _row(line: str) -> str:
    cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))]
    cells = [re.sub(r"^:?-+(:?)$", r"---\1", cell) for cell in cells]
    return "| " + " | ".join(cells) + " |"
