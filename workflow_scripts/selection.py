"""Rules of the stage ``selection``."""

import neural_smt.selection as steps

import shim

shim.call(snakemake, steps)  # noqa: F821
