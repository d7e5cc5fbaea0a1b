"""Rules of the stage ``selection``."""

import shim
from neural_smt.selection import steps

shim.call(snakemake, steps)  # noqa: F821
