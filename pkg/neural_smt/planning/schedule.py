"""When jobs would run on so many nodes: their longest chain, and a schedule that starts what leads furthest first."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter

from neural_smt.errors import UserError
from neural_smt.planning.jobs import dependencies
from neural_smt.planning.throughputs import Forecast


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
    free = [[machine.cores, machine.gpus] for _ in range(machine.nodes)]
    ready: list[int] = []
    running: list[tuple[float, int, int]] = []
    ends = [0.0] * len(forecasts)
    now = 0.0
    while sorter.is_active():
        waiting, ready = sorted([*ready, *sorter.get_ready()], key=lambda job: (-longest[job], job)), []
        for number in waiting:
            cores, gpus = _wanted(forecasts[number], machine)
            node = next((n for n, (c, g) in enumerate(free) if c >= cores and g >= gpus), None)
            if node is None:
                ready.append(number)
                continue
            free[node][0] -= cores
            free[node][1] -= gpus
            heapq.heappush(running, (now + forecasts[number].seconds, number, node))
        now, number, node = heapq.heappop(running)
        ends[number] = now
        cores, gpus = _wanted(forecasts[number], machine)
        free[node][0] += cores
        free[node][1] += gpus
        sorter.done(number)
    return ends


def _wanted(forecast: Forecast, machine: Machine) -> tuple[int, int]:
    """Cores and GPUs that a job takes of a node."""
    return min(forecast.job.threads, machine.cores), min(forecast.job.gpus, machine.gpus)
