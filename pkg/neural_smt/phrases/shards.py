"""Extraction in shards of sentences: the occurrences of phrase pairs, cut into partitions by their source phrase.

All occurrences of a source phrase are in one partition, whichever shard they come from, so that each partition is
grouped and scored without the others. Which one it is follows from the phrase's first two words: phrases that begin
alike stay together, and so does the work of numbering them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neural_smt.alignment.aligned_text import AlignedText
from neural_smt.io.files import load_array, save_arrays
from neural_smt.io.ragged import Ragged
from neural_smt.jit import kernel
from neural_smt.phrases.extraction import ExtractedPairs, PairSpans, check_pairs, extract_spans
from neural_smt.phrases.interning import intern_parts
from neural_smt.phrases.primitives import LENGTH_BITS, hash_words


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

    def save(self, folder: Path) -> None:
        """Write the arrays into an existing folder."""
        self.source.save(folder, "source")
        self.target.save(folder, "target")
        save_arrays(folder, offsets=self.offsets, sentence_pairs=self.sentence_pairs, **self.spans._asdict())


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
    offsets = np.zeros(partitions + 1, dtype=np.int64)
    np.cumsum(np.bincount(found, minlength=partitions), out=offsets[1:])
    return np.argsort(found, kind="stable"), offsets


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
    places = [_partition_places(folder, partition) for folder in extracted]
    check_pairs(sum(end - first for first, end in places))
    spans = [[] for _ in PairSpans._fields]
    for folder, (first, end) in zip(extracted, places, strict=True):
        for arrays, name in zip(spans, PairSpans._fields, strict=True):
            arrays.append(np.array(load_array(folder / f"{name}.npy")[first:end]))
    offsets = [_sentence_offsets(folder, partition) for folder in extracted]

    def side(name: str, own: list[np.ndarray]) -> tuple[np.ndarray, Ragged]:
        parts = (
            (Ragged.load(folder, name, mapped=False), Ragged(values, starts))
            for folder, values, starts in zip(extracted, own, offsets, strict=True)
        )
        phrases = intern_parts(parts, max_length)
        return np.concatenate(own), phrases

    source, source_phrases = side("source", spans[0])
    target, target_phrases = side("target", spans[1])
    links, orientation = np.concatenate(spans[2]), np.concatenate(spans[3])
    return ExtractedPairs(source, target, links, orientation, source_phrases, target_phrases)


def _partition_places(folder: Path, partition: int) -> tuple[int, int]:
    offsets = load_array(folder / "offsets.npy", mapped=False)
    return int(offsets[partition]), int(offsets[partition + 1])


def _sentence_offsets(folder: Path, partition: int) -> np.ndarray:
    numbers = load_array(folder / "sentence_pairs.npy")[partition]
    offsets = np.zeros(len(numbers) + 1, dtype=np.int64)
    np.cumsum(numbers, out=offsets[1:])
    return offsets
