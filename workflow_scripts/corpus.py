"""Rules of the stage ``corpus``."""

import shim
from neural_smt.corpus import steps

shim.call(snakemake, steps)  # noqa: F821
