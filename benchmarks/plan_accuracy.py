"""How well plans are: each finished run predicted from the rates and ratios of all the others, by stage.

    python benchmarks/plan_accuracy.py results/multi30k results/news ...

Without folders, those of all finished runs below results/. CPU seconds; a factor of 1 is a perfect plan. Texts
that experiments take from a mirror are counted in the reference data (``data`` in NEURAL_SMT_SHARED, by default
``../shared``), where nothing else is set.
"""

import sys
from pathlib import Path

from lib import SHARED

from neural_smt.planning.calibration import leave_one_out, read_runs

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
        table = leave_one_out(runs, run.name, by_rule).rename(
            columns={"predicted": "predicted s", "measured": "measured s"}
        )
        print(table.to_markdown(index=False, floatfmt=",.2f"))


if __name__ == "__main__":
    main()
