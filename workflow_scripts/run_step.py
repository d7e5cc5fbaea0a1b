"""The one script of all rules: it calls the function of the package that the param ``step`` names."""

import gc
import sys
from pathlib import Path

# All that is imported stays: to look for garbage there takes a fifth of the start. `run_step` enables it again.
gc.disable()
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "pkg"))

from neural_smt.workflow.run_step import run_step  # noqa: E402

run_step(snakemake)  # type: ignore[name-defined]  # noqa: F821  (Snakemake puts it there)
