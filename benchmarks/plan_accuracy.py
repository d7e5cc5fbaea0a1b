"""How well plans are: each finished run predicted from the rates and ratios of all the others, by stage.

    python benchmarks/plan_accuracy.py results/multi30k results/news ...

Without folders, those of all finished runs below results/. CPU seconds; a factor of 1 is a perfect plan. Texts
that experiments take from a mirror are counted in the reference data (``data`` in NEURAL_SMT_SHARED, by default
``../shared``), where nothing else is set.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from lib import ROOT, SHARED, result_folders

from neural_smt.planning.calibration import Run, fit_throughputs, observe, read_runs
from neural_smt.planning.forecasts import forecast_jobs
from neural_smt.planning.sizes import expect_sizes


def leave_one_out(runs: Sequence[Run], run: Run, by_rule: bool) -> pd.DataFrame:
    """CPU seconds that a run would have been predicted to take from all others, and those that it took.

    A row for each stage, or rule: jobs, predicted, measured, and factor, which is predicted over measured. Sizes are
    those that its texts have before anything ran; jobs that wrote no benchmark take no part.
    """
    throughputs = fit_throughputs([other for other in runs if other is not run])
    seen = observe(run).set_index("benchmark")["cpu"]
    sizes = expect_sizes(run.config, throughputs.ratios, Path("/nonexistent"))
    jobs = [job for job in run.jobs if job.benchmark in seen]
    forecasts = forecast_jobs(jobs, run.config, sizes, throughputs)
    columns = ["stage", "rule", "predicted s", "measured s"]
    rows = [(one.job.stage, one.job.rule, one.cpu_seconds, seen[one.job.benchmark]) for one in forecasts]
    groups = pd.DataFrame(rows, columns=columns).groupby(["stage", "rule"] if by_rule else ["stage"])
    table = groups[columns[2:]].sum().assign(jobs=groups.size())
    return table.assign(factor=table["predicted s"] / table["measured s"]).reset_index()


def main() -> None:
    """Print a table for every run that there are others beside."""
    by_rule = "--rules" in sys.argv
    given = [Path(argument) for argument in sys.argv[1:] if argument != "--rules"]
    runs = read_runs(results=given or result_folders(), snakefile=ROOT / "Snakefile")
    if len(runs) < 2:
        print("fewer than two finished runs; nothing to predict one from")
        return
    for run in runs:
        run.config["data_mirror"] = run.config["data_mirror"] or str(SHARED / "data")
        print(f"\n{run.name}, from {', '.join(other.name for other in runs if other is not run)}\n")
        print(leave_one_out(runs, run, by_rule).to_markdown(index=False, floatfmt=",.2f"))


if __name__ == "__main__":
    main()
