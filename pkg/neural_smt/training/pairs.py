"""Training examples of the encoder-decoder: the distinct phrase pairs of a table, as shortlist ids."""

from dataclasses import dataclass

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.ragged import Ragged
from neural_smt.jit import kernel, mix
from neural_smt.phrases.table import PhraseTable


@dataclass(frozen=True)
class PhrasePairs:
    """Pair i is (source i, target i): int32 shortlist ids, without end symbols."""

    source: Ragged
    target: Ragged

    def __len__(self) -> int:
        return len(self.source)

    def take(self, rows: np.ndarray) -> "PhrasePairs":
        """The pairs at ``rows``, in that order."""
        return PhrasePairs(self.source.take(rows), self.target.take(rows))

    def swapped(self) -> "PhrasePairs":
        """The same pairs with their sides exchanged."""
        return PhrasePairs(self.target, self.source)

    @property
    def lengths(self) -> np.ndarray:
        """int64 ``[n]``: words of the longer side of each pair."""
        return np.maximum(self.source.lengths, self.target.lengths)


def table_pairs(table: PhraseTable, source_ids: np.ndarray, target_ids: np.ndarray, max_length: int) -> PhrasePairs:
    """Every row of the table once, however often it was extracted (Cho et al. 2014, section 3.1).

    source_ids, target_ids: shortlist id of each id of the experiment's vocabularies. Words outside the shortlist
    become ``[UNK]`` and their pairs stay, as in the program: pairs that then look alike stay too. Pairs with more than
    ``max_length`` words on a side are left out.
    """
    source = Ragged(source_ids[table.source.values], np.asarray(table.source.offsets))
    source = source.take(table.entry_source)
    target = Ragged(target_ids[table.target.values], np.asarray(table.target.offsets))
    pairs = PhrasePairs(source, target)
    return pairs.take(np.flatnonzero(pairs.lengths <= max_length))


def split_pairs(pairs: PhrasePairs, held_out: int, seed: int) -> tuple[PhrasePairs, PhrasePairs]:
    """Training pairs and about ``held_out`` validation pairs.

    A pair's side depends on its words and the seed alone: pairs that look alike fall on the same side, and the split
    does not move when rows are added to the table.
    """
    share = held_out / max(len(pairs), 1)
    if share > 0.5:
        raise UserError(
            f"training: validation_pairs is {held_out}, but the phrase table has {len(pairs)} usable pairs; "
            "hold out fewer than half of them"
        )
    hashes = hash_pairs(
        pairs.source.values, pairs.source.offsets, pairs.target.values, pairs.target.offsets, np.uint64(seed)
    )
    chosen = hashes < np.uint64(share * 2.0**64)
    return pairs.take(np.flatnonzero(~chosen)), pairs.take(np.flatnonzero(chosen))


@kernel
def hash_pairs(
    source_values: np.ndarray,
    source_offsets: np.ndarray,
    target_values: np.ndarray,
    target_offsets: np.ndarray,
    seed: np.uint64,
) -> np.ndarray:
    """uint64 ``[n]``: a hash of the words of each pair."""
    count = len(source_offsets) - 1
    hashes = np.empty(count, dtype=np.uint64)
    for pair in range(count):
        state = mix(seed)
        for position in range(source_offsets[pair], source_offsets[pair + 1]):
            state = mix(state ^ np.uint64(source_values[position]))
        state = mix(~state)
        for position in range(target_offsets[pair], target_offsets[pair + 1]):
            state = mix(state ^ np.uint64(target_values[position]))
        hashes[pair] = state
    return hashes
