"""The rule of the stage ``report`` that asks systems how they translate."""

import shim
from neural_smt.report import explaining_steps

shim.call(snakemake, explaining_steps)  # noqa: F821
