"""Rules of the stage ``tuning``."""

import shim
from neural_smt.tuning import steps

shim.call(snakemake, steps)  # noqa: F821
