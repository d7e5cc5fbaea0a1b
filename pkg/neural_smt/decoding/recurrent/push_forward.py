"""Push-forward rescoring of lattices with an unbounded model (Auli et al. 2013, section 3, Figure 2).

Every node keeps at most k recurrent states, of distinct histories: equal ones recombine to the best. Nodes are gone
through level by level, a level being the longest way from the start, and those of all sentences of a block together:
what follows their states is scored at once, and the state after an arc is computed only if the node it leads to keeps
it. The end of the sentence is predicted after the last node.
"""

from collections.abc import Iterator

import numpy as np

from neural_smt.decoding.recurrent.joint import JointModel, Rescored, in_threads
from neural_smt.decoding.recurrent.linked import LinkedLattices
from neural_smt.decoding.recurrent.push_forward_kernels import (
    Arcs,
    States,
    best_scores,
    level_nodes,
    settle_level,
    trace_best,
)
from neural_smt.io.ragged import Ragged
from neural_smt.networks.recurrent.scorer import Walk, writable
from neural_smt.networks.recurrent.sequences import distinct_inputs
from neural_smt.networks.recurrent.tries import build_tries
from neural_smt.networks.recurrent.tries_primitives import stable_order
from neural_smt.vocabulary import BOS, EOS

BLOCK = 1 << 16
"""Words of arcs times states that a block of sentences may have; the same whatever the number of threads."""


def push_forward(
    lattices: LinkedLattices, model: JointModel, vector: np.ndarray, weight: float, beam: int = 1, threads: int = 1
) -> Rescored:
    """Rescore lattices.

    vector: float64 ``[F]``, the weights of the lattices' scores; weight: that of the recurrent model; beam: k, states
    kept at a node. With ``arc_scores``, ln p of the words of each arc after the best state of the node it leaves.
    """
    scores = lattices.flat.scores(vector)

    def work(block: tuple[int, int]) -> Rescored:
        return _rescore_block(lattices, model, scores, weight, beam, *block)

    return Rescored.joined(in_threads(work, _blocks(lattices, beam), threads))


def _blocks(lattices: LinkedLattices, beam: int) -> Iterator[tuple[int, int]]:
    """Ranges of sentences with about as much work each."""
    flat = lattices.flat
    _, most = level_nodes(flat.node_offsets, flat.arc_offsets, flat.tails, beam)
    work = np.concatenate([[0], np.cumsum(flat.words.lengths * most[flat.tails])])
    work = work[flat.arc_offsets[flat.node_offsets]]
    first = 0
    while first < len(flat):
        last = max(first + 1, int(np.searchsorted(work, work[first] + BLOCK, side="right")) - 1)
        yield first, last
        first = last


def _rescore_block(
    lattices: LinkedLattices,
    model: JointModel,
    scores: np.ndarray,
    weight: float,
    beam: int,
    first: int,
    last: int,
) -> Rescored:
    flat, scorer = lattices.flat, model.scorer
    node_offsets = flat.node_offsets[first : last + 1] - flat.node_offsets[first]
    nodes = slice(*flat.node_offsets[[first, last]])
    offsets = flat.arc_offsets[nodes.start : nodes.stop + 1]
    part, offsets = slice(offsets[0], offsets[-1]), offsets - offsets[0]
    tails = writable(flat.tails[part] - np.int32(nodes.start), np.int32)
    level, most = level_nodes(node_offsets, offsets, tails, beam)
    root_node, _ = stable_order(level, int(level.max(initial=-1)) + 1)
    node_root = np.empty_like(root_node)
    node_root[root_node] = np.arange(len(root_node), dtype=np.int32)

    # What is predicted: the words of all arcs, then the end of each sentence, by the node that it is predicted at.
    places = slice(*flat.words.offsets[[part.start, part.stop]])
    filled = np.flatnonzero(np.diff(node_offsets))
    ends = np.zeros(last - first, dtype=np.int64)
    ends[filled] = 1
    word_offsets = np.concatenate([flat.words.offsets[part.start : part.stop + 1], places.stop + np.cumsum(ends)])
    word_offsets -= places.start
    words = np.concatenate([model.words[places], np.full(len(filled), EOS, dtype=np.int32)])
    links = np.concatenate([lattices.links[places], lattices.ends[first + filled]])
    inputs, of_input = distinct_inputs(model.inputs, links)
    at_node = np.concatenate([tails, np.full(last - first, -1, dtype=np.int32)])
    at_node[len(tails) + filled] = node_offsets[1:][filled] - 1
    predicted = np.concatenate([np.arange(len(tails)), len(tails) + filled])
    order, starts = stable_order(node_root[at_node[predicted]], len(root_node))
    order = predicted[order]
    sequences = Ragged(np.arange(len(words)), word_offsets).take(order)
    tries = build_tries(
        level[root_node],
        starts,
        sequences.offsets,
        words[sequences.values],
        inputs[sequences.values],
        scorer.class_of_word,
    )
    entries = np.full(len(at_node), -1, dtype=np.int32)
    entries[order] = tries.sequence_entry
    arcs = Arcs(offsets, tails, scores[part], word_offsets, words, inputs, entries)

    walk = Walk(scorer, tries, scorer.input_layer(tries, model.inputs, of_input), most[root_node])
    states = _new_states(len(root_node), int(most.sum()))
    used = 0
    for number in range(len(tries.level_roots) - 1):
        roots = int(tries.level_roots[number]), int(tries.level_roots[number + 1])
        before = used
        used = settle_level(roots, root_node, node_root, arcs, weight, beam, tries, walk.rows, states, before)
        walk.score_level(number, states.row[before:used], states.word[before:used])
    path, path_offsets, totals, recurrent = trace_best(node_offsets, node_root, arcs, weight, walk.rows, states)
    return Rescored(
        Ragged(path + np.int32(part.start), path_offsets),
        totals,
        recurrent,
        walk.evaluations,
        best_scores(arcs, walk.rows),
    )


def _new_states(roots: int, most: int) -> States:
    """Room for so many states; each is that of the start of a sentence until it is written."""
    return States(
        first=np.zeros(roots, dtype=np.int64),
        total=np.zeros(most),
        recurrent=np.zeros(most),
        arc=np.full(most, -1, dtype=np.int32),
        before=np.full(most, -1, dtype=np.int32),
        row=np.zeros(most, dtype=np.int64),
        word=np.full(most, BOS, dtype=np.int32),
        key=np.zeros(most, dtype=np.uint64),
    )
