"""Rules of the stage ``report``."""

import shim
from neural_smt.report import alignment_steps, page_steps, sentence_steps, steps

shim.call(snakemake, steps, page_steps, sentence_steps, alignment_steps)  # noqa: F821
