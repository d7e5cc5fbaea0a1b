"""How processor time and memory of the phrase-based part grow with the number of sentence pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from neural_smt.errors import UserError
from neural_smt.io.files import write_csv
from neural_smt.report.costs import Job, order, read_job
from neural_smt.report.plots import COLOURS, GREY, clean, drawing

HEADER = ("pairs", "stage", "jobs", "processor_seconds", "peak_memory_mb", "fitted_seconds")
TOTAL = "total"
"""What the rows of all stages together are called."""


class Line(NamedTuple):
    """Seconds as a straight line over pairs: ``fixed`` + ``each`` x pairs, by least squares.

    share: of the variance of the seconds that the line explains (R squared).
    """

    fixed: float
    each: float
    share: float

    def at(self, pairs: float) -> float:
        """Seconds for so many pairs."""
        return self.fixed + self.each * pairs


Costs = dict[str, dict[int, tuple[int, float, float]]]
"""Stage -> pairs -> jobs, their summed processor seconds, and the highest memory of one of them (MB)."""


def read_costs(benchmarks: Mapping[int, Sequence[Path]]) -> Costs:
    """Sum up Snakemake's benchmark files of the jobs that were run for each number of pairs, by stage and in all."""
    if len(benchmarks) < 2:
        raise UserError(
            "scaling: one number of pairs shows no growth; give systems with two or more numbers of 'pairs'"
        )
    costs: Costs = {}
    for pairs, files in sorted(benchmarks.items()):
        jobs = [read_job(Path(file)) for file in files]
        for stage in sorted({job.stage for job in jobs}, key=order):
            costs.setdefault(stage, {})[pairs] = _sum([job for job in jobs if job.stage == stage])
        costs.setdefault(TOTAL, {})[pairs] = _sum(jobs)
    return costs


def _sum(jobs: Sequence[Job]) -> tuple[int, float, float]:
    return len(jobs), sum(job.processor_seconds for job in jobs), max(job.memory for job in jobs)


def fit_line(seconds: Mapping[int, float]) -> Line:
    """The line through seconds by number of pairs (two numbers or more)."""
    pairs, values = np.array(list(seconds), dtype=np.float64), np.array(list(seconds.values()))
    each, fixed = np.polyfit(pairs, values, 1)
    variance = np.sum((values - values.mean()) ** 2)
    rest = np.sum((values - fixed - each * pairs) ** 2)
    return Line(float(fixed), float(each), float(1.0 - rest / variance) if variance > 0 else 1.0)


def write_scaling(path: Path, costs: Costs) -> None:
    """Write a CSV row for each number of pairs and stage, those of all stages together last."""
    rows = []
    for stage in sorted(costs, key=lambda name: (name == TOTAL, order(name))):
        line = fit_line({pairs: seconds for pairs, (_, seconds, _) in costs[stage].items()})
        for pairs, (jobs, seconds, memory) in costs[stage].items():
            rows.append((pairs, stage, jobs, f"{seconds:.2f}", f"{memory:.1f}", f"{line.at(pairs):.2f}"))
    write_csv(path, HEADER, rows)


def draw_scaling(path: Path, costs: Costs) -> None:
    """Draw seconds of each stage with their lines, and the highest memory of one job, over pairs."""
    stages = sorted((stage for stage in costs if stage != TOTAL), key=order)
    total = fit_line({pairs: seconds for pairs, (_, seconds, _) in costs[TOTAL].items()})
    with drawing(path, 10.0, 4.2) as figure:
        times, memory = figure.subplots(1, 2)
        for number, stage in enumerate([TOTAL, *stages]):
            colour = "black" if stage == TOTAL else COLOURS[(number - 1) % len(COLOURS)]
            _draw_stage(times, stage, costs[stage], colour)
        times.set(xlabel="sentence pairs", ylabel="processor time of all jobs (s)")
        times.set_title(f"{1000 * total.each:.2f} s per 1,000 pairs + {total.fixed:.0f} s (R² {total.share:.3f})")
        times.legend(frameon=False, fontsize="small")
        for number, stage in enumerate(stages):
            values = costs[stage]
            memory.plot(
                list(values), [most for _, _, most in values.values()], "o-", color=COLOURS[number % len(COLOURS)]
            )
        memory.set(xlabel="sentence pairs", ylabel="peak memory of one job (MB)")
        for axes in (times, memory):
            axes.set_xlim(left=0)
            axes.set_ylim(bottom=0)
            axes.xaxis.set_major_locator(MaxNLocator(5))  # more of such long labels would touch
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
            clean(axes)


def _draw_stage(axes: Axes, stage: str, values: Mapping[int, tuple[int, float, float]], colour: str) -> None:
    pairs = list(values)
    seconds = {number: second for number, (_, second, _) in values.items()}
    line = fit_line(seconds)
    axes.plot(pairs, list(seconds.values()), "o", color=colour, markersize=5, label=stage.replace("_", " "))
    axes.plot(pairs, [line.at(number) for number in pairs], "-", color=colour if stage == TOTAL else GREY, linewidth=1)
