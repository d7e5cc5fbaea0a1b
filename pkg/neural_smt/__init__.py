"""Neural SMT: phrase-based translation with recurrent networks, from raw text to BLEU.

Each stage of the pipeline is one module or subpackage, named as in ``rules/``:
``corpus``, ``selection``, ``alignment``, ``phrases``, ``language_model``, ``shortlist``, ``training``
(with ``networks``), ``rescoring``, ``decoding``, ``tuning``, ``evaluation`` and ``report``.
A stage may import the stages before it in this list, never those after it; one exception: ``selection`` scores text
with models of ``language_model``.
"""

__version__ = "0.1.0"
