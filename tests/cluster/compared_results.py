"""Two folders of results, file by file: what must be alike to the byte, and what tells of time and may differ."""

import csv
import json
from pathlib import Path, PurePath
from typing import Any

TIMED = (
    "benchmarks/**",
    "logs/**",
    "report/costs.*",
    "report/networks.md",
    "report/pages/*",
    "report/cho2014.md",
    "training/*/state/*",
)
"""Files that say how long something took: benchmarks and what the report makes of them, logs, pages that tell the time
of training (what they are made of is compared), and checkpoints, which hold the seconds that curves show."""

AMBIENT = ("second", "threads", "device")
"""What is in the names of values that tell how fast and where something ran: of keys in JSON, of columns in CSV."""


def list_files(results: Path) -> set[str]:
    """The files of an experiment but Snakemake's own marks of time."""
    files = (path for path in results.rglob("*") if path.is_file() and path.name != ".snakemake_timestamp")
    return {path.relative_to(results).as_posix() for path in files}


def is_timed(name: str) -> bool:
    """Whether a file, named within the results, says how long something took."""
    folder = PurePath(name).parts[0]
    return f"{folder}/**" in TIMED or any(PurePath(name).match(pattern) for pattern in TIMED)


def differing_files(one: Path, other: Path) -> list[str]:
    """The names of files that only one of the folders has, or that differ, but for what tells of time."""
    names, others = list_files(one), list_files(other)
    compared = {name for name in names & others if not is_timed(name)}
    differing = {name for name in compared if read_content(one / name) != read_content(other / name)}
    return sorted(differing | {name for name in names ^ others if not is_timed(name)})


def read_content(path: Path) -> Any:
    """What of a file is compared: its bytes, or its values but for the ambient ones."""
    if path.suffix == ".json":
        return _lasting(json.loads(path.read_bytes()))
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as lines:
            return _lasting(list(csv.DictReader(lines)))
    return path.read_bytes()


def _lasting(content: Any) -> Any:
    """Values but for the ambient ones, at any depth."""
    if isinstance(content, dict):
        kept = {name: value for name, value in content.items() if not any(word in name for word in AMBIENT)}
        return {name: _lasting(value) for name, value in kept.items()}
    return [_lasting(value) for value in content] if isinstance(content, list) else content
