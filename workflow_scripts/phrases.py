"""Rules of the stage ``phrases``."""

import shim
from neural_smt.phrases import steps

shim.call(snakemake, steps)  # noqa: F821
