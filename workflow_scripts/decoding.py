"""Rules of the stage ``decoding``."""

import shim
from neural_smt.decoding import joining_steps, steps

shim.call(snakemake, steps, joining_steps)  # noqa: F821
