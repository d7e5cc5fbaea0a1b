"""Scores of systems over tuning runs: read from the evaluation's files, summed up for tables and plots."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neural_smt.errors import UserError
from neural_smt.io.files import read_object

Scores = dict[str, dict[str, list[str]]]
"""System -> set -> the evaluation files of its runs, in the order in which tables show them."""


@dataclass(frozen=True)
class Cell:
    """A system on a set: sacreBLEU and tokenised BLEU (0 to 100) of each run, and p against the baseline (or none)."""

    sacrebleu: tuple[float, ...]
    tokenised: tuple[float, ...]
    signature: str
    p_value: float | None = None


def read_cell(paths: Sequence[str], p_value: float | None = None) -> Cell:
    """Read the evaluation of every run; ``UserError`` names a file that lacks a score."""
    if not paths:
        raise UserError("a system has no tuning run to report on; set tuning.runs to 1 or more")
    contents = [(path, read_object(Path(path))) for path in paths]
    return Cell(
        tuple(float(_value(path, content, "sacrebleu")) for path, content in contents),
        tuple(float(_value(path, content, "tokenised_bleu")) for path, content in contents),
        str(_value(*contents[0], "signature")),
        p_value,
    )


def read_scores(scores: Scores, significance: Mapping[str, str] | None = None) -> dict[str, dict[str, Cell]]:
    """System -> set -> cell; significance: set -> the file of the comparison with the baseline."""
    compared = {name: (path, read_object(Path(path))) for name, path in (significance or {}).items()}

    def p_value(system: str, name: str) -> float | None:
        if name not in compared:
            return None
        path, content = compared[name]
        return _value(path, _value(path, content, system), "p_value")

    return {
        system: {name: read_cell(paths, p_value(system, name)) for name, paths in sets.items()}
        for system, sets in scores.items()
    }


def mean(values: Sequence[float]) -> float:
    """The mean over runs."""
    return statistics.fmean(values)


def spread(values: Sequence[float]) -> float | None:
    """The sample standard deviation over runs; ``None`` for one run, which has no spread."""
    return statistics.stdev(values) if len(values) > 1 else None


def _value(path: str, content: Any, key: str) -> Any:
    if not isinstance(content, dict) or key not in content:
        found = ", ".join(content) if isinstance(content, dict) else json.dumps(content)[:40]
        raise UserError(f"{path}: no '{key}' among {found}; run the evaluation stage again")
    return content[key]
