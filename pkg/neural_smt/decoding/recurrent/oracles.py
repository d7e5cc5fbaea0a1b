"""Oracle BLEU of linked lattices and of their n-best lists (Auli et al. 2013, Table 1)."""

import time
from collections.abc import Iterable, Sequence

import numpy as np

from neural_smt.bleu import corpus_statistics
from neural_smt.decoding.lattices import oracle as lattice_oracle
from neural_smt.decoding.lattices.kbest import list_paths
from neural_smt.decoding.oracle_table import OracleRow, statistics_row
from neural_smt.decoding.oracles import corpus_oracle, sentence_oracle
from neural_smt.decoding.recurrent.linked import LinkedLattices
from neural_smt.decoding.references import encode_references
from neural_smt.io.ragged import Ragged


def oracle_rows(
    lattices: LinkedLattices,
    references: Sequence[list[str]],
    sizes: Iterable[int],
    listed: LinkedLattices | None = None,
) -> list[OracleRow]:
    """Rows for the 1-best, for distinct lists of each size, and for the lattices.

    Lists are made under the weights that the lattices were made with; listed: the lattices that they are drawn from,
    where those are others; seconds are those of listing and oracle.
    """
    drawn = listed or lattices
    rows = []
    for size in [1, *sorted(set(sizes) - {1})]:
        rows += _of_lists(drawn, encode_references(references, drawn.vocabulary, drawn.copied), size)
    encoded = encode_references(references, lattices.vocabulary, lattices.copied)
    for name, find in (("sentence", lattice_oracle.sentence_oracle), ("corpus", lattice_oracle.corpus_oracle)):
        began = time.perf_counter()
        statistics = find(lattices.flat, encoded).statistics
        each = len(lattices.flat.tails) / max(1, len(lattices))
        rows.append(statistics_row("lattice", each, name, statistics, time.perf_counter() - began))
    return rows


def _of_lists(lattices: LinkedLattices, references: Ragged, size: int) -> list[OracleRow]:
    began = time.perf_counter()
    paths, first = list_paths(lattices.flat, lattices.made_with, size)
    sentence = np.repeat(np.arange(len(lattices)), np.diff(first))
    empty = np.flatnonzero(np.diff(first) == 0)  # an empty sentence has one translation, which is empty
    words = lattices.flat.words.take(paths.values)
    translations = Ragged(words.values, words.offsets[paths.offsets])
    of_paths = corpus_statistics(translations, (references[s] for s in sentence))
    of_empty = corpus_statistics([np.zeros(0, np.int32)] * len(empty), (references[s] for s in empty))
    order = np.argsort(np.concatenate([sentence, empty]), kind="stable")
    statistics = np.concatenate([of_paths, of_empty])[order]
    listed = time.perf_counter() - began
    if size == 1:
        return [statistics_row("1-best", 1.0, "model", statistics, listed)]
    offsets = first + np.concatenate([[0], np.cumsum(np.diff(first) == 0)])
    rows = []
    for name, find in (("sentence", sentence_oracle), ("corpus", corpus_oracle)):
        began = time.perf_counter()
        chosen = statistics[find(statistics, offsets)]
        seconds = listed + time.perf_counter() - began
        rows.append(statistics_row(f"{size}-best", len(paths) / max(1, len(lattices)), name, chosen, seconds))
    return rows
