"""The n-grams of a back-off model as flat tables: what estimation makes, and what ARPA files hold."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class NgramTable:
    """All n-grams of one order, in any row order.

    words: int32 ``[rows, order]``, vocabulary ids; log10_prob: float32 ``[rows]``, log10 p(last word | words before);
    backoff: float32 ``[rows]``, log10 back-off weight of the n-gram as a context (0 where it has none).
    """

    words: np.ndarray
    log10_prob: np.ndarray
    backoff: np.ndarray

    def __len__(self) -> int:
        return len(self.words)

    @property
    def order(self) -> int:
        return self.words.shape[1]
