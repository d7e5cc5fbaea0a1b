"""Time and memory of the stages, from the benchmarks of their jobs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from neural_smt.errors import UserError
from neural_smt.io.files import write_csv
from neural_smt.report.plots import BLUE, clean, drawing
from neural_smt.workflow.job_usage import Place, read_benchmark

STAGES = (
    "corpus",
    "selection",
    "alignment",
    "phrases",
    "language_model",
    "shortlist",
    "vocabularies",
    "representations",
    "training",
    "rescoring",
    "decoding",
    "tuning",
    "evaluation",
    "analysis",
    "report",
)
"""The stages in the order in which data flows through them."""


@dataclass(frozen=True)
class Job:
    """One job of a rule, see ``benchmarks.Measurement``."""

    stage: str
    rule: str
    seconds: float
    processor_seconds: float
    memory: float


def read_job(path: Path) -> Job:
    """Read ``.../benchmarks/<stage>/<rule>[.<wildcards>].tsv`` (or ``<stage>/<rule>/<wildcards>.tsv``)."""
    place = Place.of(path)
    if place is None:
        raise UserError(f"{path}: not below a folder benchmarks/<stage>, so of no known stage; give files of Snakemake")
    return Job(place.stage, place.rule, *read_benchmark(path))


def order(stage: str) -> tuple[int, str]:
    """Sort key: the stages as data flows, others after them."""
    return (STAGES.index(stage) if stage in STAGES else len(STAGES), stage)


def write_costs(path: Path, jobs: Iterable[Job]) -> None:
    """Write a CSV row per rule: its jobs, their summed seconds and the highest memory of one of them."""
    groups: dict[tuple[str, str], list[Job]] = {}
    for job in jobs:
        groups.setdefault((job.stage, job.rule), []).append(job)
    rows = [
        [
            stage,
            rule,
            len(group),
            f"{sum(job.seconds for job in group):.2f}",
            f"{sum(job.processor_seconds for job in group):.2f}",
            f"{max(job.memory for job in group):.1f}",
        ]
        for (stage, rule), group in sorted(groups.items(), key=lambda item: (order(item[0][0]), item[0][1]))
    ]
    write_csv(path, ["stage", "rule", "jobs", "seconds", "processor_seconds", "peak_memory_mb"], rows)


def draw_costs(path: Path, jobs: Sequence[Job]) -> None:
    """Draw the seconds of all jobs and the highest memory of one job, by stage."""
    stages = sorted({job.stage for job in jobs}, key=order)
    seconds = [sum(job.seconds for job in jobs if job.stage == stage) for stage in stages]
    memory = [max(job.memory for job in jobs if job.stage == stage) for stage in stages]
    with drawing(path, 9.0, 1.2 + 0.35 * len(stages)) as figure:
        left, right = figure.subplots(1, 2, sharey=True)
        for axes, values, label in (
            (left, seconds, "wall time of all jobs (s)"),
            (right, memory, "peak memory of one job (MB)"),
        ):
            bars = axes.barh(range(len(stages)), values, color=BLUE, height=0.6)
            axes.bar_label(bars, labels=[f"{value:,.0f}" for value in values], padding=3, fontsize=8)
            axes.set_yticks(range(len(stages)), [stage.replace("_", " ") for stage in stages])
            axes.set_ylim(len(stages) - 0.5, -0.5)
            axes.set_xlabel(label)
            axes.margins(x=0.15)
            clean(axes, grid="x")
