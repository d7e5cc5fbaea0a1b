"""Oracle BLEU of linked lattices and of their n-best lists (Auli et al. 2013, Table 1)."""

import time
from collections.abc import Iterable, Sequence

import numpy as np

from neural_smt.bleu import corpus_statistics
from neural_smt.decoding.lattices.kbest import list_paths
from neural_smt.decoding.lattices.oracle import encode_references
from neural_smt.decoding.oracles import OracleRow, lattice_rows, list_rows
from neural_smt.decoding.recurrent.linked import LinkedLattices
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
    return rows + lattice_rows(lattices.flat, encoded, 0.0)


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
    offsets = first + np.concatenate([[0], np.cumsum(np.diff(first) == 0)])
    return list_rows(size, statistics, offsets, len(paths), listed)
