"""When jobs would run on so many nodes: their longest chain, and a schedule that starts what leads furthest first."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from neural_smt.errors import UserError
from neural_smt.planning.forecast import Forecast
from neural_smt.planning.jobs import dependencies


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


def remaining_seconds(forecasts: Sequence[Forecast], needed: Sequence[tuple[int, ...]]) -> list[float]:
    """For each job the seconds of the longest chain of jobs from its start to the end of all."""
    followers: list[list[int]] = [[] for _ in forecasts]
    waiting = [0] * len(forecasts)
    for number, before in enumerate(needed):
        for maker in before:
            followers[maker].append(number)
            waiting[maker] += 1
    longest = [0.0] * len(forecasts)
    ready = [number for number, left in enumerate(waiting) if left == 0]
    while ready:
        number = ready.pop()
        longest[number] = forecasts[number].seconds + max((longest[f] for f in followers[number]), default=0.0)
        for maker in needed[number]:
            waiting[maker] -= 1
            if waiting[maker] == 0:
                ready.append(maker)
    return longest


def critical_path(forecasts: Sequence[Forecast]) -> list[Forecast]:
    """The chain of jobs, each waiting for the one before, that takes longest: no machine is faster than that."""
    needed = dependencies([forecast.job for forecast in forecasts])
    longest = remaining_seconds(forecasts, needed)
    followers: dict[int, list[int]] = {}
    for number, before in enumerate(needed):
        for maker in before:
            followers.setdefault(maker, []).append(number)
    starts = [number for number, before in enumerate(needed) if not before]
    chain: list[Forecast] = []
    following = starts
    while following:
        number = max(following, key=lambda candidate: longest[candidate])
        chain.append(forecasts[number])
        following = followers.get(number, [])
    return chain


def schedule(forecasts: Sequence[Forecast], machine: Machine) -> list[float]:
    """The second at which each job would end; a job that wants more than a node has takes all that it has.

    Whenever a place is free, of the jobs whose inputs are there that with the longest chain after it starts, on the
    first node with room.
    """
    needed = dependencies([forecast.job for forecast in forecasts])
    longest = remaining_seconds(forecasts, needed)
    missing = [len(before) for before in needed]
    followers: list[list[int]] = [[] for _ in forecasts]
    for number, before in enumerate(needed):
        for maker in before:
            followers[maker].append(number)
    free = [[machine.cores, machine.gpus] for _ in range(machine.nodes)]
    ready = sorted((-longest[number], number) for number, left in enumerate(missing) if left == 0)
    running: list[tuple[float, int, int]] = []
    ends = [0.0] * len(forecasts)
    now = 0.0
    while ready or running:
        ready = _start(forecasts, machine, ready, free, running, now)
        now, number, node = heapq.heappop(running)
        ends[number] = now
        cores, gpus = wanted(forecasts[number], machine)
        free[node][0] += cores
        free[node][1] += gpus
        for follower in followers[number]:
            missing[follower] -= 1
            if missing[follower] == 0:
                ready.append((-longest[follower], follower))
        ready.sort()
    return ends


def wanted(forecast: Forecast, machine: Machine) -> tuple[int, int]:
    """Cores and GPUs that a job takes of a node."""
    return min(forecast.job.threads, machine.cores), min(forecast.job.gpus, machine.gpus)


def _start(
    forecasts: Sequence[Forecast],
    machine: Machine,
    ready: list[tuple[float, int]],
    free: list[list[int]],
    running: list[tuple[float, int, int]],
    now: float,
) -> list[tuple[float, int]]:
    """Start what fits now; returns what does not."""
    left = []
    for rank, number in ready:
        cores, gpus = wanted(forecasts[number], machine)
        node = next((n for n, (c, g) in enumerate(free) if c >= cores and g >= gpus), None)
        if node is None:
            left.append((rank, number))
            continue
        free[node][0] -= cores
        free[node][1] -= gpus
        heapq.heappush(running, (now + forecasts[number].seconds, number, node))
    return left
