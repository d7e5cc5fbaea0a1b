"""Rules of the stage ``decoding``."""

import shim
from neural_smt.decoding import steps

shim.call(snakemake, steps)  # noqa: F821
