"""Rules of the stage ``vocabularies``."""

import shim
from neural_smt.vocabulary_selection import steps

shim.call(snakemake, steps)  # noqa: F821
