"""How time, memory and disk grow with the data: `experiments/rehearsal.yaml` at several sizes, and a line through them.

    python benchmarks/rehearsal.py 250000 500000 1000000 [--cores 2] [--shards 4 4 16]

Runs what is missing (each size is an experiment of its own, which goes on where it was), then prints tables for
docs/clusters.md and draws results/rehearsal.png. CPU seconds and memory (of a process
itself, without pages of mapped files) are those that jobs tell at the end of their logs.
"""

import argparse
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import linregress

from neural_smt.planning.calibration import Run, count_iterations, fit_lines, merge_lines, observe
from neural_smt.planning.forecasts import Throughputs
from neural_smt.planning.jobs import complete_configuration, list_jobs, whole_target
from neural_smt.planning.sizes import disk_use, measure_sizes
from neural_smt.report.costs import read_jobs

REPOSITORY = Path(__file__).parents[1]
EXPERIMENT = "experiments/rehearsal.yaml"
MEMORY_LIMIT = 4000
"""MB that no job may hold."""


Settings = dict[str, Any]


def results_of(pairs: int) -> Path:
    """Where the results of a size lie."""
    return REPOSITORY / "results" / f"rehearsal_{pairs // 1000}k"


def settings_of(pairs: int, shards: int) -> Settings:
    """What a size changes of the experiment."""
    return {"experiment": results_of(pairs).name, "shards": shards, "corpus": {"generator": {"pairs": pairs}}}


def run(settings: Settings, cores: int) -> None:
    """Run, or go on with, the experiment of a size."""
    command = [sys.executable, "-m", "snakemake", "--cores", str(cores), "--configfile", EXPERIMENT, "--quiet", "all"]
    changes = [f"{name}={json.dumps(value)}" for name, value in settings.items()]
    subprocess.run([*command, "--rerun-triggers", "mtime", "--config", *changes], cwd=REPOSITORY, check=True)


OF_SETS = ("decoding", "tuning", "evaluation")
"""Stages whose jobs depend on the sets, which are small here and tell little."""


def fit_memory(sizes: list[Settings]) -> None:
    """Write what the runs tell of memory into the rates that plans are made with; other rates stay as they are."""
    snakefile, rates = REPOSITORY / "Snakefile", REPOSITORY / "benchmarks" / "throughputs.json"
    runs = []
    for settings in sizes:
        config = complete_configuration(snakefile, [REPOSITORY / EXPERIMENT], settings)
        folder = REPOSITORY / "results" / config["experiment"]
        jobs = [job for job in list_jobs(snakefile, config, whole_target(config)) if job.stage not in OF_SETS]
        runs.append(Run(config, jobs, measure_sizes(folder, config), count_iterations(folder), folder))
    found = fit_lines(pd.concat(map(observe, runs)))
    known, memory = Throughputs.load(rates), {rule: {"memory": lines["memory"]} for rule, lines in found.items()}
    replace(known, lines=merge_lines(known.lines, memory)).save(rates)


def measured(pairs: int) -> pd.DataFrame:
    """A row for each job of a size: stage, rule, CPU seconds, MB of its own."""
    return read_jobs((results_of(pairs) / "benchmarks").rglob("*.tsv")).assign(millions=pairs / 1e6)


def main() -> None:
    """Run, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=int, nargs="+", help="pairs of the training text")
    parser.add_argument("--shards", type=int, nargs="*", default=[], help="of each size (a shard for 125,000 pairs)")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--fit", action="store_true", help="take memory over into benchmarks/throughputs.json")
    given = parser.parse_args()
    shards = given.shards or [max(pairs // 125_000, 1) for pairs in given.pairs]
    sizes = [settings_of(*size) for size in zip(given.pairs, shards, strict=True)]
    for settings in sizes:
        run(settings, given.cores)
    if given.fit:
        fit_memory(sizes)
    jobs = pd.concat([measured(pairs) for pairs in given.pairs], ignore_index=True)
    groups = jobs.groupby("millions")
    table = pd.DataFrame({"CPU minutes": groups["cpu_seconds"].sum() / 60, "jobs": groups.size()}).reset_index()
    table["minutes a million"] = table["CPU minutes"] / table["millions"]
    table["largest job, MB"] = groups["memory"].max().to_numpy()
    table["which"] = jobs.loc[groups["memory"].idxmax(), "rule"].to_numpy()
    table["disk, GB"] = [disk_use(results_of(pairs)) / 1e9 for pairs in sorted(given.pairs)]
    print(table.to_markdown(index=False, floatfmt=",.2f"))
    stages = jobs.pivot_table(index="stage", columns="millions", values="cpu_seconds", aggfunc="sum") / 60
    print(f"\nCPU minutes by stage\n\n{stages.to_markdown(floatfmt=',.2f')}")
    memory = jobs.pivot_table(index="rule", columns="millions", values="memory", aggfunc="max")
    memory = memory[memory.max(axis=1) > MEMORY_LIMIT / 8]
    print(f"\nlargest job of a rule, MB\n\n{memory.to_markdown(floatfmt=',.0f')}")
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    for axis, column in zip(axes, ("CPU minutes", "largest job, MB", "disk, GB"), strict=True):
        axis.plot(table["millions"], table[column], "o")
        if len(table) > 2:
            line = linregress(table["millions"], table[column])
            curved = linregress(table["millions"] * np.log(table["millions"] * 1e6), table[column])
            axis.axline((0, line.intercept), slope=line.slope, linewidth=1)
            said = f"{line.intercept:,.2f} + {line.slope:,.2f} a million, R2 {line.rvalue**2:.4f}"
            print(f"\n{column}: {said} (n log n: {curved.rvalue**2:.4f})")
        axis.set(title=column, xlabel="million pairs", ylim=(0, None))
    figure.savefig(REPOSITORY / "results" / "rehearsal.png", dpi=120)
    over = jobs[jobs["memory"] > MEMORY_LIMIT]
    sys.exit(f"more than {MEMORY_LIMIT} MB: {', '.join(over['rule'].unique())}" if len(over) else 0)


if __name__ == "__main__":
    main()
