"""Rules of attention networks, of the stages ``training`` and ``decoding``."""

import shim
from neural_smt.decoding import attention_steps as decoding
from neural_smt.decoding import epoch_steps as epochs
from neural_smt.training import attention_steps as training

shim.call(snakemake, training, decoding, epochs)  # noqa: F821
