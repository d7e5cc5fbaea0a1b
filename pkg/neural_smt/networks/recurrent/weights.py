"""A trained recurrent model as plain arrays, as kernels read it."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from neural_smt.networks.recurrent.configuration import RecurrentConfig, WordClasses


class RecurrentWeights(NamedTuple):
    """All float32 and contiguous. V words, H hidden units, C classes, D inputs (0 without auxiliary input).

    embedding (U transposed): ``[V, H]``; recurrent (W): ``[H, H]``, outputs first; input_hidden (F): ``[H, D]``;
    class_output, word_output (V and G side by side): ``[C, H + D]`` and ``[V - 1, H + D]``, a row for every class and
    every unit; direct: ``[direct_size]``; offsets: int64 ``[C + 1]``; unit_of_word, class_of_word: int32 ``[V]``, -1
    for ``BOS``; direct_order: longest n-gram of the direct features.
    """

    embedding: np.ndarray
    recurrent: np.ndarray
    input_hidden: np.ndarray
    class_output: np.ndarray
    word_output: np.ndarray
    direct: np.ndarray
    offsets: np.ndarray
    unit_of_word: np.ndarray
    class_of_word: np.ndarray
    direct_order: int

    @classmethod
    def of(cls, config: RecurrentConfig, classes: WordClasses, weights: Mapping[str, np.ndarray]) -> "RecurrentWeights":
        """From the network's parameters by name; those that the configuration does without are empty."""
        empty = {"input_hidden": (config.hidden, 0), "direct": (0,)}
        arrays = {}
        for name in cls._fields[:6]:
            array = weights[name] if name in weights else np.zeros(empty[name])
            arrays[name] = np.ascontiguousarray(array, dtype=np.float32)
        return cls(
            **arrays,
            offsets=np.ascontiguousarray(classes.offsets, dtype=np.int64),
            unit_of_word=classes.unit_of_word,
            class_of_word=classes.class_of_word,
            direct_order=config.direct_order,
        )
