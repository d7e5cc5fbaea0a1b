"""Rules of the stage ``report``: tables and plots."""

import shim
from neural_smt.report import steps

shim.call(snakemake, steps)  # noqa: F821
