"""Rules of the stage ``report`` that show how sentences were translated and aligned, step by step."""

import shim
from neural_smt.report import alignment_steps, explaining_steps

shim.call(snakemake, alignment_steps, explaining_steps)  # noqa: F821
