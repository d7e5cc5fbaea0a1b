"""Exact k-best derivations of a lattice, made one by one as they are asked for.

Every derivation is the best one with some arcs exchanged. The next-best is found among those that exchange one arc
more than a derivation already taken (the sidetracks of Eppstein 1998; on lattices the same order as the lazy
algorithm of Huang and Chiang 2005). That is exact because what an arc adds to a score depends on the arc alone: nodes
are recombined only where coverage, last source range and language model states agree, so features are sums over arcs.
"""

from typing import NamedTuple

import numpy as np

from neural_smt.decoding.buffer_primitives import enlarged
from neural_smt.decoding.heap_primitives import pop, push
from neural_smt.decoding.lattices.batch import LatticeBatch
from neural_smt.decoding.lattices.flat import FlatLattices
from neural_smt.decoding.lattices.lattice import Lattice
from neural_smt.decoding.lattices.viterbi import sort_arcs
from neural_smt.decoding.primitives import Options
from neural_smt.io.ragged import Ragged
from neural_smt.jit import kernel, leaf, mix

DISTINCT_FACTOR = 20
"""A distinct list of n looks at no more than 20 n derivations, as Moses does."""


class _Phrases(NamedTuple):
    """The target phrases that arcs stand for: int32 words of phrase p from ``word_offsets[p]`` (int64) on."""

    words: np.ndarray
    word_offsets: np.ndarray


class _Sidetracks(NamedTuple):
    """Derivations found so far: derivation ``before`` (-1: the best) with the arc of this rank into ``node``."""

    before: np.ndarray
    node: np.ndarray
    rank: np.ndarray
    score: np.ndarray


@kernel
def _walk(sidetracks: _Sidetracks, item: int, arc_offsets: np.ndarray, tails: np.ndarray, path: np.ndarray) -> int:
    """Write the arcs of a derivation, last arc first, into ``path``; return how many there are."""
    depth = 0
    track = item
    while track > 0:
        depth += 1
        track = sidetracks.before[track]
    exchanged = np.empty(depth, dtype=np.int32)
    track = item
    for i in range(depth - 1, -1, -1):
        exchanged[i] = track
        track = sidetracks.before[track]
    length = 0
    done = 0
    node = len(arc_offsets) - 2
    while node != 0:
        arc = arc_offsets[node]
        if done < depth and sidetracks.node[exchanged[done]] == node:
            arc += sidetracks.rank[exchanged[done]]
            done += 1
        path[length] = arc
        length += 1
        node = np.int64(tails[arc])
    return length


@leaf
def _hash_target(path: np.ndarray, arc_phrases: np.ndarray, phrases: _Phrases) -> np.uint64:
    """64-bit hash of the words of a derivation (arcs last first)."""
    key = np.uint64(0)
    for i in range(len(path) - 1, -1, -1):
        phrase = arc_phrases[path[i]]
        for position in range(phrases.word_offsets[phrase], phrases.word_offsets[phrase + 1]):
            key = mix(key ^ np.uint64(phrases.words[position] + 1))
    return key


@kernel
def _grow(sidetracks: _Sidetracks, needed: int) -> _Sidetracks:
    size = max(2 * len(sidetracks.node), needed)
    return _Sidetracks(
        enlarged(sidetracks.before, size),
        enlarged(sidetracks.node, size),
        enlarged(sidetracks.rank, size),
        enlarged(sidetracks.score, size),
    )


