"""What Snakemake measured of a job, from the file it writes for ``benchmark:``."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from neural_smt.errors import UserError
from neural_smt.files import read_lines

SHORT, LONG = 15.0, 30.0
"""Snakemake samples a job every half second until ``SHORT`` seconds, from then on every ``LONG``."""


class Measurement(NamedTuple):
    """seconds: by the clock, on a machine that other jobs shared; processor_seconds: of all its threads, which is what
    counts; memory: the highest resident one in MB, 0 where unknown.
    """

    seconds: float
    processor_seconds: float
    memory: float


def read_benchmark(path: Path) -> Measurement:
    """The first measurement of a file.

    Snakemake takes processor seconds at its last sample, which in a job of 40 seconds is that of the 15th: what was
    left is taken to have used the processor as much as what was before. ``-`` or ``NA`` stand for what was over too
    soon to be measured; such a job is taken to have used one processor all the time.
    """
    lines = read_lines(path)
    row = dict(zip(lines[0].split("\t"), lines[1].split("\t"), strict=False)) if len(lines) > 1 else {}
    if not {"s", "cpu_time", "max_rss"} <= row.keys():
        raise UserError(f"{path}: not a benchmark of Snakemake; leave its run out, or run the job again")
    wall = number(row["s"])
    return Measurement(wall, _whole(wall, number(row["cpu_time"])), number(row["max_rss"]))


def number(text: str) -> float:
    """A number of a table, 0 for one that stands for nothing measured."""
    try:
        return float(text)
    except ValueError:
        return 0.0


def _whole(wall: float, sampled: float) -> float:
    if sampled == 0:
        return wall
    last = max(wall - 0.25, wall / 2) if wall < SHORT else SHORT + LONG * ((wall - SHORT) // LONG)
    return sampled * wall / last
