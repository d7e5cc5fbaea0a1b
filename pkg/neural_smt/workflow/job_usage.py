"""What a job took: as Snakemake sampled it for ``benchmark:``, and as the job itself says at the end of its log."""

import os
import re
import resource
import sys
import threading
from pathlib import Path
from typing import NamedTuple

from neural_smt.errors import UserError
from neural_smt.io.files import read_lines

SHORT, LONG = 15.0, 30.0
"""Snakemake samples a job every half second until ``SHORT`` seconds, from then on every ``LONG``."""


_USED = re.compile(
    r"used (\d+\.\d+) (?:CPU|processor) seconds and at most (\d+\.\d+) MB(?:, (\d+\.\d+) of its own)?\s*$"
)

_END = 200
"""Bytes of a log in which its last line begins."""

_UNIT = 1 if sys.platform == "darwin" else 1 << 10


class Usage:
    """What this process and those it has waited for use while a block runs.

    ``str`` of it is the last line of a job's log: CPU seconds, and the highest memory of one process, once all of it
    and once what is its own: without pages of mapped files, which the system takes back when others need memory.
    """

    SAMPLED = 0.1
    """Seconds between samples of what is the process's own, of which the system keeps no peak."""

    def __init__(self) -> None:
        self._own, self._ended = 0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "Usage":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while True:
            self._own = max(self._own, _own_memory())
            if self._ended.wait(self.SAMPLED):
                return

    def __str__(self) -> str:
        uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        seconds = sum(use.ru_utime + use.ru_stime for use in uses)
        whole, child = _own_peak() or uses[0].ru_maxrss * _UNIT, uses[1].ru_maxrss * _UNIT
        # a child's peak starts with what its parent had then
        peaks = [child, child] if child > whole else [whole, self._own or whole]
        most, own = (peak / (1 << 20) for peak in peaks)
        return f"used {seconds:.2f} CPU seconds and at most {most:.1f} MB, {own:.1f} of its own"


def _own_memory() -> int:
    """Bytes that this process has now without pages of files, 0 where the system does not say."""
    try:
        resident, shared = map(int, Path("/proc/self/statm").read_text().split()[1:3])
    except (OSError, ValueError):
        return 0
    return (resident - shared) * resource.getpagesize()


def _own_peak() -> int:
    """Bytes that this process had at most, 0 where the system does not say (``ru_maxrss`` starts with the parent's)."""
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return int(found[1]) << 10 if found else 0


class Measurement(NamedTuple):
    """seconds: by the clock, on a machine that other jobs shared; cpu_seconds: of all its threads, which is what
    counts; memory: the highest in MB, without pages of mapped files where the job told it so, 0 where unknown.
    """

    seconds: float
    cpu_seconds: float
    memory: float


def read_benchmark(path: Path) -> Measurement:
    """The first measurement of a file; CPU seconds and the memory of its own are those that the job's log ends with, if
    it does (memory with mapped files, which older logs have, counts where it is higher).

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
    seconds, whole, own = use
    return Measurement(wall, seconds, own or max(memory, whole))


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


def _logged_use(log: Path) -> tuple[float, float, float] | None:
    """CPU seconds, MB, and MB of its own (0 where it does not say) that a log ends with."""
    if not log.is_file():
        return None
    with log.open("rb") as stream:
        stream.seek(-min(_END, log.stat().st_size), os.SEEK_END)
        found = _USED.search(stream.read().decode(errors="replace"))
    return (float(found[1]), float(found[2]), float(found[3] or 0)) if found else None


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
