"""Score columns of phrase tables that need no network: of the parts that were scored, and of unknown words."""

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.files import read_object, write_json
from neural_smt.phrases.table import PhraseTable, load_part, save_column
from neural_smt.shortlist import shortlist_ids
from neural_smt.vocabulary import UNK, Vocabulary

log = logging.getLogger(__name__)


class WorkDone(NamedTuple):
    """What was computed, and what a scorer without sharing would have computed.

    pairs: all; words: target words of all pairs, end symbols included, each of which needs a normaliser without
    sharing; sources: distinct; prefixes: distinct target prefixes of each source, the normalisers computed; steps: of
    encoder and decoder over all pairs; states: those computed, for distinct prefixes.
    """

    pairs: int
    words: int
    sources: int
    prefixes: int
    steps: int
    states: int

    def __add__(self, other: "WorkDone") -> "WorkDone":  # type: ignore[override]  # adds, and does not join
        """What two lots of pairs took."""
        return WorkDone(*map(sum, zip(self, other, strict=True)))


NOTHING = WorkDone(0, 0, 0, 0, 0, 0)


Part = tuple[np.ndarray, np.ndarray]
"""Rows of a table and their scores."""


def write_column(
    output: Path, statistics: Path, parts: Iterable[Part], cost: dict[str, Any], table: PhraseTable
) -> None:
    """Write the scores of all rows in the order of the table, and what they cost, seconds of all shards together.

    parts: rows and scores of each shard.
    """
    column, count = np.empty(len(table), dtype=np.float32), 0
    missing = np.ones(len(table), dtype=np.bool_)
    for rows, scores in parts:
        column[rows], missing[rows] = scores, False
        count += len(rows)
    if missing.any() or count != len(table):
        raise UserError(f"{output}: {count} scores do not make a column of {len(table)}; score all shards again")
    save_column(output, column, table)
    further = {
        "pairs_per_second": round(cost["pairs"] / max(cost["seconds"], 1e-9), 1),
        "mean_log_probability": float(column.mean(dtype=np.float64)) if len(column) else None,
    }
    write_json(statistics, cost | further)


def join_columns(
    *, phrase_table: Path, parts: list[Path], part_statistics: list[Path], output: Path, statistics: Path
) -> None:
    """Make the score column, and what it cost, of what ``score_phrase_table`` wrote of all shards."""
    table = PhraseTable.load(phrase_table)
    costs = [read_object(path) for path in part_statistics]
    summed = {key: sum(cost[key] for cost in costs) for key in (*WorkDone._fields, "seconds")}
    summed["seconds"] = round(summed["seconds"], 3)
    scored = (load_part(part, table) for part in parts)
    write_column(output, statistics, scored, summed | {"device": costs[0]["device"]}, table)


def count_unknown_words(
    *, phrase_table: Path, source_vocabulary: Path, target_vocabulary: Path, target_shortlist: Path, output: Path
) -> None:
    """Count the target words of every phrase pair that the networks do not know, as a negative score column.

    The word penalty of Cho et al. (2014, section 4.1): networks overestimate words outside the shortlist, because all
    of them share the probability of ``[UNK]``.
    """
    table, (_, vocabulary) = PhraseTable.load_checked(phrase_table, source_vocabulary, target_vocabulary)
    unknown = shortlist_ids(vocabulary, Vocabulary.load(target_shortlist)) == UNK
    counts = table.target.count(unknown)
    save_column(output, -counts, table)
    log.info("%d of %d target words are unknown to the networks", counts.sum(dtype=np.int64), len(table.target.values))