@kernel
def _take_best(
    arc_offsets: np.ndarray, tails: np.ndarray, prefix_scores: np.ndarray, arc_phrases: np.ndarray, phrases: _Phrases,
    limit: int, attempts: int, distinct: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Arcs of the ``limit`` best derivations (int32), int64 [n + 1] offsets into them, and float64 [n] scores."""
    nodes = len(arc_offsets) - 1
    sidetracks = _Sidetracks(np.empty(256, np.int32), np.empty(256, np.int32), np.empty(256, np.int32), np.empty(256))
    keys, items = np.empty(256), np.empty(256, dtype=np.int32)
    sidetracks.before[0] = -1
    sidetracks.node[0] = nodes  # before every node: nothing is exchanged
    sidetracks.rank[0] = 0
    sidetracks.score[0] = prefix_scores[arc_offsets[nodes - 1]]
    made = 1
    waiting = push(keys, items, 0, sidetracks.score[0], 0)
    seen = {np.uint64(0)}
    path = np.empty(nodes, dtype=np.int32)
    arcs = np.empty(nodes * min(limit, 64), dtype=np.int32)
    offsets = np.zeros(limit + 1, dtype=np.int64)
    scores = np.empty(limit)
    taken = 0
    while waiting > 0 and taken < limit and attempts > 0:
        attempts -= 1
        item, waiting = pop(keys, items, waiting)
        length = _walk(sidetracks, item, arc_offsets, tails, path)
        fresh = True
        if distinct:
            key = _hash_target(path[:length], arc_phrases, phrases)
            fresh = key not in seen
            seen.add(key)
        if fresh:
            if offsets[taken] + length > len(arcs):
                arcs = enlarged(arcs, 2 * len(arcs) + length)
            arcs[offsets[taken] : offsets[taken] + length] = path[:length][::-1]
            offsets[taken + 1] = offsets[taken] + length
            scores[taken] = sidetracks.score[item]
            taken += 1
        if made + length > len(sidetracks.node):
            sidetracks = _grow(sidetracks, made + length)
            keys, items = enlarged(keys, len(sidetracks.node)), enlarged(items, len(sidetracks.node))
        # The next arc into the node last exchanged, or the second arc into a node before it.
        last = np.int64(sidetracks.node[item])
        for i in range(length):
            arc = np.int64(path[i])
            node = np.int64(nodes - 1) if i == 0 else np.int64(tails[path[i - 1]])
            if node > last or arc + 1 >= arc_offsets[node + 1]:
                continue
            sidetracks.before[made] = sidetracks.before[item] if node == last else item
            sidetracks.node[made] = node
            sidetracks.rank[made] = arc + 1 - arc_offsets[node]
            # Arcs come best first, so rounding must not lift a derivation above the one it is made from.
            sidetracks.score[made] = sidetracks.score[item] - (prefix_scores[arc] - prefix_scores[arc + 1])
            waiting = push(keys, items, waiting, sidetracks.score[made], made)
            made += 1
    return arcs, offsets[: taken + 1], scores[:taken]


@kernel
def _list_best(
    first_arc: np.ndarray, first_node: np.ndarray, arc_offsets: np.ndarray, tails: np.ndarray,
    prefix_scores: np.ndarray, arc_phrases: np.ndarray, phrases: _Phrases, limit: int, attempts: int, distinct: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Arcs of the best derivations of each lattice of a batch, offsets into them, scores, and first derivations."""
    batch = len(first_arc) - 1
    first = np.zeros(batch + 1, dtype=np.int64)
    arcs, offsets, scores = np.empty(64 * batch, np.int32), np.zeros(batch + 1, np.int64), np.empty(batch)
    for b in range(batch):
        begin, end = first_arc[b], first_arc[b + 1]
        found, found_offsets, found_scores = _take_best(
            arc_offsets[first_node[b] + b : first_node[b + 1] + b + 1],
            tails[begin:end],
            prefix_scores[begin:end],
            arc_phrases[begin:end],
            phrases,
            limit,
            attempts,
            distinct,
        )
        count = len(found_scores)
        filled, total = first[b], offsets[first[b]]
        if filled + count > len(scores):
            scores, offsets = enlarged(scores, 2 * (filled + count)), enlarged(offsets, 2 * (filled + count) + 1)
        if total + found_offsets[count] > len(arcs):
            arcs = enlarged(arcs, 2 * (total + found_offsets[count]))
        scores[filled : filled + count] = found_scores
        offsets[filled + 1 : filled + count + 1] = total + found_offsets[1:]
        arcs[total : total + found_offsets[count]] = begin + found[: found_offsets[count]]
        first[b + 1] = filled + count
    return arcs[: offsets[first[batch]]], offsets[: first[batch] + 1], scores[: first[batch]], first


def _phrases(options: Options) -> _Phrases:
    return _Phrases(options.words, options.word_offsets)


def list_best(lattices: LatticeBatch, limit: int, distinct: bool) -> tuple[Ragged, np.ndarray, np.ndarray]:
    """``best_derivations`` of every lattice of a batch, D in all.

    Returns their arcs, numbered over the batch (int32 ``Ragged`` of D), their scores (float64 ``[D]``), and where those
    of each lattice start (int64 ``[B + 1]``).
    """
    arcs, offsets, scores, first = _list_best(
        lattices.first_arc,
        lattices.first_node,
        lattices.arc_offsets,
        lattices.tails,
        lattices.prefix_scores,
        lattices.options,
        _phrases(lattices.weighted.options),
        limit,
        limit * (DISTINCT_FACTOR if distinct else 1),
        distinct,
    )
    return Ragged(arcs, offsets), scores, first


def best_derivations(
    lattice: Lattice, limit: int, distinct: bool, exhaustive: bool = False
) -> tuple[Ragged, np.ndarray]:
    """The best derivations, best first: their arcs (int32 ``Ragged``, first arc first) and scores (float64 ``[n]``).

    With ``distinct`` only the best derivation of every target string counts, among the first ``20 limit`` derivations
    or, when ``exhaustive``, among all there are (a lattice holds astronomically many of few strings at worst).
    """
    attempts = limit * (DISTINCT_FACTOR if distinct else 1)
    arcs, offsets, scores = _take_best(
        lattice.arc_offsets,
        lattice.tails,
        lattice.prefix_scores,
        lattice.options,
        _phrases(lattice.weighted.options),
        limit,
        np.iinfo(np.int64).max if exhaustive else attempts,
        distinct,
    )
    return Ragged(arcs[: offsets[-1]], offsets), scores


@kernel
def _list_paths(
    node_offsets: np.ndarray, arc_offsets: np.ndarray, tails: np.ndarray, scores: np.ndarray, phrases: _Phrases,
    limit: int, attempts: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Arcs (int32) of the best derivations of all sentences, offsets into them (int64), and first derivations."""
    sentences = len(node_offsets) - 1
    first = np.zeros(sentences + 1, dtype=np.int64)
    arcs, offsets = np.empty(16 * sentences, dtype=np.int32), np.zeros(sentences * limit + 1, dtype=np.int64)
    for sentence in range(sentences):
        filled = first[sentence]
        first[sentence + 1] = filled
        node, stop = node_offsets[sentence], node_offsets[sentence + 1]
        if node == stop:
            continue
        begin, end = arc_offsets[node], arc_offsets[stop]
        inner = (tails[begin:end] - node).astype(np.int32)
        order, prefix = sort_arcs(arc_offsets[node : stop + 1] - begin, inner, scores[begin:end])
        found, found_offsets, found_scores = _take_best(
            arc_offsets[node : stop + 1] - begin, inner[order], prefix, begin + order, phrases, limit, attempts, True
        )
        count, total = len(found_scores), offsets[filled]
        length = found_offsets[count]
        if total + length > len(arcs):
            arcs = enlarged(arcs, 2 * (total + length))
        arcs[total : total + length] = begin + order[found[:length]]
        offsets[filled + 1 : filled + count + 1] = total + found_offsets[1:]
        first[sentence + 1] = filled + count
    count = first[sentences]
    return arcs[: offsets[count]], offsets[: count + 1], first


def list_paths(lattices: FlatLattices, vector: np.ndarray, limit: int) -> tuple[Ragged, np.ndarray]:
    """The best derivations of every sentence under weights ``vector`` (float64 ``[F]``), one for every target string.

    Returns their arcs (int32 ``Ragged`` of D, best derivations first, first arcs first) and where those of each
    sentence start (int64 ``[S + 1]``); an empty sentence has none. As in ``best_derivations``, ``20 limit`` derivations
    of a sentence are looked at.
    """
    arcs, offsets, first = _list_paths(
        lattices.node_offsets,
        lattices.arc_offsets,
        lattices.tails,
        lattices.scores(vector),
        _Phrases(lattices.words.values, lattices.words.offsets),
        limit,
        limit * DISTINCT_FACTOR,
    )
    return Ragged(arcs, offsets), first
