"""Rules of the stage ``evaluation``."""

import shim
from neural_smt.evaluation import steps

shim.call(snakemake, steps)  # noqa: F821
