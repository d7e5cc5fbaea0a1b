"""Rules of the stage ``rescoring``."""

import shim
from neural_smt.rescoring import steps

shim.call(snakemake, steps)  # noqa: F821
