"""Rules of the stage ``shortlist``."""

import neural_smt.shortlist as steps
import shim

shim.call(snakemake, steps)  # noqa: F821
