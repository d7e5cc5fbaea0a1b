"""What rules cost: a fitted line each for CPU seconds, memory and disk, and forecasts of jobs out of them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

from neural_smt.errors import UserError
from neural_smt.io.files import read_json, write_json
from neural_smt.planning.jobs import Job
from neural_smt.planning.quantities import HAZARDS, Experiment, Quantities, table
from neural_smt.planning.sizes import RATIOS

GPU_MACS = 2.5e13
"""MACs a second of one GPU, assumed: a twentieth of what an H100's tensor cores do in bf16 at best."""

GPU_STEP = 5e-4
"""Seconds of launching the kernels of one time step, forward and backward, assumed."""

DOWNLOAD = 10e6
"""Bytes a second from elsewhere, assumed."""

PACKED = 2.5
"""Bytes of a word of published, compressed text, assumed."""

MEASURED, ALIKE, ASSUMED = "measured", "alike", "assumed"


class Line(NamedTuple):
    """A cost: what is fixed, and what each unit of a rule's quantity adds."""

    fixed: float
    rate: float


START = {"cpu": Line(0.8, 0.0), "memory": Line(200.0, 0.0), "disk": Line(1e4, 0.0)}
"""CPU seconds, MB and bytes of a job of which nothing is known but that it starts Python."""


@dataclass(frozen=True)
class Cost:
    """How a rule's costs follow from quantities: expressions of ``costs.yaml``, which says what is what."""

    cpu: str = ""
    memory: str = ""
    mapped: str = ""
    disk: str = ""
    parallel: float = 0.0
    like: str = ""
    start: float = 200.0
    gpu: Sequence[str] = ()
    download: str = ""


@cache
def costs() -> dict[str, Cost]:
    """Every rule that makes files -> how its costs follow."""
    return {rule: Cost(**entry) for rule, entry in table()["rules"].items()}


@dataclass(frozen=True)
class Throughputs:
    """Lines by rule and cost, with the ratios that sizes follow by.

    ``experiments``: those that they were measured with; ``machine`` and ``date``: on what, and when.
    """

    lines: Mapping[str, Mapping[str, Line]]
    ratios: Mapping[str, float] = field(default_factory=lambda: dict(RATIOS))
    hazards: Mapping[str, float] = field(default_factory=lambda: dict(HAZARDS))
    experiments: tuple[str, ...] = ()
    machine: str = ""
    date: str = ""

    def of(self, rule: str, cost: str) -> tuple[Line, str]:
        """The line of a rule, and whose it is: its own, that of a rule like it, or ('') of a start of Python."""
        while rule and cost not in self.lines.get(rule, {}):
            rule = costs()[rule].like
        return (self.lines[rule][cost] if rule else START[cost]), rule

    def save(self, path: Path) -> None:
        """Write as JSON."""
        write_json(path, asdict(self))

    @classmethod
    def load(cls, path: Path) -> "Throughputs":
        """Read what ``save`` wrote; ``UserError`` for another file."""
        read = read_json(path)
        try:
            lines = {rule: {cost: Line(*line) for cost, line in own.items()} for rule, own in read["lines"].items()}
            return cls(**{**read, "lines": lines, "experiments": tuple(read["experiments"])})
        except (TypeError, KeyError):
            raise UserError(f"{path}: not a file of throughputs; write one with `make bench`") from None


@dataclass(frozen=True)
class Forecast:
    """What a job will take.

    seconds: by the clock, on a machine of its own; cpu_seconds: of all its threads; memory: MB, without pages of files
    that it only maps; disk: bytes; basis: ``MEASURED``, ``ALIKE`` where rates are those of a rule like it, ``ASSUMED``
    where nobody has measured.
    """

    job: Job
    seconds: float
    cpu_seconds: float
    memory: float
    disk: float
    basis: str


def forecast_jobs(jobs: Sequence[Job], experiment: Experiment, throughputs: Throughputs) -> list[Forecast]:
    """The forecast of every job."""
    return [_forecast(job, Quantities(job, experiment), throughputs) for job in jobs]


def _forecast(job: Job, quantities: Quantities, throughputs: Throughputs) -> Forecast:
    cost = costs()[quantities.entry]
    amounts = [quantities.value(expression) for expression in (cost.cpu, cost.memory, cost.disk)]
    found = {kind: throughputs.of(quantities.entry, kind) for kind in START}
    lines = [line for line, _ in found.values()]
    cpu, memory, disk = (line.fixed + line.rate * amount for line, amount in zip(lines, amounts, strict=True))
    line, origin = found["cpu"]
    basis = MEASURED if origin == quantities.entry else ALIKE if origin else ASSUMED
    seconds = cpu / (1 + (job.threads - 1) * cost.parallel)
    if job.gpus and cost.gpu:
        macs, steps = map(quantities.value, cost.gpu)
        cpu = seconds = line.fixed + macs / (GPU_MACS * job.gpus) + steps * GPU_STEP
        basis = ASSUMED
    if cost.download and quantities.is_downloaded() and (words := quantities.value(cost.download)):
        seconds += words * PACKED / DOWNLOAD
        basis = ASSUMED
    return Forecast(job, seconds, cpu, memory, disk, basis)
