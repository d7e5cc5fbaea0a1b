"""Rules of the stage ``phrases``."""

import shim
from neural_smt.phrases import shard_steps, steps

shim.call(snakemake, steps, shard_steps)  # noqa: F821
