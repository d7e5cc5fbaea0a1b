"""Parts of the training text with a target vocabulary of fixed size each (Jean et al. 2015, section 3.1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.ragged import Ragged
from neural_smt.vocabulary import EOS, RESERVED, UNK


@dataclass(frozen=True)
class Partitions:
    """Batches in training order, cut into P parts, each with its vocabulary V'_i of ``tau`` words.

    starts: int64 ``[P + 1]``, the batches ``starts[p]`` to ``starts[p + 1] - 1`` are those of part p; ids: int32
    ``[P, tau]``, distinct ids of the network vocabulary in rising order, UNK and EOS among them.
    """

    starts: np.ndarray
    ids: np.ndarray

    def __len__(self) -> int:
        """The number of parts P."""
        return len(self.ids)

    def of_batch(self, batch: int) -> np.ndarray:
        """int64 ``[tau]``: the target vocabulary of a batch (counted from 0)."""
        if not 0 <= batch < self.starts[-1]:
            raise IndexError(f"batch {batch} of {self.starts[-1]}")
        return self.ids[np.searchsorted(self.starts, batch, side="right") - 1].astype(np.int64)


def partitions(sentences: Ragged, batches: Sequence[np.ndarray], tau: int, size: int) -> Partitions:
    """Walk the batches in training order and begin a new part where the distinct words would become more than ``tau``.

    sentences: int32 network ids of target sentences; batches: rows of ``sentences``, in training order; tau: words of a
    vocabulary, UNK and EOS included; size: words of the network vocabulary, reserved entries included. Places that a
    part does not need keep words of the part before it, at first the most frequent ones; of these the most frequent
    stay. Raises ``UserError`` where a single batch has more than ``tau`` distinct words.
    """
    if not len(RESERVED) <= tau < size:
        raise UserError(
            f"training: tau is {tau}, but the network knows {size - 1} target words, UNK and EOS included; "
            f"set it to {len(RESERVED)} to {size - 1}, or to 0"
        )
    starts: list[int] = []
    distinct, inside = tau, np.zeros(size, dtype=np.bool_)  # the words of the last part
    for number, rows in enumerate(batches):
        words = np.union1d(sentences.take(rows).values, [UNK, EOS])
        if len(words) > tau:
            raise UserError(
                f"training: batch {number + 1} has {len(words)} distinct target words, more than tau ({tau}); "
                "make tau larger or the batches smaller"
            )
        distinct += np.count_nonzero(~inside[words])
        if not starts or distinct > tau:
            starts.append(number)
            inside[:] = False
            distinct = len(words)
        inside[words] = True
    starts.append(len(batches))
    ids = np.empty((len(starts) - 1, tau), dtype=np.int32)
    before = np.concatenate([[UNK, EOS], np.arange(len(RESERVED), len(RESERVED) + tau - 2)])
    for part, (start, stop) in enumerate(pairwise(starts)):
        needed = np.union1d(sentences.take(np.concatenate(batches[start:stop])).values, [UNK, EOS])
        kept = np.setdiff1d(before, needed, assume_unique=True)[: tau - len(needed)]
        before = ids[part] = np.sort(np.concatenate([needed, kept]))
    return Partitions(np.array(starts), ids)
