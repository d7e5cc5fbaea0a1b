"""What an experiment will take, from its configuration to the plan as data."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from neural_smt.planning.experiment import Experiment
from neural_smt.planning.forecast import forecast_jobs
from neural_smt.planning.jobs import list_jobs
from neural_smt.planning.observing import whole_target
from neural_smt.planning.schedule import Machine
from neural_smt.planning.sizes import expect_sizes
from neural_smt.planning.summary import summarise
from neural_smt.planning.throughputs import Throughputs


def predict(
    config: Mapping[str, Any],
    throughputs: Throughputs,
    snakefile: Path,
    folder: Path,
    machine: Machine,
    target: str = "",
) -> dict[str, Any]:
    """The plan of a complete configuration, see ``summarise``, with its name and whose rates it was made with.

    folder: where ``results/`` of earlier runs may lie; target: what is to be made (all that its systems need).
    """
    sizes = expect_sizes(config, throughputs.ratios, folder)
    experiment = Experiment(config, sizes, throughputs.hazards, {})
    jobs = list_jobs(snakefile, config, target or whole_target(config), machine.cores)
    made = summarise(forecast_jobs(jobs, experiment, throughputs), machine)
    rates = {"machine": throughputs.machine, "date": throughputs.date}
    return made | {"experiment": config["experiment"], "throughputs": rates}
