"""The steps of the stage ``phrases`` when its work is cut into shards: they make what ``build_phrase_table`` makes.

Each shard of the sentences is extracted (``extract_phrases``). What was extracted is cut into as many partitions by
source phrase, each grouped by itself (``group_phrases``). What target phrases count in all of them is summed up in
partitions of target phrases (``count_targets``). Then each partition is scored (``score_phrases``), and the parts are
merged (``gather_phrase_table``).
"""

import logging
from pathlib import Path

from neural_smt.alignment.aligned_text import count_pairs, read_aligned
from neural_smt.alignment.lexical import LexicalTable
from neural_smt.errors import UserError
from neural_smt.io.files import atomic
from neural_smt.phrases.gathering import gather_parts, save_part
from neural_smt.phrases.partitions import TOTALS, GroupedPartition, group_partition, load_totals, sum_counts
from neural_smt.phrases.scoring import score_entries
from neural_smt.phrases.shards import extract_shard, load_partition
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

    shard: such as ``2-of-4``, here and in the other steps.
    """
    own = Shard.parse(shard)
    vocabularies = Vocabulary.load(source_vocabulary), Vocabulary.load(target_vocabulary)
    part = own.range(count_pairs(source, target, alignment))
    text = read_aligned(source, target, alignment, vocabularies, part)
    pairs = extract_shard(text, own.count, max_length, threads)
    log.info("%d phrase pairs extracted from %d sentence pairs", pairs.offsets[-1], len(part))
    with atomic(output, directory=True) as temporary:
        pairs.save(temporary)


def group_phrases(*, extracted: list[Path], shard: str, max_length: int, output: Path, threads: int = 1) -> None:
    """Group the phrase pairs of one partition, taken from all shards of the sentences (in their order)."""
    pairs = load_partition(extracted, Shard.parse(shard).number - 1, max_length)
    grouped = group_partition(pairs, len(extracted), threads)
    log.info("%d entries of %d phrase pairs", len(grouped.pairs.target), len(pairs))
    with atomic(output, directory=True) as temporary:
        grouped.save(temporary)


def count_targets(*, grouped: list[Path], shard: str, output: Path) -> None:
    """Sum up what the target phrases of one partition of these count in all partitions of source phrases."""
    totals = sum_counts(grouped, Shard.parse(shard).number - 1)
    with atomic(output, directory=True) as temporary:
        totals.save(temporary, TOTALS)


def score_phrases(
    *, grouped: Path, totals: list[Path], shard: str, lexical: Path, smoothing: float, output: Path, threads: int = 1
) -> None:
    """Score the entries of one partition of the source phrases.

    smoothing: added to each orientation count; totals: those of all partitions of target phrases.
    """
    partition = GroupedPartition.load(grouped)
    pairs = partition.with_totals(load_totals(totals, Shard.parse(shard).number - 1))
    table = LexicalTable.load(lexical, mapped=False)
    words = [int(phrases.values.max(initial=-1)) + 1 for phrases in (partition.source, partition.targets)]
    if words[0] > len(table.source_given_null) or words[1] > len(table.target_given_null):
        raise UserError(f"{lexical}: made with other vocabularies; build the lexical tables again")
    entries = score_entries(pairs, partition.source, partition.targets, table, smoothing, threads)
    with atomic(output, directory=True) as temporary:
        save_part(entries, temporary)


def gather_phrase_table(
    *, parts: list[Path], source_vocabulary: Path, target_vocabulary: Path, max_length: int, output: Path
) -> None:
    """Merge the scored partitions into the phrase table with its reordering model."""
    vocabularies = Vocabulary.load(source_vocabulary), Vocabulary.load(target_vocabulary)
    with atomic(output, directory=True) as temporary:
        digests = (vocabularies[0].digest, vocabularies[1].digest)
        entries, sources = gather_parts(parts, temporary, digests, max_length)
    log.info("%d entries of %d source phrases", entries, sources)
