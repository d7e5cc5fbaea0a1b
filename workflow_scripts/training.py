"""Rules of the stage ``training``."""

import shim
from neural_smt.training import steps

shim.call(snakemake, steps)  # noqa: F821
