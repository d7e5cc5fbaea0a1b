"""Rules of the stage ``analysis``."""

import shim
from neural_smt.analysis import steps

shim.call(snakemake, steps)  # noqa: F821
