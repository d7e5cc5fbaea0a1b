"""What jobs will take, out of a fitted line of each rule for CPU seconds, memory and disk; and when they would run."""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Literal, NamedTuple

from neural_smt.errors import UserError
from neural_smt.io.files import read_json, write_json
from neural_smt.planning.jobs import Job, dependencies
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

Basis = Literal["measured", "alike", "assumed"]
"""What rates are: those of the rule, those of a rule like it, or nobody's."""


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
    that it only maps; disk: bytes.
    """

    job: Job
    seconds: float
    cpu_seconds: float
    memory: float
    disk: float
    basis: Basis


def forecast_jobs(jobs: Sequence[Job], experiment: Experiment, throughputs: Throughputs) -> list[Forecast]:
    """The forecast of every job."""
    return [_forecast(job, Quantities(job, experiment), throughputs) for job in jobs]


def _forecast(job: Job, quantities: Quantities, throughputs: Throughputs) -> Forecast:
    cost = costs()[quantities.entry]
    amounts = [quantities.value(expression) for expression in (cost.cpu, cost.memory, cost.disk)]
    found = {kind: throughputs.of(quantities.entry, kind) for kind in START}
    cpu, memory, disk = (fixed + rate * x for ((fixed, rate), _), x in zip(found.values(), amounts, strict=True))
    line, origin = found["cpu"]
    basis: Basis = "measured" if origin == quantities.entry else "alike" if origin else "assumed"
    seconds = cpu / (1 + (job.threads - 1) * cost.parallel)
    if job.gpus and cost.gpu:
        macs, steps = map(quantities.value, cost.gpu)
        cpu = seconds = line.fixed + macs / (GPU_MACS * job.gpus) + steps * GPU_STEP
        basis = "assumed"
    if words := quantities.value(cost.download):
        seconds += words * PACKED / DOWNLOAD
        basis = "assumed"
    return Forecast(job, seconds, cpu, memory, disk, basis)


@dataclass(frozen=True)
class Machine:
    """Nodes that are all alike; gpus: of each."""

    nodes: int
    cores: int
    gpus: int

    def __post_init__(self) -> None:
        if self.nodes < 1 or self.cores < 1 or self.gpus < 0:
            raise UserError(
                "--nodes, --cores, --gpus: a plan needs at least one node and one core, and no negative number of GPUs"
                "; give others"
            )


def _remaining(forecasts: Sequence[Forecast], needed: Sequence[tuple[int, ...]]) -> tuple[list[float], list[int]]:
    """For each job the seconds of the longest chain from its start to the end of all, and the next job of it or -1."""
    after, following = [0.0] * len(forecasts), [-1] * len(forecasts)
    longest = [0.0] * len(forecasts)
    for number in reversed(list(TopologicalSorter(dict(enumerate(needed))).static_order())):
        longest[number] = forecasts[number].seconds + after[number]
        for maker in needed[number]:
            if following[maker] < 0 or longest[number] > after[maker]:
                after[maker], following[maker] = longest[number], number
    return longest, following


def critical_path(forecasts: Sequence[Forecast]) -> list[Forecast]:
    """The chain of jobs, each waiting for the one before, that takes longest: no machine is faster than that."""
    longest, following = _remaining(forecasts, dependencies([forecast.job for forecast in forecasts]))
    number = max(range(len(forecasts)), key=lambda job: longest[job], default=-1)
    chain = []
    while number >= 0:
        chain.append(forecasts[number])
        number = following[number]
    return chain


def schedule(forecasts: Sequence[Forecast], machine: Machine) -> list[float]:
    """The second at which each job would end; a job that wants more than a node has takes all that it has.

    Whenever a place is free, of the jobs whose inputs are there that with the longest chain after it starts, on the
    first node with room.
    """
    needed = dependencies([forecast.job for forecast in forecasts])
    longest, _ = _remaining(forecasts, needed)
    sorter = TopologicalSorter(dict(enumerate(needed)))
    sorter.prepare()
    # of a node: cores and GPUs
    wanted = [(min(one.job.threads, machine.cores), min(one.job.gpus, machine.gpus)) for one in forecasts]
    free = [[machine.cores, machine.gpus] for _ in range(machine.nodes)]
    ready: list[int] = []
    running: list[tuple[float, int, int]] = []
    ends = [0.0] * len(forecasts)
    now = 0.0
    while sorter.is_active():
        waiting, ready = sorted([*ready, *sorter.get_ready()], key=lambda job: (-longest[job], job)), []
        for number in waiting:
            cores, gpus = wanted[number]
            node = next((n for n, (c, g) in enumerate(free) if c >= cores and g >= gpus), None)
            if node is None:
                ready.append(number)
                continue
            free[node][0] -= cores
            free[node][1] -= gpus
            heapq.heappush(running, (now + forecasts[number].seconds, number, node))
        now, number, node = heapq.heappop(running)
        ends[number] = now
        free[node][0] += wanted[number][0]
        free[node][1] += wanted[number][1]
        sorter.done(number)
    return ends
