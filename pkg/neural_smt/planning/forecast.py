"""What each job of an experiment will take, from its units of work and measured rates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neural_smt.planning.experiment import Experiment
from neural_smt.planning.jobs import Job
from neural_smt.planning.throughputs import FIXED, QUANTITIES, Throughputs
from neural_smt.planning.work import WORK

GPU_MULTIPLY_ADDS = 2.5e13
"""Multiply-adds a second of one GPU, assumed: a twentieth of what an H100's tensor cores do in bf16 at best."""

GPU_STEP = 5e-4
"""Seconds of launching the kernels of one time step, forward and backward, assumed."""

DOWNLOAD = 10e6
"""Bytes a second from elsewhere, assumed."""

PACKED = 2.5
"""Bytes of a word of published, compressed text, assumed."""

MEASURED, ALIKE, ASSUMED = "measured", "alike", "assumed"


@dataclass(frozen=True)
class Forecast:
    """What a job will take.

    seconds: by the clock, on a machine of its own; processor_seconds: of all its threads; memory: MB, without pages of
    files that it only maps; disk: bytes; basis: ``MEASURED``, ``ALIKE`` where rates are those of a rule like it,
    ``ASSUMED`` where nobody has measured.
    """

    job: Job
    seconds: float
    processor_seconds: float
    memory: float
    disk: float
    basis: str


def forecast_jobs(jobs: Sequence[Job], experiment: Experiment, throughputs: Throughputs) -> list[Forecast]:
    """The forecast of every job."""
    return [_forecast(job, experiment, throughputs) for job in jobs]


def _forecast(job: Job, experiment: Experiment, throughputs: Throughputs) -> Forecast:
    work = WORK[job.rule]
    units = work.units(job, experiment)
    rates, origin = throughputs.of(job.rule, "time")
    kept = {name: amount for name, amount in units.items() if name not in work.mapped}
    time, memory, disk = (
        _cost(throughputs.of(job.rule, quantity)[0], kept if quantity == "memory" else units) for quantity in QUANTITIES
    )
    basis = MEASURED if origin == job.rule else ALIKE if origin else ASSUMED
    seconds = time / (1 + (job.threads - 1) * work.parallel)
    if job.gpus and "time steps" in units:
        fixed = rates.get(FIXED, 0.0)
        multiply_adds = units["multiply-adds"] / (GPU_MULTIPLY_ADDS * job.gpus)
        time = seconds = fixed + multiply_adds + units["time steps"] * GPU_STEP
        basis = ASSUMED
    if units.get("downloaded words"):
        seconds += units["downloaded words"] * PACKED / DOWNLOAD
        basis = ASSUMED
    return Forecast(job, seconds, time, memory, disk, basis)


def _cost(rates: Mapping[str, float], units: Mapping[str, float]) -> float:
    return sum(rate * (1.0 if name == FIXED else units.get(name, 0.0)) for name, rate in rates.items())
