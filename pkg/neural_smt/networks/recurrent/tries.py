"""Prefix trees in the order in which a recurrent model goes through them."""

from typing import NamedTuple

import numpy as np

from neural_smt.networks.recurrent.tries_primitives import grow_branches, stable_order


class Tries(NamedTuple):
    """Prefix trees of sequences (see ``tries_primitives``) by *batch*, the level of the root and the depth below it.

    pair_root, pair_prefix, pair_input: int32 ``[P]``; query_pair, query_class: int32 ``[Q]``, by class within a batch;
    entry_offsets: int64 ``[Q + 1]``, the entries of each query; entry_query, entry_word: int32 ``[E]``; prefix_entry:
    int32 ``[X]``, the entry that leads to a prefix (-1 for roots, which come in their order); sequence_entry: int32
    ``[n]``, the last entry of each sequence (-1 without words). pair_batches, query_batches, prefix_batches: int64
    ``[B + 1]``, where the parts of each batch start; level_batches, level_roots: int64 ``[L + 1]``, the batches
    and the roots of each level.
    """

    pair_root: np.ndarray
    pair_prefix: np.ndarray
    pair_input: np.ndarray
    query_pair: np.ndarray
    query_class: np.ndarray
    entry_offsets: np.ndarray
    entry_query: np.ndarray
    entry_word: np.ndarray
    prefix_entry: np.ndarray
    sequence_entry: np.ndarray
    pair_batches: np.ndarray
    query_batches: np.ndarray
    prefix_batches: np.ndarray
    level_batches: np.ndarray
    level_roots: np.ndarray


def build_tries(
    levels: np.ndarray,
    first: np.ndarray,
    offsets: np.ndarray,
    words: np.ndarray,
    inputs: np.ndarray,
    class_of_word: np.ndarray,
    shared: bool = True,
) -> Tries:
    """The trees of sequences that start at roots.

    levels: int32 ``[G]``, rising from 0, the level of each root; first: int64 ``[G + 1]``, its sequences; offsets:
    int64 ``[n + 1]``, the words of each sequence; words, inputs: int32, the words to be predicted and the number of the
    input of each; class_of_word: int32 ``[V]``; shared: whether common prefixes are computed once.
    """
    branches = grow_branches(first, offsets, words, inputs, class_of_word, shared)
    prefix_level = np.concatenate([levels, np.zeros(len(branches.depth) - len(levels), np.int32)])
    prefix_level[branches.prefix] = levels[branches.root]  # every prefix but a bare root has a pair
    count = int(levels[-1]) + 1 if len(levels) else 0
    deepest = np.zeros(count, dtype=np.int64)
    np.maximum.at(deepest, prefix_level, branches.depth)
    level_batches = np.concatenate([[0], np.cumsum(deepest + 1)])
    prefix_batch = (level_batches[prefix_level] + branches.depth).astype(np.int32)
    batches = int(level_batches[-1])

    prefix_order, prefix_batches = stable_order(prefix_batch, batches)
    pair_batch = prefix_batch[branches.prefix]
    pair_order, pair_batches = stable_order(pair_batch, batches)
    by_class, _ = stable_order(branches.class_, int(class_of_word.max()) + 1)
    query_order, query_batches = stable_order(pair_batch[branches.pair[by_class]], batches)
    query_order = by_class[query_order]
    query_place = _inverse(query_order)
    entry_order, entry_offsets = stable_order(query_place[branches.query], len(query_order))
    entry_place, prefix_place = _inverse(entry_order), _inverse(prefix_order)
    return Tries(
        pair_root=branches.root[pair_order],
        pair_prefix=prefix_place[branches.prefix[pair_order]],
        pair_input=branches.input[pair_order],
        query_pair=_inverse(pair_order)[branches.pair[query_order]],
        query_class=branches.class_[query_order],
        entry_offsets=entry_offsets,
        entry_query=query_place[branches.query[entry_order]],
        entry_word=branches.word[entry_order],
        prefix_entry=_renumbered(branches.entry[prefix_order], entry_place),
        sequence_entry=_renumbered(branches.last, entry_place),
        pair_batches=pair_batches,
        query_batches=query_batches,
        prefix_batches=prefix_batches,
        level_batches=level_batches,
        level_roots=np.searchsorted(levels, np.arange(count + 1)),
    )


def _inverse(order: np.ndarray) -> np.ndarray:
    """int32: the place of each number in an order."""
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return place


def _renumbered(numbers: np.ndarray, places: np.ndarray) -> np.ndarray:
    """New numbers for old ones (int32); -1 stays."""
    return np.where(numbers >= 0, places[numbers] if len(places) else -1, -1).astype(np.int32)
