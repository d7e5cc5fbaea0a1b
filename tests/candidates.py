"""Target vocabularies for tests."""

from collections.abc import Mapping

import numpy as np

from neural_smt.io.ragged import Ragged
from neural_smt.vocabulary_selection.candidates import CandidateSets


def whole_sets(ids: Ragged, size: int, origins: Mapping[str, str] | None = None) -> CandidateSets:
    """Sets that are given whole: int32 lists of distinct ids below ``size``, each in rising order."""
    return CandidateSets(ids, np.zeros(0, dtype=np.int32), size, origins or {})
