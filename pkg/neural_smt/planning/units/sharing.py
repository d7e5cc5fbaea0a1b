"""Amounts of work by unit, and how jobs divide them."""

from collections.abc import Callable

from neural_smt.planning.experiment import Experiment
from neural_smt.planning.jobs import Job

Units = dict[str, float]


Counter = Callable[[Job, Experiment], Units]


def shared(units: Counter, whole: tuple[str, ...] = ()) -> Counter:
    """The units of one of the jobs that share some work; whole: units that every job has all of."""

    def divided(job: Job, x: Experiment) -> Units:
        shards = x.config["shards"]
        return {unit: amount if unit in whole else amount / shards for unit, amount in units(job, x).items()}

    return divided


def nothing(job: Job, x: Experiment) -> Units:
    """Of rules that take the same time whatever the experiment's size."""
    return {}
