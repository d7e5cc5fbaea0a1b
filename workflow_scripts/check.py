"""The rule that checks an experiment before hours are spent on it."""

import shim
from neural_smt.planning import checking

shim.call(snakemake, checking)  # noqa: F821
