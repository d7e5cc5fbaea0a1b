"""The search for the derivation of a lattice with the highest BLEU."""

from typing import NamedTuple

import numpy as np

from neural_smt.bleu_primitives import ORDER, REFERENCE_LENGTH, SIZE, log_bleu
from neural_smt.decoding.lattices.reference_primitives import ReferenceAutomaton, build_automaton, column
from neural_smt.jit import kernel, leaf, mix


class Partial(NamedTuple):
    """Partial translations, one row each.

    node, arc, before: int32, the node reached, the arc into it and the row extended (-1: none); state: int32 of the
    reference automaton; statistics: int32 ``[rows, 9]``; key: uint64, equal for rows that no future can tell apart.
    """

    node: np.ndarray
    arc: np.ndarray
    before: np.ndarray
    state: np.ndarray
    statistics: np.ndarray
    key: np.ndarray


@kernel
def _make_room(rows: int) -> Partial:
    return Partial(
        np.zeros(rows, np.int32),
        np.zeros(rows, np.int32),
        np.full(rows, -1, np.int32),
        np.zeros(rows, np.int32),
        np.zeros((rows, SIZE), np.int32),
        np.zeros(rows, np.uint64),
    )


@kernel
def _grown(partial: Partial, used: np.ndarray, rows: int) -> tuple[Partial, np.ndarray]:
    if rows <= len(partial.node):
        return partial, used
    size = max(rows, 2 * len(partial.node))
    larger, more = _make_room(size), np.zeros((size, used.shape[1]), np.uint16)
    n = len(partial.node)
    larger.node[:n] = partial.node
    larger.arc[:n] = partial.arc
    larger.before[:n] = partial.before
    larger.state[:n] = partial.state
    larger.statistics[:n] = partial.statistics
    larger.key[:n] = partial.key
    more[:n] = used
    return larger, more


@leaf
def _preview(
    automaton: ReferenceAutomaton,
    words: np.ndarray,
    partial: Partial,
    used: np.ndarray,
    before: int,
    gains: np.ndarray,
    found: np.ndarray,
) -> tuple[float, np.uint64]:
    """Linear BLEU and identity of the partial translation ``before`` with some words more, writing no row.

    Most extensions are dropped: writing only the chosen ones (``_extend``) halves the time. ``found``: int32, room for
    the n-grams matched on the way, which are counted in the row of ``before`` and then taken out again.
    """
    state, key = np.int64(partial.state[before]), partial.key[before]
    length = partial.statistics[before, 1] + len(words)
    rank = -gains[ORDER] * length
    for n in range(ORDER):
        rank += gains[n] * partial.statistics[before, 2 * n]
    matches = 0
    for word in words:
        reached = np.int64(automaton.successor[state, word])
        ngram = reached
        while ngram > 0:
            if used[before, ngram] < automaton.count[ngram]:
                used[before, ngram] += 1
                rank += gains[automaton.order[ngram] - 1]
                key += mix(np.uint64(ngram))
                found[matches] = ngram
                matches += 1
            ngram = np.int64(automaton.suffix[ngram])
        state = np.int64(automaton.context[reached])
    for i in range(matches):
        used[before, found[i]] -= 1
    return rank, mix(key + mix(np.uint64((state << 32) | length)))


@kernel
def _extend(
    automaton: ReferenceAutomaton,
    words: np.ndarray,
    partial: Partial,
    used: np.ndarray,
    before: int,
    row: int,
) -> None:
    """Write the partial translation ``before`` with some words more (columns of the automaton) as ``row``.

    ``used`` uint16 ``[rows, G]`` counts the n-grams of the reference that are matched already, so that matches are
    clipped; ``key`` adds up a code for each of them and is mixed with state and length only when compared.
    """
    partial.statistics[row] = partial.statistics[before]
    used[row] = used[before]
    state, key = np.int64(partial.state[before]), partial.key[before]
    for word in words:
        reached = np.int64(automaton.successor[state, word])
        found = reached
        while found > 0:
            if used[row, found] < automaton.count[found]:
                used[row, found] += 1
                partial.statistics[row, 2 * (automaton.order[found] - 1)] += 1
                key += mix(np.uint64(found))
            found = np.int64(automaton.suffix[found])
        state = np.int64(automaton.context[reached])
    length = partial.statistics[row, 1] + len(words)
    for n in range(ORDER):
        partial.statistics[row, 2 * n + 1] = max(0, length - n)
    partial.state[row] = state
    partial.key[row] = key


