"""The auxiliary input f_t of the joint model (Auli et al. 2013, sections 2 and 5): what is known of the source.

Every f_t is a few vectors out of one table, one after the other: a single one for a representation of the sentence, one
for each word of a window around the source words that the predicted word is aligned to. Predictions that know the same
share one input.
"""

from dataclasses import dataclass

import numpy as np

from neural_smt.io.ragged import Ragged

LINKS = 5
"""Source words of a target word that count, at most (Auli et al. 2013, section 5.2)."""


@dataclass(frozen=True)
class LinkSets:
    """What predictions of target words are aligned to, N distinct ones.

    sentences: int32 ``[N]``, rising; positions: int32 ``Ragged`` of N, source positions within the sentence, rising, at
    most ``LINKS`` of them; none for the end of a sentence.
    """

    sentences: np.ndarray
    positions: Ragged

    def __len__(self) -> int:
        return len(self.sentences)


@dataclass(frozen=True)
class AuxiliaryInputs:
    """N inputs f of ``slots * dimensions`` numbers each.

    rows: int32 ``[N, slots]``, rows of the table; table: float32 ``[R, dimensions]``, or None where a network learned
    the vectors. Row 0 stands for no word: zeros where the vectors are given.
    """

    rows: np.ndarray
    table: np.ndarray | None

    def __len__(self) -> int:
        return len(self.rows)

    def vectors(self, inputs: np.ndarray, table: np.ndarray | None = None) -> np.ndarray:
        """float32 ``[n, slots * dimensions]``: f of the inputs numbered ``inputs`` (int ``[n]``).

        table: the learned vectors, where none are given here.
        """
        chosen = self.table if table is None else table
        if chosen is None:
            raise ValueError("these inputs have no table of their own; pass the network's")
        return chosen[self.rows[inputs]].reshape(len(inputs), -1)
