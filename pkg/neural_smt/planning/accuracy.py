"""How well an experiment would have been predicted from the others, by stage."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from neural_smt.planning.experiment import Experiment
from neural_smt.planning.forecast import forecast_jobs
from neural_smt.planning.observing import Run, measure_hazards, measure_ratios, observe
from neural_smt.planning.sizes import expect_sizes
from neural_smt.planning.throughputs import Throughputs, fit_rates

NOWHERE = Path("/nonexistent")


@dataclass(frozen=True)
class Comparison:
    """Processor seconds of a stage (or a rule of it): predicted and measured."""

    stage: str
    rule: str
    jobs: int
    predicted: float
    measured: float

    @property
    def factor(self) -> float:
        """Predicted over measured."""
        return self.predicted / self.measured


def fit_throughputs(runs: Sequence[Run], known: Throughputs | None = None) -> Throughputs:
    """The throughputs that finished runs tell; of what they do not have, those that are known stay."""
    known = known or Throughputs({})
    rates = fit_rates([one for run in runs for one in observe(run)])
    names = {*known.experiments, *(run.name for run in runs)}
    return Throughputs(
        dict(sorted({**known.rates, **rates}.items())),
        measure_ratios(runs, known.ratios),
        measure_hazards(runs, known.hazards),
        tuple(sorted(names)),
    )


def leave_one_out(runs: Sequence[Run], name: str, by_rule: bool = False) -> list[Comparison]:
    """Predictions for the run of that name from all others, beside what its jobs took.

    Sizes are those that its texts have before anything ran; jobs that wrote no benchmark take no part.
    """
    others = [run for run in runs if run.name != name]
    run = next(run for run in runs if run.name == name)
    throughputs = fit_throughputs(others)
    sizes = expect_sizes(run.config, throughputs.ratios, NOWHERE)
    experiment = Experiment(run.config, sizes, throughputs.hazards, {})
    seen = {one.benchmark: one for one in observe(run)}
    forecasts = forecast_jobs([job for job in run.jobs if job.benchmark in seen], experiment, throughputs)
    table: dict[tuple[str, str], list[float]] = {}
    for forecast in forecasts:
        measured = seen[forecast.job.benchmark]
        row = table.setdefault((forecast.job.stage, forecast.job.rule if by_rule else ""), [0, 0.0, 0.0])
        row[0] += 1
        row[1] += forecast.processor_seconds
        row[2] += measured.time
    return [Comparison(stage, rule, int(jobs), *seconds) for (stage, rule), (jobs, *seconds) in sorted(table.items())]
