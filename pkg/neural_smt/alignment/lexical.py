"""Lexical translation tables: relative frequencies of linked words (Koehn et al. 2003), equal to those of Moses."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from neural_smt.io.best import best_of_each
from neural_smt.io.lookup_primitives import find_pair
from neural_smt.io.ragged import Lists, Ragged, offsets_of
from neural_smt.io.records import Record
from neural_smt.jit import kernel


@dataclass(frozen=True)
class LexicalTable(Record):
    """w(s|t) and w(t|s) of every linked word pair, and of every word with NULL where it was unaligned.

    Pairs are sorted by source, then target word id; those of source word ``s`` are rows ``offsets[s]:offsets[s + 1]``.
    What one direction alone tells of a text (``from_translations``) has zeros in all arrays but the first two and
    w(t|s). All values are probabilities (no logarithms); ``find_pair(offsets, targets, s, t)`` gives the row of a pair.
    """

    offsets: Annotated[np.ndarray, "int64 [Vs+1] to P"]
    targets: Annotated[np.ndarray, "int32 [P] < Vt"]
    """target word ids"""
    source_given_target: Annotated[np.ndarray, "float64 [P]"]
    """w(s|t)"""
    target_given_source: Annotated[np.ndarray, "float64 [P]"]
    """w(t|s)"""
    source_given_null: Annotated[np.ndarray, "float64 [Vs]"]
    """w(s|NULL), 0 for words that are never unaligned"""
    target_given_null: Annotated[np.ndarray, "float64 [Vt]"]
    """w(t|NULL)"""
    null_given_source: Annotated[np.ndarray, "float64 [Vs]"]
    """w(NULL|s), the share of s that is unaligned"""
    null_given_target: Annotated[np.ndarray, "float64 [Vt]"]
    """w(NULL|t)"""

    @classmethod
    def from_translations(
        cls, sources: np.ndarray, targets: np.ndarray, probabilities: np.ndarray, source_size: int, target_size: int
    ) -> "LexicalTable":
        """Of word pairs (ids), in any order, and their w(t|s)."""
        order = np.lexsort((targets, sources))
        sides = [np.zeros(size) for size in (source_size, target_size)]
        offsets = offsets_of(np.bincount(sources, minlength=source_size))
        given = targets[order].astype(np.int32), np.zeros(len(order)), probabilities[order]
        return cls(offsets, *given, *sides, *sides)

    def pair(self, source: int, target: int) -> tuple[float, float]:
        """(w(s|t), w(t|s)) of one word pair; zeros when the two were never linked."""
        row = find_pair(self.offsets, self.targets, source, target)
        return (float(self.source_given_target[row]), float(self.target_given_source[row])) if row >= 0 else (0.0, 0.0)

    def top_translations(self, count: int) -> Ragged:
        """The ``count`` most probable target words by w(t|s) of each source word, int32, best first, ties by id."""
        order, offsets = best_of_each(self.target_given_source, self.offsets, count)
        return Ragged(self.targets[order], offsets)


@kernel
def _linked_words(
    sources: Lists, targets: Lists, alignments: Lists, source_free: np.ndarray, target_free: np.ndarray
) -> np.ndarray:
    """Return the key ``s << 32 | t`` of every link (int64) and count the words without links into the two arrays."""
    source, source_offsets = sources
    target, target_offsets = targets
    links, link_offsets = alignments
    keys = np.empty(len(links), dtype=np.int64)
    source_linked = np.zeros(len(source), dtype=np.bool_)
    target_linked = np.zeros(len(target), dtype=np.bool_)
    for sentence in range(len(link_offsets) - 1):
        for link in range(link_offsets[sentence], link_offsets[sentence + 1]):
            i = source_offsets[sentence] + links[link, 0]
            j = target_offsets[sentence] + links[link, 1]
            source_linked[i] = True
            target_linked[j] = True
            keys[link] = (np.int64(source[i]) << 32) | np.int64(target[j])
    for i in range(len(source)):
        if not source_linked[i]:
            source_free[source[i]] += 1
    for j in range(len(target)):
        if not target_linked[j]:
            target_free[target[j]] += 1
    return keys


def lexical_table(texts: Iterable[tuple[Ragged, Ragged, Ragged]], source_size: int, target_size: int) -> LexicalTable:
    """Count the linked words of aligned texts: w(s|t) = c(s, t) / c(t), an unaligned word counting as linked to NULL.

    texts: parts of a text, counted one after the other: int32 word ids of the source and of the target side, below
    ``source_size`` and ``target_size``, and int16 links ``[links, 2]`` of each sentence, inside it (see
    ``check_alignments``). A word with several links counts once for each.
    """
    source_free, target_free = np.zeros(source_size, dtype=np.int64), np.zeros(target_size, dtype=np.int64)
    pairs, counts = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    for text in texts:
        keys = _linked_words(*(part.arrays for part in text), source_free, target_free)
        found, frequencies = np.unique(keys, return_counts=True)
        places = np.searchsorted(pairs, found)
        known = places < len(pairs)
        known[known] = pairs[places[known]] == found[known]
        counts[places[known]] += frequencies[known]
        pairs = np.insert(pairs, places[~known], found[~known])
        counts = np.insert(counts, places[~known], frequencies[~known])
    sources, targets = pairs >> 32, pairs & 0xFFFFFFFF
    source_totals = np.bincount(sources, counts, source_size) + source_free
    target_totals = np.bincount(targets, counts, target_size) + target_free
    return LexicalTable(
        offsets=offsets_of(np.bincount(sources, minlength=source_size)),
        targets=targets.astype(np.int32),
        source_given_target=counts / target_totals[targets],
        target_given_source=counts / source_totals[sources],
        source_given_null=source_free / max(source_free.sum(), 1),
        target_given_null=target_free / max(target_free.sum(), 1),
        null_given_source=source_free / np.maximum(source_totals, 1),
        null_given_target=target_free / np.maximum(target_totals, 1),
    )
