"""The one script of all rules: it calls the function of the package that the param ``step`` names."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "pkg"))

from neural_smt.workflow.run_step import run_step

run_step(snakemake)  # type: ignore[name-defined]  # noqa: F821  (Snakemake puts it there)
