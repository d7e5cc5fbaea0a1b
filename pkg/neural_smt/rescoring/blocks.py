"""Phrase pairs in blocks that are scored one after the other, each in as much memory as the block needs.

Blocks depend on the table alone, and nothing that is computed is shared by two of them: whoever scores them, all at
once or shards of them, scores are the same to the last bit.
"""

from dataclasses import dataclass

import numpy as np

from neural_smt.io.ragged import Ragged
from neural_smt.phrases.table import PhraseTable

PAIRS = 1 << 20
"""Pairs of a block, about: all of one phrase of the side that the network reads are in the same block."""


@dataclass(frozen=True)
class Block:
    """``n`` rows of a table as pairs to be scored, in ids of the network's words.

    rows: int64 ``[n]``; read: int32 ``Ragged``, the phrases that the network reads; read_of: int ``[n]``, which of
    them each pair has; predicted: int32 ``Ragged`` of n phrases.
    """

    rows: np.ndarray
    read: Ragged
    read_of: np.ndarray
    predicted: Ragged


class ForwardBlocks:
    """The pairs of a table for a network that reads source phrases: source phrases that follow one another.

    source_ids, target_ids: int32, the network's id of every word of the vocabularies.
    """

    def __init__(self, table: PhraseTable, source_ids: np.ndarray, target_ids: np.ndarray):
        self.table, self.source_ids, self.target_ids = table, source_ids, target_ids
        wanted = np.arange(0, len(table), PAIRS)
        starts = np.unique(np.searchsorted(table.entry_offsets, wanted, side="right") - 1)
        self.bounds = np.append(starts, len(table.source))

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __getitem__(self, number: int) -> Block:
        table, (first, last) = self.table, self.bounds[number : number + 2].tolist()
        offsets = np.asarray(table.entry_offsets[first : last + 1])
        read = _between(table.source, first, last, self.source_ids)
        predicted = _between(table.target, int(offsets[0]), int(offsets[-1]), self.target_ids)
        read_of = np.repeat(np.arange(len(read)), np.diff(offsets))
        return Block(np.arange(offsets[0], offsets[-1]), read, read_of, predicted)


class BackwardBlocks:
    """The same for a network that reads target phrases: those that a hash of their words puts together.

    A table has the pairs of a target phrase all over; 4 bytes a pair tell which block each belongs to.
    """

    def __init__(self, table: PhraseTable, source_ids: np.ndarray, target_ids: np.ndarray):
        self.table, self.source_ids, self.target_ids = table, source_ids, target_ids
        self.count = -(-len(table) // PAIRS)
        self.block_of = np.empty(len(table), dtype=np.int32)
        for start in range(0, len(table), PAIRS):
            stop = min(start + PAIRS, len(table))
            hashes = hash_phrases(_between(table.target, start, stop, target_ids))
            self.block_of[start:stop] = hashes % np.uint64(self.count)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, number: int) -> Block:
        rows = np.flatnonzero(self.block_of == number)
        sources = np.searchsorted(self.table.entry_offsets, rows, side="right") - 1
        read, predicted = self.table.target.take(rows), self.table.source.take(sources)
        return Block(
            rows,
            Ragged(self.target_ids[read.values], read.offsets),
            np.arange(len(rows)),
            Ragged(self.source_ids[predicted.values], predicted.offsets),
        )


def hash_phrases(phrases: Ragged) -> np.ndarray:
    """uint64 ``[n]``: equal for equal phrases of ids, otherwise spread evenly."""
    positions = np.arange(len(phrases.values)) - np.repeat(phrases.offsets[:-1], phrases.lengths)
    factors = np.uint64(0x9E3779B97F4A7C15) ** np.arange(1, phrases.lengths.max(initial=0) + 1, dtype=np.uint64)
    terms = (phrases.values.astype(np.uint64) + np.uint64(1)) * factors[positions]
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(terms)])
    hashes = sums[phrases.offsets[1:]] - sums[phrases.offsets[:-1]]  # modulo 2^64, and so is the sum
    hashes = (hashes ^ (hashes >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return hashes >> np.uint64(32)


def _between(phrases: Ragged, first: int, last: int, ids: np.ndarray) -> Ragged:
    """Phrases ``first:last`` with their words mapped to other ids."""
    offsets = np.asarray(phrases.offsets[first : last + 1])
    return Ragged(ids[phrases.values[offsets[0] : offsets[-1]]], offsets - offsets[0])
