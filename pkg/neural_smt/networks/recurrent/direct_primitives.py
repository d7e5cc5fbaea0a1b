"""Where the weights of the maximum entropy features lie (Mikolov et al. 2011): a hashed table without collision lists.

A feature is an n-gram: some words of history and a predicted class, or a predicted word within its class. The outputs
of one history lie side by side, so only the place of the first one is hashed. The first half of the table belongs to
classes, the second to words. Histories are given most recent word first; ``BOS`` stands before the sentence; an
unknown word ends a history, so longer ones that would hold it have no features.
"""

import numpy as np

from neural_smt.jit import leaf, mix
from neural_smt.vocabulary import UNK

CLASSES = -1
"""In the place of a class: the features of the classes themselves."""


@leaf
def direct_places(history: np.ndarray, order: int, number: int, span: int, size: int, places: np.ndarray) -> int:
    """Write where the outputs of each history length 0, 1, ... start (int64 ``[order]``); return how many there are.

    history: int32 ``[order - 1]``; number: the class whose words are predicted, or ``CLASSES``; span: how many outputs
    there are (the words of that class, or all classes); size: of the whole table.
    """
    half = size // 2
    key = mix(np.uint64(number + 2))
    for length in range(order):
        if length > 0:
            if history[length - 1] == UNK:
                return length
            key = mix(key ^ np.uint64(history[length - 1] + 1))
        places[length] = np.int64(key % np.uint64(half - span + 1)) + (0 if number == CLASSES else half)
    return order
