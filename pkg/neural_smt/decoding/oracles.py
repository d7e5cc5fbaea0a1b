"""Oracle BLEU of n-best lists and lattices: how good the best translations are that they hold."""

import time
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from neural_smt.decoding.lattices.flat import FlatLattices, list_paths
from neural_smt.decoding.lattices.oracle import BEAM, ROUNDS, corpus_oracle, encode_references, sentence_oracle
from neural_smt.decoding.reranking.aligned_lattices import AlignedLattices
from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.io.tables import formatted, write_frame

LIST_ROUNDS = 20
"""Passes over the sentences of the corpus-level search in n-best lists, at most; a handful are needed."""


class OracleRow(NamedTuple):
    """One row of the table.

    candidates: ``1-best``, ``100-best``, ``lattice``; per_sentence: mean number of entries, or of arcs of a lattice;
    oracle: ``sentence``, ``corpus``, or ``model`` for the 1-best; bleu, mean_sentence_bleu: 0 to 100, of tokens, the
    latter BLEU+1; seconds_per_sentence: of search and oracle.
    """

    candidates: str
    per_sentence: float
    oracle: str
    bleu: float
    mean_sentence_bleu: float
    seconds_per_sentence: float


FORMATS = {"per_sentence": ".1f", "bleu": ".2f", "mean_sentence_bleu": ".2f", "seconds_per_sentence": ".5f"}
"""How the numbers of the table are written."""


def write_oracles(path: Path, rows: Iterable[OracleRow]) -> None:
    """Write the table as CSV, atomically."""
    write_frame(path, formatted(pd.DataFrame(list(rows), columns=list(OracleRow._fields)), FORMATS))


def oracle_rows(
    lattices: AlignedLattices,
    references: Sequence[list[str]],
    sizes: Iterable[int],
    listed: AlignedLattices | None = None,
    seconds: float = 0.0,
) -> list[OracleRow]:
    """Rows for the 1-best, for distinct lists of each size, and for the lattices.

    Lists are made under the weights that the lattices were made with; listed: the lattices that they are drawn from,
    where those are others; seconds: of making the lattices, which those of listing and oracle are added to.
    """
    drawn = listed or lattices
    rows, encoded = [], encode_references(references, drawn.vocabulary, drawn.copied)
    for size in [1, *sorted(set(sizes) - {1})]:
        began = time.perf_counter()
        paths, first = list_paths(drawn.flat, drawn.made_with, size)
        missing = np.diff(first) == 0  # an empty sentence has one translation, which is empty
        words, places = drawn.flat.translations(paths), first[:-1][missing]
        translations = Ragged(words.values, np.insert(words.offsets, places, words.offsets[places]))
        lists = lattices_of_lists(translations, first + offsets_of(missing))
        spent = seconds + time.perf_counter() - began
        rows += _score_oracles(f"{size}-best", lists, encoded, spent, len(paths))
    encoded = encode_references(references, lattices.vocabulary, lattices.copied)
    return rows + _score_oracles("lattice", lattices.flat, encoded, seconds)


def lattices_of_lists(words: Ragged, offsets: np.ndarray) -> FlatLattices:
    """Lists of translations as lattices of two nodes, with an arc for each translation.

    words: int32 ``Ragged``, the translations; offsets: int64 ``[S + 1]``, those of each sentence, one at least.
    """
    starts = 2 * np.arange(len(offsets))
    tails = np.repeat(starts[:-1], np.diff(offsets)).astype(np.int32)
    return FlatLattices(starts, np.repeat(offsets, 2)[:-1], tails, np.zeros((0, len(words)), np.float32), words)


def _score_oracles(
    candidates: str, lattices: FlatLattices, references: Ragged, seconds: float, listed: int | None = None
) -> list[OracleRow]:
    """The rows of both oracles, or of the translations themselves where ``candidates`` is ``1-best``.

    references: from ``encode_references``; seconds: of making the lattices; listed: where these are n-best lists (see
    ``lattices_of_lists``), how many entries were listed.
    """
    beam, rounds = (BEAM, ROUNDS) if listed is None else (0, LIST_ROUNDS)
    each = (len(lattices.tails) if listed is None else listed) / max(1, len(lattices))
    finders: dict[str, Any] = {"sentence": sentence_oracle, "corpus": partial(corpus_oracle, rounds=rounds)}
    if candidates == "1-best":
        each, finders = 1.0, {"model": sentence_oracle}
    rows = []
    for name, find in finders.items():
        began = time.perf_counter()
        found = find(lattices, references, beam)
        spent = (seconds + time.perf_counter() - began) / max(1, len(found.statistics))
        rows.append(OracleRow(candidates, each, name, 100 * found.bleu, 100 * found.mean_sentence_bleu, spent))
    return rows
