"""Prefix trees of what is to be predicted: sequences of (word, input) pairs after common starting points (*roots*).

Every h depends on the words before it and on the input of the word it predicts, but not on that word. So a *prefix*
(a root, or words after it) has one *pair* for each input that follows it; a pair has one *query* for each class that it
is asked for, and one *entry* for each word.
"""

from typing import NamedTuple

import numpy as np

from neural_smt.io.ragged import Lists, Ragged
from neural_smt.io.sorting import inverse, sort_numbers
from neural_smt.jit import kernel


@kernel
def grow_branches(
    first: np.ndarray, sequences: Lists, inputs: np.ndarray, class_of_word: np.ndarray, shared: bool
) -> tuple[np.ndarray, ...]:
    """The parts of prefix trees as they come: int32 arrays, a row per part.

    first: int64 [G + 1], the sequences of each root; sequences: n of words, int32; inputs: int32, of each word; shared:
    whether what is equal is one (otherwise every sequence is a branch of its own).
    Returns depth [X] and entry [X] of prefixes (-1: a root), root [P], prefix [P] and input [P] of pairs, pair [Q] and
    class [Q] of queries, query [E] and word [E] of entries, and [n]: the last entry of each sequence (-1: it is empty).
    """
    words, offsets = sequences
    roots, most = len(first) - 1, len(words)
    depth, entry_of = np.empty(roots + most, np.int32), np.empty(roots + most, np.int32)
    root_of, prefix_of, input_of = np.empty(most, np.int32), np.empty(most, np.int32), np.empty(most, np.int32)
    pair_of, class_of = np.empty(most, np.int32), np.empty(most, np.int32)
    query_of, word_of = np.empty(most, np.int32), np.empty(most, np.int32)
    # Lists of what hangs on what: the first child, and the next one of the same parent.
    first_pair, next_pair = np.full(roots + most, -1, np.int32), np.empty(most, np.int32)
    first_query, next_query = np.full(most, -1, np.int32), np.empty(most, np.int32)
    first_entry, next_entry = np.full(most, -1, np.int32), np.empty(most, np.int32)
    child = np.full(most, -1, np.int32)
    last = np.full(len(offsets) - 1, -1, np.int32)
    prefixes, pairs, queries, entries = roots, 0, 0, 0
    for root in range(roots):
        depth[root], entry_of[root] = 0, -1
        for sequence in range(first[root], first[root + 1]):
            prefix = root
            for place in range(offsets[sequence], offsets[sequence + 1]):
                pair = first_pair[prefix] if shared else -1
                while pair >= 0 and input_of[pair] != inputs[place]:
                    pair = next_pair[pair]
                if pair < 0:
                    pair = pairs
                    root_of[pair], prefix_of[pair], input_of[pair] = root, prefix, inputs[place]
                    next_pair[pair] = first_pair[prefix]
                    first_pair[prefix] = pair
                    pairs += 1
                query = first_query[pair]
                while query >= 0 and class_of[query] != class_of_word[words[place]]:
                    query = next_query[query]
                if query < 0:
                    query = queries
                    pair_of[query], class_of[query] = pair, class_of_word[words[place]]
                    next_query[query] = first_query[pair]
                    first_query[pair] = query
                    queries += 1
                entry = first_entry[query]
                while entry >= 0 and word_of[entry] != words[place]:
                    entry = next_entry[entry]
                if entry < 0:
                    entry = entries
                    query_of[entry], word_of[entry] = query, words[place]
                    next_entry[entry] = first_entry[query]
                    first_entry[query] = entry
                    entries += 1
                last[sequence] = entry
                if place + 1 < offsets[sequence + 1]:
                    if child[entry] < 0:
                        child[entry] = prefixes
                        depth[prefixes], entry_of[prefixes] = depth[prefix] + 1, entry
                        prefixes += 1
                    prefix = child[entry]
    return (
        depth[:prefixes], entry_of[:prefixes], root_of[:pairs], prefix_of[:pairs], input_of[:pairs],
        pair_of[:queries], class_of[:queries], query_of[:entries], word_of[:entries], last,
    )  # fmt: skip


class Tries(NamedTuple):
    """Prefix trees of sequences (see ``grow_branches``) by *batch*, the level of the root and the depth below it.

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
    levels: np.ndarray, first: np.ndarray, words: Ragged, inputs: np.ndarray, classes: np.ndarray, shared: bool = True
) -> Tries:
    """The trees of sequences that start at roots.

    levels: int32 ``[G]``, rising from 0, the level of each root; first: int64 ``[G + 1]``, its sequences; words: int32
    ``Ragged`` of n sequences to be predicted; inputs: int32, the number of the input of each word; classes: int32
    ``[V]``, of each word; shared: whether common prefixes are computed once.
    """
    branches = grow_branches(first, words.arrays, inputs, classes, shared)
    depth, entry, root, prefix, input_, pair, class_, query, word, last = branches
    prefix_level = np.concatenate([levels, np.zeros(len(depth) - len(levels), np.int32)])
    prefix_level[prefix] = levels[root]  # every prefix but a bare root has a pair
    count = int(levels[-1]) + 1 if len(levels) else 0
    deepest = np.zeros(count, dtype=np.int64)
    np.maximum.at(deepest, prefix_level, depth)
    level_batches = np.concatenate([[0], np.cumsum(deepest + 1)])
    prefix_batch = (level_batches[prefix_level] + depth).astype(np.int32)
    batches = int(level_batches[-1])

    prefix_order, prefix_batches = sort_numbers(prefix_batch, batches)
    pair_batch = prefix_batch[prefix]
    pair_order, pair_batches = sort_numbers(pair_batch, batches)
    by_class, _ = sort_numbers(class_, int(classes.max()) + 1)
    query_order, query_batches = sort_numbers(pair_batch[pair[by_class]], batches)
    query_order = by_class[query_order]
    query_place = inverse(query_order)
    entry_order, entry_offsets = sort_numbers(query_place[query], len(query_order))
    entry_place, prefix_place = inverse(entry_order), inverse(prefix_order)
    return Tries(
        pair_root=root[pair_order],
        pair_prefix=prefix_place[prefix[pair_order]],
        pair_input=input_[pair_order],
        query_pair=inverse(pair_order)[pair[query_order]],
        query_class=class_[query_order],
        entry_offsets=entry_offsets,
        entry_query=query_place[query[entry_order]],
        entry_word=word[entry_order],
        prefix_entry=_renumbered(entry[prefix_order], entry_place),
        sequence_entry=_renumbered(last, entry_place),
        pair_batches=pair_batches,
        query_batches=query_batches,
        prefix_batches=prefix_batches,
        level_batches=level_batches,
        level_roots=np.searchsorted(levels, np.arange(count + 1)),
    )


def _renumbered(numbers: np.ndarray, places: np.ndarray) -> np.ndarray:
    """New numbers for old ones (int32); -1 stays."""
    return np.where(numbers >= 0, places[numbers] if len(places) else -1, -1).astype(np.int32)
