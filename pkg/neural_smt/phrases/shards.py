"""Work on phrase pairs in shards: occurrences by shard of the text, entries by partition of the source phrases.

All occurrences of a source phrase are in one partition, whichever shard of the text they come from, so that each
partition is consolidated and scored without the others. Which one it is follows from the phrase's first two words:
phrases that begin alike stay together, and so does the work of numbering them.

A target phrase has occurrences in many partitions. Each partition therefore lists its target phrases with what they
count there, cut into partitions of target phrases; of one such list of every partition, their totals are summed up, and
go back to each in the order of its own list.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from neural_smt.alignment.pharaoh import AlignedText
from neural_smt.errors import UserError
from neural_smt.io.files import load_array
from neural_smt.io.lookup_primitives import hash_words
from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.jit import kernel
from neural_smt.phrases.consolidation import ConsolidatedPairs, consolidate_pairs
from neural_smt.phrases.extraction import ExtractedPairs, PairSpans, check_pairs, extract_spans
from neural_smt.phrases.interning import gather_phrases, intern_parts, intern_phrases
from neural_smt.phrases.primitives import LENGTH_BITS

MOST_COUNTED = np.iinfo(np.int32).max
"""Counts are int32."""

TOTALS = "totals"
"""The name that the result of ``sum_counts`` is saved under."""


@dataclass(frozen=True)
class Occurrences:
    """The phrase pairs of a shard of sentences, by partition of their source phrase and then in the order of the text.

    source, target: int32 ``Ragged`` of the sentences' word ids; spans: see ``PairSpans``; offsets: int64
    ``[partitions + 1]``, where each partition begins; sentence_pairs: int32 ``[partitions, sentences]``, how many of
    its pairs each sentence has.
    """

    source: Ragged
    target: Ragged
    spans: PairSpans
    offsets: np.ndarray
    sentence_pairs: np.ndarray


@kernel
def _find_partitions(
    words: np.ndarray, sentence_offsets: np.ndarray, spans: np.ndarray, span_offsets: np.ndarray, partitions: int
) -> tuple[np.ndarray, np.ndarray]:
    """uint16 ``[spans]``, the partition of each span's phrase, and int32 ``[partitions, sentences]``, their numbers."""
    found = np.empty(len(spans), dtype=np.uint16)
    numbers = np.zeros((partitions, len(sentence_offsets) - 1), dtype=np.int32)
    for sentence in range(len(sentence_offsets) - 1):
        for number in range(span_offsets[sentence], span_offsets[sentence + 1]):
            start = sentence_offsets[sentence] + (spans[number] >> LENGTH_BITS)
            length = spans[number] & ((1 << LENGTH_BITS) - 1)
            partition = hash_words(words, start, start + min(length, 2)) % np.uint64(partitions)
            found[number] = partition
            numbers[np.int64(partition), sentence] += 1
    return found, numbers


def find_partitions(phrases: Ragged, partitions: int) -> np.ndarray:
    """uint16 ``[n]``: the partition of each phrase (int32 ids, 1 to 255 words)."""
    spans, offsets = phrases.lengths.astype(np.int32), np.arange(len(phrases) + 1, dtype=np.int64)
    return _find_partitions(phrases.values, phrases.offsets, spans, offsets, partitions)[0]


def sort_by_partition(found: np.ndarray, partitions: int) -> tuple[np.ndarray, np.ndarray]:
    """The indices that sort partitions stably, and int64 ``[partitions + 1]``, where each begins in that order."""
    return np.argsort(found, kind="stable"), offsets_of(np.bincount(found, minlength=partitions))


def extract_shard(text: AlignedText, partitions: int, max_length: int, threads: int = 1) -> Occurrences:
    """Extract the phrase pairs of a shard of sentences and cut them into partitions."""
    spans, span_offsets = extract_spans(text.source, text.target, text.alignments, max_length, threads)
    source = text.source
    found, numbers = _find_partitions(source.values, source.offsets, spans.source_spans, span_offsets, partitions)
    order, offsets = sort_by_partition(found, partitions)
    spans = PairSpans(*(array[order] for array in spans))
    return Occurrences(text.source, text.target, spans, offsets, numbers)


