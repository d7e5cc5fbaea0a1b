"""Time and memory of the stages, from the benchmarks of their jobs: in all, and by the number of sentence pairs."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from neural_smt import STAGES
from neural_smt.errors import UserError
from neural_smt.io.plots import BLUE, COLOURS, GREY, clean, drawing
from neural_smt.io.tables import formatted, write_frame
from neural_smt.workflow.job_usage import BenchmarkPath, read_benchmark

TOTAL = "total"
"""What the rows of all stages together are called."""

FORMATS = {"seconds": ".2f", "cpu_seconds": ".2f", "peak_memory_mb": ".1f"}


def read_jobs(paths: Iterable[Path]) -> pd.DataFrame:
    """A row for each benchmark ``.../benchmarks/<stage>/<rule>[.<wildcards>].tsv`` (or ``<rule>/<wildcards>.tsv``):
    its ``stage`` and ``rule``, and what the job took, see ``job_usage.Measurement``.
    """
    rows = []
    for path in map(Path, paths):
        benchmark = BenchmarkPath.of(path)
        if benchmark is None:
            raise UserError(f"{path}: not below benchmarks/<stage>, so of no known stage; give files of Snakemake")
        rows.append((benchmark.stage, benchmark.rule, *read_benchmark(path)))
    return pd.DataFrame(rows, columns=["stage", "rule", "seconds", "cpu_seconds", "memory"])


def in_order(stages: pd.Series) -> pd.Series:
    """Sort keys of a column: stages as data flows, others after them by name, their sum last."""
    places = {stage: number for number, stage in enumerate((*STAGES, *sorted(set(stages) - {*STAGES, TOTAL}), TOTAL))}
    return stages.map(lambda name: places.get(name, name))


def summarise_benchmarks(*, benchmarks: list[Path], output: Path, plot: Path) -> None:
    """Sum up time and memory of the rules (CSV) and stages (plot) from Snakemake's benchmark files."""
    jobs = read_jobs(benchmarks)
    if jobs.empty:
        raise UserError("no benchmark files were given; run the workflow first")
    rules = summed(jobs, ["stage", "rule"]).sort_values("rule").sort_values("stage", key=in_order, kind="stable")
    write_frame(output, formatted(rules, FORMATS))
    _draw_costs(plot, summed(jobs, ["stage"]).sort_values("stage", key=in_order))


def summed(jobs: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Of each group of jobs how many there are, their seconds in all and the highest memory of one of them."""
    groups = jobs.groupby(by, sort=False)
    return groups.agg(
        jobs=("seconds", "size"),
        seconds=("seconds", "sum"),
        cpu_seconds=("cpu_seconds", "sum"),
        peak_memory_mb=("memory", "max"),
    ).reset_index()


def _draw_costs(path: Path, stages: pd.DataFrame) -> None:
    with drawing(path, 9.0, 1.2 + 0.35 * len(stages)) as figure:
        labels = {"seconds": "wall time of these jobs (s)", "peak_memory_mb": "peak memory of one job (MB)"}
        for axes, (column, label) in zip(figure.subplots(1, 2, sharey=True), labels.items(), strict=True):
            bars = axes.barh(range(len(stages)), stages[column], color=BLUE, height=0.6)
            axes.bar_label(bars, labels=[f"{value:,.0f}" for value in stages[column]], padding=3, fontsize=8)
            axes.set_yticks(range(len(stages)), stages["stage"].str.replace("_", " "))
            axes.set_ylim(len(stages) - 0.5, -0.5)
            axes.set_xlabel(label)
            axes.margins(x=0.15)
            clean(axes, grid="x")


def write_scaling_table(*, benchmarks: dict[str, Any], output: Path, plot: Path) -> None:
    """Show how time and memory grow with the number of sentence pairs (CSV and plot).

    benchmarks: number of pairs -> Snakemake's benchmark files of the jobs that were run for it.
    """
    table = scaling_table({int(pairs): files for pairs, files in benchmarks.items()})
    write_frame(output, formatted(table, FORMATS | {"fitted_seconds": ".2f"}).drop(columns="seconds"))
    _draw_scaling(plot, table)


def scaling_table(benchmarks: Mapping[int, Iterable[Path]]) -> pd.DataFrame:
    """A row for each stage and number of pairs, those of all stages together last, with the least-squares line through
    them.
    """
    from scipy.stats import linregress  # half a second, which the table of costs need not wait for

    if len(benchmarks) < 2:
        raise UserError("scaling: one number of pairs shows no growth; give systems with several numbers of 'pairs'")
    jobs = pd.concat([read_jobs(files).assign(pairs=pairs) for pairs, files in sorted(benchmarks.items())])
    table = pd.concat([summed(part, ["pairs", "stage"]) for part in (jobs, jobs.assign(stage=TOTAL))])
    table = table.sort_values("pairs", kind="stable").sort_values("stage", key=in_order, kind="stable")
    fitted = []
    for _, own in table.groupby("stage", sort=False):
        if len(own) < 2:
            fitted.append(own["cpu_seconds"])
            continue
        line = linregress(own["pairs"], own["cpu_seconds"])
        fitted.append(line.intercept + line.slope * own["pairs"])
    return table.assign(fitted_seconds=np.concatenate(fitted))


def _draw_scaling(path: Path, table: pd.DataFrame) -> None:
    """Seconds of each stage with their lines, and the highest memory of one job, over pairs."""
    from scipy.stats import linregress

    stages = [stage for stage in table["stage"].unique() if stage != TOTAL]
    total = table[table["stage"] == TOTAL]
    line = linregress(total["pairs"], total["cpu_seconds"])
    with drawing(path, 10.0, 4.2) as figure:
        times, memory = figure.subplots(1, 2)
        for number, stage in enumerate([TOTAL, *stages]):
            own = table[table["stage"] == stage]
            colour = "black" if stage == TOTAL else COLOURS[(number - 1) % len(COLOURS)]
            label = stage.replace("_", " ")
            times.plot(own["pairs"], own["cpu_seconds"], "o", color=colour, markersize=5, label=label)
            times.plot(own["pairs"], own["fitted_seconds"], "-", color="black" if stage == TOTAL else GREY, linewidth=1)
            if stage != TOTAL:
                memory.plot(own["pairs"], own["peak_memory_mb"], "o-", color=colour)
        rate, explained = 1000 * line.slope, 1.0 if np.isnan(line.rvalue) else line.rvalue**2
        times.set_title(f"{rate:.2f} s per 1,000 pairs + {line.intercept:.0f} s (R² {explained:.3f})")
        times.legend(frameon=False, fontsize="small")
        _finish(times, "CPU time of all jobs (s)")
        _finish(memory, "peak memory of one job (MB)")


def _finish(axes: Axes, label: str) -> None:
    axes.set(xlabel="sentence pairs", ylabel=label)
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_locator(MaxNLocator(5))  # more of such long labels would touch
    for side in (axes.xaxis, axes.yaxis):
        side.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    clean(axes)
