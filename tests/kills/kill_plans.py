"""Which jobs of an experiment are killed, when in their work, and what is killed with them: drawn from a seed."""

import random
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Victim(StrEnum):
    """What a kill ends, all of it by SIGKILL."""

    JOB = "job with its processes"
    PROCESS = "process of the job alone"
    RUN = "Snakemake with all that it started"
    SNAKEMAKE = "Snakemake alone"


WEIGHTS = {Victim.JOB: 4, Victim.PROCESS: 1, Victim.RUN: 3, Victim.SNAKEMAKE: 2}
"""How often each is drawn: single jobs are killed for want of memory, whole runs with their machine or session."""


@dataclass(frozen=True)
class Kill:
    """One stage's kill.

    number: how many jobs of the stage start before the one that is killed; share: of the CPU time that this job
    takes when it is left alone, after which it is killed; writing: not before there is something half-written.
    """

    stage: str
    number: int
    share: float
    writing: bool
    victim: Victim

    def __str__(self) -> str:
        moment = f"after {self.share:.0%} of its time{', when it writes' if self.writing else ''}"
        return f"{self.stage}: job {self.number + 1}, {moment}: {self.victim}"


def draw_kills(stages: Iterable[str], seed: int, times: dict[str, list[float]]) -> dict[str, Kill]:
    """A kill for every stage; ``times``: of a stage, the CPU time of its jobs in the order they start.

    The moment is uniform over the time of the stage, so that long jobs are killed more often than short ones.
    """
    kills = {}
    for stage in stages:
        chance = random.Random(f"{seed} {stage}")
        jobs = range(len(times[stage]))
        (number,) = chance.choices(jobs, times[stage])
        (victim,) = chance.choices(list(WEIGHTS), list(WEIGHTS.values()))
        kills[stage] = Kill(stage, number, chance.uniform(0, 0.97), chance.random() < 0.4, victim)
    return kills
