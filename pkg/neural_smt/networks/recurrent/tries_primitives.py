"""Prefix trees of what is to be predicted: sequences of (word, input) pairs after common starting points (*roots*).

Every h depends on the words before it and on the input of the word it predicts, but not on that word. So a *prefix*
(a root, or words after it) has one *pair* for each input that follows it; a pair has one *query* for each class that it
is asked for, and one *entry* for each word.
"""

from typing import NamedTuple

import numpy as np

from neural_smt.jit import kernel


class Branches(NamedTuple):
    """The parts of prefix trees as they come: int32 arrays, a row per part.

    depth [X] and entry [X] of prefixes (-1: a root), root [P], prefix [P] and input [P] of pairs, pair [Q] and class_
    [Q] of queries, query [E] and word [E] of entries; last [n]: the last entry of each sequence (-1: it is empty).
    """

    depth: np.ndarray
    entry: np.ndarray
    root: np.ndarray
    prefix: np.ndarray
    input: np.ndarray
    pair: np.ndarray
    class_: np.ndarray
    query: np.ndarray
    word: np.ndarray
    last: np.ndarray


@kernel
def grow_branches(
    first: np.ndarray,
    offsets: np.ndarray,
    words: np.ndarray,
    inputs: np.ndarray,
    class_of_word: np.ndarray,
    shared: bool,
) -> Branches:
    """The trees of sequences.

    first: int64 [G + 1], the sequences of each root; offsets: int64 [n + 1], words and inputs of each sequence; words,
    inputs: int32; shared: whether what is equal is one (otherwise every sequence is a branch of its own).
    """
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
    return Branches(
        depth[:prefixes], entry_of[:prefixes], root_of[:pairs], prefix_of[:pairs], input_of[:pairs],
        pair_of[:queries], class_of[:queries], query_of[:entries], word_of[:entries], last,
    )  # fmt: skip


@kernel
def stable_order(keys: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The order (int32 [n]) that sorts keys (int32, below ``most``), and where each starts in it (int64 [most + 1])."""
    starts = np.zeros(most + 1, np.int64)
    for key in keys:
        starts[key + 1] += 1
    for key in range(most):
        starts[key + 1] += starts[key]
    place = starts[:-1].copy()
    order = np.empty(len(keys), np.int32)
    for i in range(len(keys)):
        order[place[keys[i]]] = i
        place[keys[i]] += 1
    return order, starts