def load_partition(extracted: Sequence[Path], partition: int, max_length: int) -> ExtractedPairs:
    """The phrase pairs of one partition, from the saved ``Occurrences`` of all shards.

    Raises ``UserError`` when there are more than can be numbered.
    """
    places = [load_array(folder / "offsets.npy", mapped=False)[partition : partition + 2] for folder in extracted]
    check_pairs(sum(int(end - first) for first, end in places))

    def taken(name: str) -> list[np.ndarray]:
        both = zip(extracted, places, strict=True)
        return [np.array(load_array(folder / f"{name}.npy")[first:end]) for folder, (first, end) in both]

    spans = PairSpans(*map(taken, PairSpans._fields))
    offsets = [offsets_of(load_array(folder / "sentence_pairs.npy")[partition]) for folder in extracted]

    def side(name: str, own: list[np.ndarray]) -> tuple[np.ndarray, Ragged]:
        parts = (
            (Ragged.load(folder, name, mapped=False), Ragged(values, starts))
            for folder, values, starts in zip(extracted, own, offsets, strict=True)
        )
        phrases = intern_parts(parts, max_length)
        return np.concatenate(own), phrases

    source, source_phrases = side("source", spans.source_spans)
    target, target_phrases = side("target", spans.target_spans)
    links, orientation = np.concatenate(spans.links), np.concatenate(spans.orientation)
    return ExtractedPairs(source, target, links, orientation, source_phrases, target_phrases)


@dataclass(frozen=True)
class Partition:
    """The entries of one partition.

    pairs: ``ConsolidatedPairs`` whose counts c(e) are those of this partition alone; source: int32 ``Ragged``, its
    source phrases; targets: int32 ``Ragged`` of its T target phrases, by partition of target phrases, in shortlex order
    in each; target_counts: int32 ``[T]``; target_offsets: int64 ``[partitions + 1]``, where those of each begin.
    """

    pairs: ConsolidatedPairs
    source: Ragged
    targets: Ragged
    target_counts: np.ndarray
    target_offsets: np.ndarray

    def with_totals(self, totals: np.ndarray) -> ConsolidatedPairs:
        """The pairs with c(e) of all partitions; totals: int32 ``[T]``, those of ``targets``."""
        counts = self.pairs.counts.copy()
        counts[:, 0] = totals[self.pairs.target]
        return replace(self.pairs, counts=counts)


def consolidate_partition(pairs: ExtractedPairs, partitions: int, threads: int = 1) -> Partition:
    """Consolidate the occurrences of one partition and cut its target phrases into partitions."""
    consolidated = consolidate_pairs(pairs, threads)
    order, offsets = sort_by_partition(find_partitions(pairs.target_phrases, partitions), partitions)
    number = np.empty(len(order), dtype=np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    return Partition(
        pairs=replace(consolidated, target=number[consolidated.target]),
        source=pairs.source_phrases,
        targets=gather_phrases(pairs.target_phrases, order),
        target_counts=np.bincount(pairs.target, minlength=len(order))[order].astype(np.int32),
        target_offsets=offsets,
    )


def sum_counts(folders: Sequence[Path], partition: int) -> Ragged:
    """What the target phrases of one partition of them count in all the saved ``Partition`` together.

    Returns int32 ``Ragged`` with a list for each folder: the totals of its target phrases of this partition, in its
    order. Raises ``UserError`` when one is too large.
    """
    lists, counts = zip(*(_listed_targets(folder, partition) for folder in folders), strict=True)
    _, numbers = intern_phrases(Ragged.concatenate(lists))
    totals = np.bincount(numbers, np.concatenate(counts)).astype(np.int64)
    if totals.max(initial=0) > MOST_COUNTED:
        raise UserError(f"a target phrase was extracted {totals.max()} times, more than {MOST_COUNTED}; take less text")
    return Ragged(totals[numbers].astype(np.int32), offsets_of([len(phrases) for phrases in lists]))


def _listed_targets(folder: Path, partition: int) -> tuple[Ragged, np.ndarray]:
    """A partition's target phrases that are in one partition of these, and their counts there."""
    begin, end = load_array(folder / "target_offsets.npy", mapped=False)[partition : partition + 2].tolist()
    mapped = Ragged.load(folder, "targets")
    offsets = np.array(mapped.offsets[begin : end + 1])
    phrases = Ragged(np.array(mapped.values[offsets[0] : offsets[-1]]), offsets - offsets[0])
    return phrases, np.array(load_array(folder / "target_counts.npy")[begin:end])


def load_totals(folders: Sequence[Path], number: int) -> np.ndarray:
    """int32 ``[T]``: the totals of the target phrases of partition ``number`` (of source phrases), from the saved
    ``sum_counts`` of all partitions of target phrases, in order.
    """
    totals = (Ragged.load(folder, TOTALS)[number] for folder in folders)
    return np.concatenate([np.array(own) for own in totals])
