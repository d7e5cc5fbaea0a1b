"""Parts of the training text with a target vocabulary of fixed size each (Jean et al. 2015, section 3.1)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.ragged import Ragged
from neural_smt.jit import kernel
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
    lists = [sentences.take(rows).values for rows in batches]
    words = Ragged.from_lists(lists)
    starts = _cut(words.values, words.offsets, tau, size)
    if len(starts) and starts[-1] < 0:
        batch = -int(starts[-1]) - 1
        distinct = len(np.union1d(words[batch], [UNK, EOS]))
        raise UserError(
            f"training: batch {batch + 1} has {distinct} distinct target words, more than tau ({tau}); "
            "make tau larger or the batches smaller"
        )
    return _fill(words, np.append(starts, len(words)), tau)


def _fill(words: Ragged, starts: np.ndarray, tau: int) -> Partitions:
    """Give every part its words and, up to ``tau``, those of the part before."""
    ids = np.empty((len(starts) - 1, tau), dtype=np.int32)
    before = np.concatenate([[UNK, EOS], np.arange(len(RESERVED), len(RESERVED) + tau - 2)])
    for part in range(len(ids)):
        own = words.values[words.offsets[starts[part]] : words.offsets[starts[part + 1]]]
        needed = np.union1d(own, [UNK, EOS])
        kept = np.setdiff1d(before, needed, assume_unique=True)[: tau - len(needed)]
        before = ids[part] = np.sort(np.concatenate([needed, kept]))
    return Partitions(starts.astype(np.int64), ids)


@kernel
def _cut(values: np.ndarray, offsets: np.ndarray, tau: int, size: int) -> np.ndarray:
    """int64: the first batch of every part; a batch b that does not fit by itself ends them with ``-b - 1``."""
    seen = np.zeros(size, dtype=np.int64)  # the part, from 1, that a word was last counted in
    batch_seen = np.zeros(size, dtype=np.int64)
    starts = np.empty(len(offsets), dtype=np.int64)
    part, distinct = 0, tau + 1
    for batch in range(len(offsets) - 1):
        new, alone = 0, 2
        for place in range(offsets[batch], offsets[batch + 1]):
            word = values[place]
            if batch_seen[word] != batch + 1:
                batch_seen[word] = batch + 1
                alone += word != 0 and word != 2
                new += seen[word] != part and word != 0 and word != 2
        if alone > tau:
            starts[part] = -batch - 1
            return starts[: part + 1].copy()
        if distinct + new > tau:
            starts[part] = batch
            part += 1
            distinct = alone
        else:
            distinct += new
        for place in range(offsets[batch], offsets[batch + 1]):
            seen[values[place]] = part
    return starts[:part].copy()
