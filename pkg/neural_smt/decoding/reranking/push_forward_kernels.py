"""Kernels of push-forward rescoring: which states a node keeps, and the best path in the end."""

from typing import NamedTuple

import numpy as np

from neural_smt.jit import enlarged, kernel, leaf, mix
from neural_smt.networks.recurrent.scorer_primitives import Rows
from neural_smt.networks.recurrent.tries import Tries


class Arcs(NamedTuple):
    """The lattices of some sentences: nodes and arcs are numbered from 0 over all of them.

    node_offsets: int64 ``[S + 1]``; root_node, node_root: int32 ``[M]``, the node of each root of the prefix trees, and
    the root of each node; offsets: int64 ``[M + 1]``, the arcs into each node; tails: int32 ``[A]``; scores: float64
    ``[A]``, weighted, without the network; word_offsets: int64 ``[A + S + 1]``, words, inputs: int32, what each arc
    predicts, and then what the end of each sentence is; entries: int32 ``[A + S]``, where the score of this is found
    (-1: no words).
    """

    node_offsets: np.ndarray
    root_node: np.ndarray
    node_root: np.ndarray
    offsets: np.ndarray
    tails: np.ndarray
    scores: np.ndarray
    word_offsets: np.ndarray
    words: np.ndarray
    inputs: np.ndarray
    entries: np.ndarray


class States(NamedTuple):
    """Network states of nodes, the best of a node first.

    first: int64 ``[G]``, the first state of each root of the prefix trees; total, network: float64, the score of the
    best path and its ln p; arc, before: int32, the last arc of this path and the state before (-1: none); row: int64
    and word: int32, the state comes after this word, which followed the h of this row; key: uint64, of the history.
    """

    first: np.ndarray
    total: np.ndarray
    network: np.ndarray
    arc: np.ndarray
    before: np.ndarray
    row: np.ndarray
    word: np.ndarray
    key: np.ndarray


@kernel
def level_nodes(node_offsets: np.ndarray, offsets: np.ndarray, tails: np.ndarray, beam: int) -> tuple:
    """The longest way from the start to each node (int32 [M]), and how many states it may come to have (int32 [M])."""
    nodes = len(offsets) - 1
    level, most = np.zeros(nodes, np.int32), np.ones(nodes, np.int32)
    for node in range(nodes):
        ways = 0
        for arc in range(offsets[node], offsets[node + 1]):
            level[node] = max(level[node], level[tails[arc]] + 1)
            ways = min(beam, ways + most[tails[arc]])
        most[node] = max(1, ways)
    return level, most


@leaf
def _extended(key: np.uint64, arcs: Arcs, arc: int) -> np.uint64:
    """The key of a history after the words of an arc: equal ones have seen the same words with the same inputs."""
    for place in range(arcs.word_offsets[arc], arcs.word_offsets[arc + 1]):
        key = mix(key ^ (np.uint64(arcs.words[place] + 1) | np.uint64(arcs.inputs[place] + 1) << np.uint64(32)))
    return key


@leaf
def _key_after(states: States, tail: int, arcs: Arcs, arc: int, history: int) -> np.uint64:
    """The key of what predictions depend on after an arc from the state ``tail``: the last ``history`` words, or all
    words and their inputs (-1).
    """
    if history < 0:
        return _extended(states.key[tail], arcs, arc)
    key, left = np.uint64(0), history
    while arc >= 0 and left > 0:
        place = arcs.word_offsets[arc + 1]
        while place > arcs.word_offsets[arc] and left > 0:
            place -= 1
            left -= 1
            key = mix(key ^ np.uint64(arcs.words[place] + 1))
        arc, tail = np.int64(states.arc[tail]), np.int64(states.before[tail])
    return key


@leaf
def _network(rows: Rows, entry: int, slot: int) -> float:
    """ln p of what an entry ends, after a slot of its root."""
    return rows.totals[rows.entry_row[entry] + slot] if entry >= 0 else 0.0


