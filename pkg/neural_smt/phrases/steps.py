"""The steps of the stage ``phrases``.

A phrase table is built at once, or of parts that shards have made: each shard of the sentences is extracted
(``extract_phrases``); what was extracted is cut into as many partitions by source phrase, each consolidated by itself
(``consolidate_phrases``); what target phrases count in all of them is summed up in partitions of target phrases
(``count_targets``); then each partition is scored (``score_phrases``). The table is the same to the byte.

All occurrences of a source phrase are in one partition, whichever shard of the text they come from, so that each
partition is consolidated and scored without the others. Which one it is follows from the phrase's first two words:
phrases that begin alike stay together, and so does the work of numbering them. A target phrase has occurrences in many
partitions. Each partition therefore lists its target phrases with what they count there, cut into partitions of target
phrases; of one such list of every partition, their totals are summed up, and go back to each in the order of its own
list.

One shard does not go through files: of 29,000 sentence pairs the five steps take 4.0 CPU seconds, besides four more
processes to start; building the table at once takes 2.9.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np

from neural_smt.alignment.lexical import LexicalTable
from neural_smt.alignment.pharaoh import count_pairs, read_aligned
from neural_smt.errors import UserError
from neural_smt.io.arrays import read_arrays
from neural_smt.io.files import atomic
from neural_smt.io.lookup_primitives import hash_words
from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.io.records import FILE, load_record, write_record
from neural_smt.io.sorting import inverse, sort_numbers
from neural_smt.jit import kernel
from neural_smt.phrases.extraction import ExtractedPairs, PairSpans, check_pairs, extract_pairs, extract_spans
from neural_smt.phrases.interning import gather_phrases, intern_parts, intern_phrases
from neural_smt.phrases.merge import merge_parts
from neural_smt.phrases.primitives import LENGTH_BITS
from neural_smt.phrases.scoring import ConsolidatedPairs, consolidate_pairs, score_entries, score_pairs
from neural_smt.shards import Shard
from neural_smt.vocabulary import Vocabulary

log = logging.getLogger(__name__)

MOST_COUNTED = np.iinfo(np.int32).max
"""Counts are int32."""


class Totals(NamedTuple):
    """What target phrases count in all; a list for each partition of source phrases."""

    totals: Annotated[Ragged, "int32 [parts]"]


@dataclass(frozen=True)
class Occurrences:
    """The phrase pairs of a shard of sentences, by partition of their source phrase and then in the order of the text.

    source, target: the sentences' word ids; spans: see ``PairSpans``; offsets: where each partition begins;
    sentence_pairs: how many of its pairs each sentence has.
    """

    source: Annotated[Ragged, "int32 [sentences] < *"]
    target: Annotated[Ragged, "int32 [sentences] < *"]
    spans: PairSpans
    offsets: Annotated[np.ndarray, "int64 [partitions+1] to P"]
    sentence_pairs: Annotated[np.ndarray, "int32 [partitions, sentences] < *"]


@dataclass(frozen=True)
class Partition:
    """The entries of one partition.

    pairs: ``ConsolidatedPairs`` whose counts c(e) are those of this partition alone; source: its source phrases;
    targets: its T target phrases, by partition of target phrases, in shortlex order in each; target_counts: a list for
    each partition of target phrases.
    """

    pairs: ConsolidatedPairs
    source: Annotated[Ragged, "int32 [S] < *"]
    targets: Annotated[Ragged, "int32 [T] < *"]
    target_counts: Annotated[Ragged, "int32 [partitions]"]


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
    return _find_partitions(*phrases.arrays, spans, offsets, partitions)[0]


def extract_phrases(
    *,
    source: Path,
    target: Path,
    alignment: Path,
    source_vocabulary: Path,
    target_vocabulary: Path,
    shard: str,
    max_length: int,
    output: Path,
    threads: int = 1,
) -> None:
    """Extract the phrase pairs of a shard of the sentences, cut into as many partitions by source phrase as there are
    shards; their words stand beside them.

    shard: such as ``2-of-4``, here and in the other steps; max_length: words a side, 1 to 8.
    """
    own = Shard.parse(shard)
    vocabularies = Vocabulary.load(source_vocabulary), Vocabulary.load(target_vocabulary)
    part = own.range(count_pairs(source, target, alignment))
    sources, targets, links = read_aligned(source, target, alignment, vocabularies, part)
    spans, span_offsets = extract_spans(sources, targets, links, max_length, threads)
    found, numbers = _find_partitions(*sources.arrays, spans.source_spans, span_offsets, own.count)
    order, offsets = sort_numbers(found, own.count)
    log.info("%d phrase pairs extracted from %d sentence pairs", len(order), len(part))
    spans = PairSpans(*(array[order] for array in spans))
    write_record(output, Occurrences(sources, targets, spans, offsets, numbers))


def consolidate_phrases(*, extracted: list[Path], shard: str, max_length: int, output: Path, threads: int = 1) -> None:
    """Consolidate the phrase pairs of one partition, taken from all shards of the sentences (in their order)."""
    pairs = _load_partition(extracted, Shard.parse(shard).number - 1, max_length)
    consolidated = consolidate_pairs(pairs, threads)
    partitions = len(extracted)
    order, offsets = sort_numbers(find_partitions(pairs.target_phrases, partitions), partitions)
    partition = Partition(
        pairs=consolidated._replace(target=inverse(order)[consolidated.target]),
        source=pairs.source_phrases,
        targets=gather_phrases(pairs.target_phrases, order),
        target_counts=Ragged(np.bincount(pairs.target, minlength=len(order))[order].astype(np.int32), offsets),
    )
    log.info("%d entries of %d phrase pairs", len(consolidated.target), len(pairs))
    write_record(output, partition)


def _load_partition(extracted: Sequence[Path], partition: int, max_length: int) -> ExtractedPairs:
    """The phrase pairs of one partition, from the saved ``Occurrences`` of all shards.

    Raises ``UserError`` when there are more than can be numbered.
    """
    shards = [load_record(Occurrences, folder) for folder in extracted]
    places = [slice(*own.offsets[partition : partition + 2].tolist()) for own in shards]
    check_pairs(sum(place.stop - place.start for place in places))
    source, target, links, orientation = (
        [np.array(values[place]) for values, place in zip(column, places, strict=True)]
        for column in zip(*(own.spans for own in shards), strict=True)
    )
    offsets = [offsets_of(own.sentence_pairs[partition]) for own in shards]

    def intern(side: str, spans: list[np.ndarray]) -> Ragged:
        """The phrases of a side, by which the spans are replaced; one text is held at a time."""
        names = f"{side}.values", f"{side}.offsets"
        texts = (Ragged(*read_arrays(folder / FILE, names, mapped=False).values()) for folder in extracted)
        return intern_parts(zip(texts, map(Ragged, spans, offsets), strict=True), max_length)

    phrases = intern("source", source), intern("target", target)
    sources, targets, all_links, orientations = map(np.concatenate, (source, target, links, orientation))
    return ExtractedPairs(sources, targets, all_links, orientations, *phrases)


def count_targets(*, consolidated: list[Path], shard: str, output: Path) -> None:
    """Sum up what the target phrases of one partition of these count in all partitions of source phrases.

    Raises ``UserError`` when one is too large.
    """
    number = Shard.parse(shard).number
    lists, counts = [], []
    for folder in consolidated:
        partition = load_record(Partition, folder)
        lists.append(partition.targets.part(*partition.target_counts.offsets[number - 1 : number + 1].tolist()))
        counts.append(partition.target_counts[number - 1])
    _, numbers = intern_phrases(Ragged.concatenate(lists))
    totals = np.bincount(numbers, np.concatenate(counts)).astype(np.int64)
    if totals.max(initial=0) > MOST_COUNTED:
        raise UserError(f"a target phrase was extracted {totals.max()} times, more than {MOST_COUNTED}; take less text")
    write_record(output, Totals(Ragged(totals[numbers].astype(np.int32), offsets_of(list(map(len, lists))))))


def score_phrases(
    *, partition: Path, totals: list[Path], shard: str, lexical: Path, smoothing: float, output: Path, threads: int = 1
) -> None:
    """Score the entries of one partition of the source phrases.

    smoothing: added to each orientation count; totals: those of all partitions of target phrases.
    """
    own, number = load_record(Partition, partition, mapped=False), Shard.parse(shard).number - 1
    sums = [load_record(Totals, folder).totals[number] for folder in totals]
    own.pairs.counts[:, 0] = np.concatenate(sums)[own.pairs.target]
    words = [int(phrases.values.max(initial=-1)) + 1 for phrases in (own.source, own.targets)]
    table = _load_lexical(lexical, words, exactly=False)
    write_record(output, score_entries(own.pairs, own.source, own.targets, table, smoothing, threads))


def build_phrase_table(
    *,
    source: Path,
    target: Path,
    alignment: Path,
    lexical: Path,
    source_vocabulary: Path,
    target_vocabulary: Path,
    max_length: int,
    smoothing: float,
    output: Path,
    parts: Sequence[Path] = (),
    threads: int = 1,
) -> None:
    """Write the phrase table of an aligned text with its reordering model.

    max_length, smoothing: as of ``extract_phrases`` and ``score_phrases``; parts: what ``score_phrases`` wrote of all
    partitions, which are merged. Without them the phrase pairs are extracted and scored here.
    """
    vocabularies = Vocabulary.load(source_vocabulary), Vocabulary.load(target_vocabulary)
    if parts:
        with atomic(output, directory=True) as temporary:
            table = merge_parts(parts, temporary, (vocabularies[0].digest, vocabularies[1].digest), max_length)
    else:
        sources, targets, links = read_aligned(source, target, alignment, vocabularies)
        words = _load_lexical(lexical, [len(vocabulary) for vocabulary in vocabularies], exactly=True)
        pairs = extract_pairs(sources, targets, links, max_length, threads)
        log.info("%d phrase pairs extracted from %d sentence pairs", len(pairs), len(sources))
        table = score_pairs(pairs, words, *vocabularies, max_length, smoothing, threads)
        table.save(output)
    log.info("%d entries of %d source phrases", len(table), len(table.source))


def _load_lexical(path: Path, words: Sequence[int], exactly: bool) -> LexicalTable:
    """The lexical tables of so many source and target words; ``UserError`` when they have others (or fewer)."""
    table = LexicalTable.load(path, mapped=False)
    sizes = [len(table.source_given_null), len(table.target_given_null)]
    if (exactly and sizes != words) or any(size < needed for size, needed in zip(sizes, words, strict=True)):
        raise UserError(f"{path}: made with other vocabularies; build the lexical tables again")
    return table
