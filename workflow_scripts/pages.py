"""Rules of the stage ``report`` that write pages of what others have made: without Numba and Matplotlib."""

import shim
from neural_smt.report import page_steps, sentence_steps

shim.call(snakemake, page_steps, sentence_steps)  # noqa: F821