@leaf
def _write_state(
    states: States, state: int, arcs: Arcs, arc: int, tail: int, slot: int, tries: Tries, rows: Rows
) -> None:
    """State ``state`` comes from the state ``tail``, slot ``slot`` of its node, by an arc."""
    entry = arcs.entries[arc]
    states.network[state] = states.network[tail] + _network(rows, entry, slot)
    states.arc[state], states.before[state] = arc, tail
    if entry >= 0:
        states.row[state] = rows.pair_row[tries.query_pair[tries.entry_query[entry]]] + slot
        states.word[state] = tries.entry_word[entry]
    else:
        states.row[state], states.word[state] = states.row[tail], states.word[tail]


@kernel
def settle_level(
    roots: tuple[int, int], arcs: Arcs, weight: float, beam: int, history: int, tries: Tries, rows: Rows,
    states: States, used: int,
) -> int:  # fmt: skip
    """Keep the ``beam`` best states of distinct histories (of so many last words; -1: all) of every node in a range of
    roots; return how many there are then. The first states, those of starts, are there already.
    """
    arc_of, slot_of, score_of = np.empty(64, np.int32), np.empty(64, np.int32), np.empty(64)
    for root in range(*roots):
        node = arcs.root_node[root]
        states.first[root] = used
        if arcs.offsets[node] == arcs.offsets[node + 1]:
            used += 1
            continue
        count = 0
        for arc in range(arcs.offsets[node], arcs.offsets[node + 1]):
            tail = arcs.node_root[arcs.tails[arc]]
            if count + rows.slots[tail] > len(arc_of):
                size = 2 * (count + rows.slots[tail])
                arc_of, slot_of, score_of = enlarged(arc_of, size), enlarged(slot_of, size), enlarged(score_of, size)
            for slot in range(rows.slots[tail]):
                score = states.total[states.first[tail] + slot] + arcs.scores[arc]
                arc_of[count], slot_of[count] = arc, slot
                score_of[count] = score + weight * _network(rows, arcs.entries[arc], slot)
                count += 1
        order = np.argsort(-score_of[:count], kind="mergesort") if beam > 1 else np.array([np.argmax(score_of[:count])])
        for candidate in order:
            arc, slot = arc_of[candidate], slot_of[candidate]
            tail = states.first[arcs.node_root[arcs.tails[arc]]] + slot
            key = _key_after(states, tail, arcs, arc, history)
            fresh = True
            for state in range(states.first[root], used):
                fresh = fresh and states.key[state] != key
            if fresh:
                states.total[used], states.key[used] = score_of[candidate], key
                _write_state(states, used, arcs, arc, tail, slot, tries, rows)
                used += 1
                if used - states.first[root] == beam:
                    break
        rows.slots[root] = used - states.first[root]
    return used


@kernel
def trace_best(
    arcs: Arcs, weight: float, rows: Rows, states: States
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The best path of every sentence: arcs (int32) and offsets (int64 [S + 1]), total and network scores."""
    node_offsets = arcs.node_offsets
    sentences = len(node_offsets) - 1
    last = np.full(sentences, -1, np.int64)
    offsets = np.zeros(sentences + 1, np.int64)
    totals, network = np.zeros(sentences), np.zeros(sentences)
    for sentence in range(sentences):
        length = 0
        if node_offsets[sentence] < node_offsets[sentence + 1]:
            root = arcs.node_root[node_offsets[sentence + 1] - 1]
            entry = arcs.entries[len(arcs.tails) + sentence]
            for slot in range(rows.slots[root]):
                state, end = states.first[root] + slot, _network(rows, entry, slot)
                total = states.total[state] + weight * end
                if last[sentence] < 0 or total > totals[sentence]:
                    last[sentence] = state
                    totals[sentence], network[sentence] = total, states.network[state] + end
            state = last[sentence]
            while states.arc[state] >= 0:
                length += 1
                state = np.int64(states.before[state])
        offsets[sentence + 1] = offsets[sentence] + length
    path = np.empty(offsets[-1], np.int32)
    for sentence in range(sentences):
        state, place = last[sentence], offsets[sentence + 1]
        while place > offsets[sentence]:
            place -= 1
            path[place] = states.arc[state]
            state = np.int64(states.before[state])
    return path, offsets, totals, network


@kernel
def best_scores(arcs: Arcs, rows: Rows) -> np.ndarray:
    """float32 [A]: ln p of the words of each arc after the best state of its tail."""
    scores = np.empty(len(arcs.tails), np.float32)
    for arc in range(len(scores)):
        scores[arc] = _network(rows, arcs.entries[arc], 0)
    return scores
