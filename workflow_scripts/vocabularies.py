"""Rules of the stage ``vocabularies``."""

import shim
from neural_smt.vocabularies import steps

shim.call(snakemake, steps)  # noqa: F821
