"""Rules of the stage ``shortlist``."""

import shim
from neural_smt import shortlist as steps

shim.call(snakemake, steps)  # noqa: F821
