"""What a job took: as Snakemake sampled it for ``benchmark:``, and as the job itself says at the end of its log."""

import os
import re
import resource
import sys
from pathlib import Path
from typing import NamedTuple

from neural_smt.errors import UserError
from neural_smt.io.files import read_lines

SHORT, LONG = 15.0, 30.0
"""Snakemake samples a job every half second until ``SHORT`` seconds, from then on every ``LONG``."""


_USED = re.compile(r"used (\d+\.\d+) (?:CPU|processor) seconds and at most (\d+\.\d+) MB\s*$")

_END = 200
"""Bytes of a log in which its last line begins."""


def used() -> str:
    """The last line of a job's log: what this process and those it has waited for used until now.

    Memory is the highest of one process.
    """
    uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    seconds = sum(use.ru_utime + use.ru_stime for use in uses)
    unit = 1 if sys.platform == "darwin" else 1 << 10
    memory = max(_own_peak() or uses[0].ru_maxrss * unit, uses[1].ru_maxrss * unit)
    return f"used {seconds:.2f} CPU seconds and at most {memory / (1 << 20):.1f} MB"


def _own_peak() -> int:
    """Bytes that this process had at most, 0 where the system does not say (``ru_maxrss`` starts with the parent's)."""
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return int(found[1]) << 10 if found else 0


class Measurement(NamedTuple):
    """seconds: by the clock, on a machine that other jobs shared; cpu_seconds: of all its threads, which is what
    counts; memory: the highest resident one in MB, 0 where unknown.
    """

    seconds: float
    cpu_seconds: float
    memory: float


def read_benchmark(path: Path) -> Measurement:
    """The first measurement of a file; CPU seconds are those that the job's log ends with, if it does, and
    memory the higher of both.

    Snakemake takes samples, from the 15th second on only every 30: peaks between them are missed, and of CPU seconds
    it has those of the last sample. Without a log, the rest of the job is taken to have used the CPU as
    much as what was before. ``-`` or ``NA`` stand for what was over too soon to be measured; such a job is taken to
    have used one core all the time.
    """
    lines = read_lines(path)
    row = dict(zip(lines[0].split("\t"), lines[1].split("\t"), strict=False)) if len(lines) > 1 else {}
    if not {"s", "cpu_time", "max_rss"} <= row.keys():
        raise UserError(f"{path}: not a benchmark of Snakemake; leave its run out, or run the job again")
    wall, memory = number(row["s"]), number(row["max_rss"])
    benchmark = BenchmarkPath.of(path)
    use = _logged_use(benchmark.log) if benchmark else None
    if use is None:
        return Measurement(wall, _whole(wall, number(row["cpu_time"])), memory)
    return Measurement(wall, use[0], max(memory, use[1]))


class BenchmarkPath(NamedTuple):
    """The parts of ``<root>/benchmarks/<stage>/<job>.tsv``; the job's name may have a folder in it."""

    root: Path
    stage: str
    job: Path

    @classmethod
    def of(cls, path: Path) -> "BenchmarkPath | None":
        """None for a file elsewhere."""
        parts = Path(path).parts
        if "benchmarks" not in parts[:-2]:
            return None
        folder = len(parts) - 1 - parts[::-1].index("benchmarks")
        return cls(Path(*parts[:folder]), parts[folder + 1], Path(*parts[folder + 2 :]).with_suffix(""))

    @property
    def rule(self) -> str:
        """The rule that the job is of."""
        return self.job.parts[0].split(".")[0]

    @property
    def log(self) -> Path:
        """The log of the job."""
        return self.root / "logs" / f"{self.job}.log"


def _logged_use(log: Path) -> tuple[float, float] | None:
    """CPU seconds and MB that a log ends with."""
    if not log.is_file():
        return None
    with log.open("rb") as stream:
        stream.seek(-min(_END, log.stat().st_size), os.SEEK_END)
        found = _USED.search(stream.read().decode(errors="replace"))
    return (float(found[1]), float(found[2])) if found else None


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
