"""The steps of the stage ``phrases``.

A phrase table is built at once, or of parts that shards have made: each shard of the sentences is extracted
(``extract_phrases``); what was extracted is cut into as many partitions by source phrase, each consolidated by itself
(``consolidate_phrases``); what target phrases count in all of them is summed up in partitions of target phrases
(``count_targets``); then each partition is scored (``score_phrases``). The table is the same to the byte.

One shard does not go through files: of 29,000 sentence pairs the five steps take 4.0 CPU seconds, besides four more
processes to start; building the table at once takes 2.9.
"""

import logging
from collections.abc import Sequence
from pathlib import Path

from neural_smt.alignment.lexical import LexicalTable
from neural_smt.alignment.pharaoh import count_pairs, read_aligned
from neural_smt.errors import UserError
from neural_smt.io.files import atomic
from neural_smt.io.ragged import load_record, save_record
from neural_smt.phrases.extraction import extract_pairs
from neural_smt.phrases.merge import merge_parts
from neural_smt.phrases.scoring import score_entries, score_pairs
from neural_smt.phrases.shards import (
    TOTALS,
    Partition,
    consolidate_partition,
    extract_shard,
    load_partition,
    load_totals,
    sum_counts,
)
from neural_smt.shards import Shard
from neural_smt.vocabulary import Vocabulary

log = logging.getLogger(__name__)


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
    text = read_aligned(source, target, alignment, vocabularies, part)
    pairs = extract_shard(text, own.count, max_length, threads)
    log.info("%d phrase pairs extracted from %d sentence pairs", pairs.offsets[-1], len(part))
    with atomic(output, directory=True) as temporary:
        save_record(pairs, temporary)


def consolidate_phrases(*, extracted: list[Path], shard: str, max_length: int, output: Path, threads: int = 1) -> None:
    """Consolidate the phrase pairs of one partition, taken from all shards of the sentences (in their order)."""
    pairs = load_partition(extracted, Shard.parse(shard).number - 1, max_length)
    partition = consolidate_partition(pairs, len(extracted), threads)
    log.info("%d entries of %d phrase pairs", len(partition.pairs.target), len(pairs))
    with atomic(output, directory=True) as temporary:
        save_record(partition, temporary)


def count_targets(*, consolidated: list[Path], shard: str, output: Path) -> None:
    """Sum up what the target phrases of one partition of these count in all partitions of source phrases."""
    totals = sum_counts(consolidated, Shard.parse(shard).number - 1)
    with atomic(output, directory=True) as temporary:
        totals.save(temporary, TOTALS)


def score_phrases(
    *,
    consolidated: Path,
    totals: list[Path],
    shard: str,
    lexical: Path,
    smoothing: float,
    output: Path,
    threads: int = 1,
) -> None:
    """Score the entries of one partition of the source phrases.

    smoothing: added to each orientation count; totals: those of all partitions of target phrases.
    """
    partition = load_record(Partition, consolidated, mapped=False)
    pairs = partition.with_totals(load_totals(totals, Shard.parse(shard).number - 1))
    words = [int(phrases.values.max(initial=-1)) + 1 for phrases in (partition.source, partition.targets)]
    table = _load_lexical(lexical, words, exactly=False)
    entries = score_entries(pairs, partition.source, partition.targets, table, smoothing, threads)
    with atomic(output, directory=True) as temporary:
        save_record(entries, temporary)


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
    parts: list[Path] = (),  # type: ignore[assignment]
    threads: int = 1,
) -> None:
    """Write the phrase table of an aligned text with its reordering model.

    max_length, smoothing: as of ``extract_phrases`` and ``score_phrases``; parts: what ``score_phrases`` wrote of all
    partitions, which are merged. Without them the phrase pairs are extracted and scored here.
    """
    vocabularies = Vocabulary.load(source_vocabulary), Vocabulary.load(target_vocabulary)
    if parts:
        with atomic(output, directory=True) as temporary:
            digests = (vocabularies[0].digest, vocabularies[1].digest)
            entries, sources = merge_parts(parts, temporary, digests, max_length)
        log.info("%d entries of %d source phrases", entries, sources)
        return
    text = read_aligned(source, target, alignment, vocabularies)
    table = _load_lexical(lexical, [len(vocabulary) for vocabulary in vocabularies], exactly=True)
    pairs = extract_pairs(text.source, text.target, text.alignments, max_length, threads)
    log.info("%d phrase pairs extracted from %d sentence pairs", len(pairs), len(text.source))
    phrase_table = score_pairs(pairs, table, *vocabularies, max_length, smoothing, threads)
    log.info("%d entries of %d source phrases", len(phrase_table), len(phrase_table.source))
    phrase_table.save(output)


def _load_lexical(path: Path, words: Sequence[int], exactly: bool) -> LexicalTable:
    """The lexical tables of so many source and target words; ``UserError`` when they have others (or fewer)."""
    table = LexicalTable.load(path, mapped=False)
    sizes = [len(table.source_given_null), len(table.target_given_null)]
    if (exactly and sizes != words) or any(size < needed for size, needed in zip(sizes, words, strict=True)):
        raise UserError(f"{path}: made with other vocabularies; build the lexical tables again")
    return table
