"""Rules of the stage ``selection``."""

import shim
from neural_smt.selection import scoring_steps, steps

shim.call(snakemake, steps, scoring_steps)  # noqa: F821
