"""Rules of the stage ``alignment``."""

import shim
from neural_smt.alignment import steps

shim.call(snakemake, steps)  # noqa: F821
