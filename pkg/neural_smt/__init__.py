"""Neural SMT: phrase-based translation with recurrent networks, from raw text to BLEU.

Each stage of the pipeline (``STAGES``) is a module or a folder of this package. A stage may import the stages before
it, never those after it, with two exceptions: ``selection`` scores text with models of ``language_model``, and
``analysis`` makes its pages with what ``report`` has.
"""

import os

__version__ = "0.1.0"

STAGES = (
    "corpus",
    "selection",
    "alignment",
    "phrases",
    "language_model",
    "shortlist",
    "vocabulary_selection",
    "representations",
    "training",
    "rescoring",
    "decoding",
    "tuning",
    "evaluation",
    "analysis",
    "report",
)
"""The stages in the order in which data flows through them: names of rule files, modules, commands and results."""

# How long a thread of PyTorch's waits in a loop before it lets others run. The default is so long that on a machine
# shared with other processes training becomes many times slower. Read when OpenMP is loaded, so set before any import.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