@kernel
def _choose(rank: np.ndarray, identity: np.ndarray, beam: int) -> np.ndarray:
    """Which extensions to go on with, int64, ascending: different ones, the ``beam`` highest by ``rank``."""
    order = np.argsort(-rank, kind="mergesort")
    seen = {np.uint64(0)}
    chosen = np.empty(min(len(rank), beam), np.int64)
    taken = 0
    for i in order:
        if taken == len(chosen):
            break
        if identity[i] not in seen:
            seen.add(identity[i])
            chosen[taken] = i
            taken += 1
    return np.sort(chosen[:taken])


@kernel
def search(
    arc_offsets: np.ndarray,
    tails: np.ndarray,
    word_offsets: np.ndarray,
    words: np.ndarray,
    first_node: int,
    reference: np.ndarray,
    background: np.ndarray,
    gains: np.ndarray,
    beam: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Arcs (int32, first arc first) and statistics (int32 [9]) of the best derivation found in one lattice.

    arc_offsets int64 [M + 1], of its nodes, numbers of all arcs; tails int32, counted over all sentences like
    ``first_node``; word_offsets, words: of all arcs; reference int32 ids; background float64 [9] is added to the
    statistics before BLEU is taken; gains float64 [5]: what a match of each order is worth, and what a word costs,
    where partial translations are compared.
    """
    automaton = build_automaton(reference)
    first_word = word_offsets[arc_offsets[0]]
    read = np.empty(word_offsets[arc_offsets[-1]] - first_word, np.int32)
    for i in range(len(read)):
        read[i] = column(automaton.words, words[first_word + i])
    nodes = len(arc_offsets) - 1
    partial, used = _make_room(256), np.zeros((256, len(automaton.order)), np.uint16)
    ranges = np.zeros(nodes + 1, np.int64)
    ranges[1] = 1
    found = np.empty(ORDER * len(read), np.int32)
    for node in range(1, nodes):
        count = 0
        for arc in range(arc_offsets[node], arc_offsets[node + 1]):
            tail = np.int64(tails[arc]) - first_node
            count += ranges[tail + 1] - ranges[tail]
        arcs, befores = np.empty(count, np.int32), np.empty(count, np.int32)
        rank, identity = np.empty(count), np.empty(count, np.uint64)
        count = 0
        for arc in range(arc_offsets[node], arc_offsets[node + 1]):
            tail = np.int64(tails[arc]) - first_node
            added = read[word_offsets[arc] - first_word : word_offsets[arc + 1] - first_word]
            for before in range(ranges[tail], ranges[tail + 1]):
                rank[count], identity[count] = _preview(automaton, added, partial, used, before, gains, found)
                arcs[count], befores[count] = arc, before
                count += 1
        chosen = _choose(rank, identity, beam if node < nodes - 1 else count)
        partial, used = _grown(partial, used, ranges[node] + len(chosen))
        for i in range(len(chosen)):
            row, arc, before = ranges[node] + i, np.int64(arcs[chosen[i]]), np.int64(befores[chosen[i]])
            added = read[word_offsets[arc] - first_word : word_offsets[arc + 1] - first_word]
            _extend(automaton, added, partial, used, before, row)
            partial.node[row], partial.arc[row], partial.before[row] = node, arc, before
        ranges[node + 1] = ranges[node] + len(chosen)
    best, best_value = ranges[nodes - 1], -np.inf
    for row in range(ranges[nodes - 1], ranges[nodes]):
        partial.statistics[row, REFERENCE_LENGTH] = len(reference)
        value = log_bleu(partial.statistics[row], background)
        if value > best_value:
            best, best_value = row, value
    statistics = partial.statistics[best].copy()
    statistics[REFERENCE_LENGTH] = len(reference)
    path = np.empty(nodes, np.int32)
    length = 0
    row = best
    while partial.before[row] >= 0:
        path[length] = partial.arc[row]
        length += 1
        row = np.int64(partial.before[row])
    return path[:length][::-1].copy(), statistics
