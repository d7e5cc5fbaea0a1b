"""Partitions of the phrase pairs, grouped each by itself; what a target phrase counts in all of them is joined after.

A target phrase has occurrences in many partitions, which are those of source phrases. Each partition therefore lists
its target phrases with what they count there, cut into partitions of target phrases; of one such list of every
partition, their totals are summed up, and go back to each in the order of its own list.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.files import load_array, save_arrays
from neural_smt.io.ragged import Ragged
from neural_smt.phrases.extraction import ExtractedPairs
from neural_smt.phrases.grouping import GroupedPairs, group_pairs
from neural_smt.phrases.interning import gather_phrases, intern_phrases
from neural_smt.phrases.shards import find_partitions, sort_by_partition

MOST_COUNTED = np.iinfo(np.int32).max
"""Counts are int32."""


@dataclass(frozen=True)
class GroupedPartition:
    """The entries of one partition.

    pairs: ``GroupedPairs`` whose counts c(e) are those of this partition alone; source: int32 ``Ragged``, its source
    phrases; targets: int32 ``Ragged`` of its T target phrases, by partition of target phrases, in shortlex order in
    each; target_counts: int32 ``[T]``; target_offsets: int64 ``[partitions + 1]``, where those of each begin.
    """

    pairs: GroupedPairs
    source: Ragged
    targets: Ragged
    target_counts: np.ndarray
    target_offsets: np.ndarray

    def save(self, folder: Path) -> None:
        """Write the arrays into an existing folder."""
        self.source.save(folder, "source")
        self.targets.save(folder, "targets")
        save_arrays(folder, target_counts=self.target_counts, target_offsets=self.target_offsets, **vars(self.pairs))

    @classmethod
    def load(cls, folder: Path) -> "GroupedPartition":
        """Read what ``save`` wrote into memory."""
        names = [field.name for field in fields(GroupedPairs)]
        counts, offsets, *arrays = (
            load_array(folder / f"{name}.npy", mapped=False) for name in ("target_counts", "target_offsets", *names)
        )
        sides = (Ragged.load(folder, name, mapped=False) for name in ("source", "targets"))
        return cls(GroupedPairs(*arrays), *sides, counts, offsets)

    def with_totals(self, totals: np.ndarray) -> GroupedPairs:
        """The pairs with c(e) of all partitions; totals: int32 ``[T]``, those of ``targets``."""
        counts = self.pairs.counts.copy()
        counts[:, 0] = totals[self.pairs.target]
        return replace(self.pairs, counts=counts)


def group_partition(pairs: ExtractedPairs, partitions: int, threads: int = 1) -> GroupedPartition:
    """Group the occurrences of one partition (see ``group_pairs``) and cut its target phrases into partitions."""
    grouped = group_pairs(pairs, threads)
    order, offsets = sort_by_partition(find_partitions(pairs.target_phrases, partitions), partitions)
    number = np.empty(len(order), dtype=np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    return GroupedPartition(
        pairs=replace(grouped, target=number[grouped.target]),
        source=pairs.source_phrases,
        targets=gather_phrases(pairs.target_phrases, order),
        target_counts=np.bincount(pairs.target, minlength=len(order))[order].astype(np.int32),
        target_offsets=offsets,
    )


def sum_counts(folders: Sequence[Path], partition: int) -> Ragged:
    """What the target phrases of one partition of them count in all the saved ``GroupedPartition`` together.

    Returns int32 ``Ragged`` with a list for each folder: the totals of its target phrases of this partition, in its
    order. Raises ``UserError`` when one is too large.
    """
    lists, counts = zip(*(_listed_targets(folder, partition) for folder in folders), strict=True)
    offsets = np.zeros(len(lists) + 1, dtype=np.int64)
    np.cumsum([len(phrases) for phrases in lists], out=offsets[1:])
    _, numbers = intern_phrases(Ragged.concatenate(lists))
    totals = np.bincount(numbers, np.concatenate(counts)).astype(np.int64)
    if totals.max(initial=0) > MOST_COUNTED:
        raise UserError(f"a target phrase was extracted {totals.max()} times, more than {MOST_COUNTED}; take less text")
    return Ragged(totals[numbers].astype(np.int32), offsets)


def _listed_targets(folder: Path, partition: int) -> tuple[Ragged, np.ndarray]:
    """A partition's target phrases that are in one partition of these, and their counts there."""
    begin, end = load_array(folder / "target_offsets.npy", mapped=False)[partition : partition + 2].tolist()
    mapped = Ragged.load(folder, "targets")
    offsets = np.array(mapped.offsets[begin : end + 1])
    phrases = Ragged(np.array(mapped.values[offsets[0] : offsets[-1]]), offsets - offsets[0])
    return phrases, np.array(load_array(folder / "target_counts.npy")[begin:end])


def load_totals(folders: Sequence[Path], number: int) -> np.ndarray:
    """int32 ``[T]``: the totals of the target phrases of grouped partition ``number``, from the saved ``sum_counts`` of
    all partitions of target phrases, in order.
    """
    totals = (Ragged.load(folder, TOTALS)[number] for folder in folders)
    return np.concatenate([np.array(own) for own in totals])


TOTALS = "totals"
"""The name that the result of ``sum_counts`` is saved under."""
