"""Rules of the stage ``language_model``."""

import shim
from neural_smt.language_model import steps

shim.call(snakemake, steps)  # noqa: F821
