"""Neural SMT: phrase-based translation with recurrent networks, from raw text to BLEU.

Each stage of the pipeline is one module or subpackage, named as in ``rules/``:
``corpus``, ``selection``, ``alignment``, ``phrases``, ``language_model``, ``shortlist``, ``training``
(with ``networks``), ``rescoring``, ``decoding``, ``tuning``, ``evaluation`` and ``report``.
A stage may import the stages before it in this list, never those after it; one exception: ``selection`` scores text
with models of ``language_model``.
"""

import os

__version__ = "0.1.0"

# How long a thread of PyTorch's waits in a loop before it lets others run. The default is so long that on a machine
# shared with other processes training becomes many times slower. Read when OpenMP is loaded, so set before any import.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
