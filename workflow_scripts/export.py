"""The rule that writes a system as a folder for Moses."""

import shim
from neural_smt.decoding.moses import steps

shim.call(snakemake, steps)  # noqa: F821
