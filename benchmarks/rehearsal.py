"""How time, memory and disk grow with the data: `experiments/rehearsal.yaml` at several sizes, and a line through them.

    python benchmarks/rehearsal.py 250000 500000 1000000 [--cores 2] [--shards 4 4 16]

Runs what is missing (each size is an experiment of its own, which goes on where it was), then prints tables for
docs/clusters.md and draws results/rehearsal.png, as a report does. CPU seconds and memory (of a process
itself, without pages of mapped files) are those that jobs tell at the end of their logs.
"""

import argparse
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
from lib import ROOT, result_folders

from neural_smt.io.tables import read_frame
from neural_smt.planning.calibration import Run, count_iterations, fit_lines, merge_lines, observe, read_runs
from neural_smt.planning.forecasts import Throughputs
from neural_smt.planning.jobs import complete_configuration, list_jobs, whole_target
from neural_smt.planning.sizes import disk_use, measure_sizes
from neural_smt.report.costs import read_jobs, write_scaling_table

EXPERIMENT = "experiments/rehearsal.yaml"
MEMORY_LIMIT = 4000
"""MB that no job may hold."""


Settings = dict[str, Any]


def results_of(pairs: int) -> Path:
    """Where the results of a size lie."""
    return ROOT / "results" / f"rehearsal_{pairs // 1000}k"


def settings_of(pairs: int, shards: int) -> Settings:
    """What a size changes of the experiment."""
    return {"experiment": results_of(pairs).name, "shards": shards, "corpus": {"generator": {"pairs": pairs}}}


def run(settings: Settings, cores: int) -> None:
    """Run, or go on with, the experiment of a size."""
    command = [sys.executable, "-m", "snakemake", "--cores", str(cores), "--configfile", EXPERIMENT, "--quiet", "all"]
    changes = [f"{name}={json.dumps(value)}" for name, value in settings.items()]
    subprocess.run([*command, "--rerun-triggers", "mtime", "--config", *changes], cwd=ROOT, check=True)


SMALL = ("training", "decoding", "tuning", "evaluation")
"""Stages whose jobs depend on networks and sets, which are small here and tell little."""


def fit_memory(sizes: list[Settings]) -> None:
    """Write what the runs tell of memory into the rates that plans are made with; other rates stay as they are.

    All other finished runs below results/ tell of it too: they select text, and their networks are not small.
    """
    snakefile, rates = ROOT / "Snakefile", ROOT / "benchmarks" / "throughputs.json"
    runs = read_runs(results=result_folders(), snakefile=snakefile)
    for settings in sizes:
        config = complete_configuration(snakefile, [ROOT / EXPERIMENT], settings)
        folder = ROOT / "results" / config["experiment"]
        jobs = [job for job in list_jobs(snakefile, config, whole_target(config)) if job.stage not in SMALL]
        runs.append(Run(config, jobs, measure_sizes(folder, config), count_iterations(folder), folder))
    known = Throughputs.load(rates)
    found = fit_lines(pd.concat(map(observe, runs)), known.lines)
    memory = {rule: {"memory": lines["memory"]} for rule, lines in found.items() if "memory" in lines}
    replace(known, lines=merge_lines(known.lines, memory)).save(rates)


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
    benchmarks = {pairs: sorted((results_of(pairs) / "benchmarks").rglob("*.tsv")) for pairs in sorted(given.pairs)}
    if len(benchmarks) > 1:
        csv = ROOT / "results" / "rehearsal.csv"
        write_scaling_table(benchmarks=benchmarks, output=csv, plot=csv.with_suffix(".png"))
        print(read_frame(csv).to_markdown(index=False))
    print("\ndisk, GB:", {pairs: round(disk_use(results_of(pairs)) / 1e9, 2) for pairs in benchmarks})
    jobs = pd.concat([read_jobs(files).assign(pairs=pairs) for pairs, files in benchmarks.items()])
    memory = jobs.pivot_table(index="rule", columns="pairs", values="memory", aggfunc="max")
    memory = memory[memory.max(axis=1) > MEMORY_LIMIT / 8]
    print(f"\nlargest job of a rule, MB\n\n{memory.to_markdown(floatfmt=',.0f')}")
    over = jobs[jobs["memory"] > MEMORY_LIMIT]
    sys.exit(f"more than {MEMORY_LIMIT} MB: {', '.join(over['rule'].unique())}" if len(over) else 0)


if __name__ == "__main__":
    main()
