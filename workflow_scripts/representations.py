"""Rules of the stage ``representations``."""

import shim
from neural_smt.representations import steps

shim.call(snakemake, steps)  # noqa: F821
