"""Whole translations as the search made them."""

from dataclasses import dataclass

import numpy as np

from neural_smt.decoding.options import WeightedSentences
from neural_smt.io.ragged import Ragged


@dataclass(frozen=True)
class Derivations:
    """Whole translations out of a search, n of them.

    sentences: int64 ``[n]``, number of the sentence; words: int32 ``Ragged`` of n, target words; options, starts: int32
    ``Ragged`` of n, the options that they are made of, in target order, and the first source word of each.
    """

    weighted: WeightedSentences
    sentences: np.ndarray
    words: Ragged
    options: Ragged
    starts: Ragged
