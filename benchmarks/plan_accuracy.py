"""How well plans are: each finished run predicted from the rates and ratios of all the others, by stage.

    python benchmarks/plan_accuracy.py results/multi30k results/news ...

Without folders, those of all finished runs below results/. Processor seconds; a factor of 1 is a perfect plan. Texts
that experiments take from a mirror are counted in the reference data (``data`` in NEURAL_SMT_SHARED, by default
``../shared``), where nothing else is set.
"""

import sys
from pathlib import Path

from lib import SHARED

from neural_smt.planning.accuracy import leave_one_out
from neural_smt.planning.steps import read_runs

REPOSITORY = Path(__file__).parents[1]


def main() -> None:
    """Print a table for every run that there are others beside."""
    by_rule = "--rules" in sys.argv
    given = [Path(argument) for argument in sys.argv[1:] if argument != "--rules"]
    found = given or sorted(path.parent for path in (REPOSITORY / "results").glob("*/benchmarks"))
    runs = read_runs(results=found, snakefile=REPOSITORY / "Snakefile")
    if len(runs) < 2:
        print("fewer than two finished runs; nothing to predict one from")
        return
    for run in runs:
        run.config["data_mirror"] = run.config["data_mirror"] or str(SHARED / "data")
        print(f"\n{run.name}, from {', '.join(other.name for other in runs if other is not run)}\n")
        print("| stage | jobs | predicted s | measured s | factor |\n|---|---:|---:|---:|---:|")
        for row in leave_one_out(runs, run.name, by_rule):
            name = f"{row.stage}: {row.rule}" if by_rule else row.stage
            print(f"| {name} | {row.jobs} | {row.predicted:,.1f} | {row.measured:,.1f} | {row.factor:.2f} |")


if __name__ == "__main__":
    main()
