"""The lattices of many sentences laid end to end, and their exact best derivations, found one by one.

Every derivation is the best one with some arcs exchanged. The next-best is found among those that exchange one arc
more than a derivation already taken (the sidetracks of Eppstein 1998; on lattices the same order as the lazy
algorithm of Huang and Chiang 2005). That is exact because what an arc adds to a score depends on the arc alone: nodes
are recombined only where coverage, last source range, forward reordering scores and language model states agree, so
features are sums over arcs. Of a stateful feature that recombines more, the score of an arc is an estimate.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from neural_smt.decoding.lattices.lattice import Lattice
from neural_smt.decoding.primitives import pop, push
from neural_smt.io.ragged import Ragged
from neural_smt.io.records import Record
from neural_smt.jit import assign, enlarged, kernel, leaf, mix

BLOCK = 8192
"""Arcs scored at a time, so that their features in float64 stay in the processor's cache."""

DISTINCT_FACTOR = 20
"""A distinct list of n looks at no more than 20 n derivations, as Moses does."""


@dataclass(frozen=True)
class FlatLattices(Record):
    """The lattices of S sentences: M nodes, A arcs, F scores.

    node_offsets: the nodes of sentence s are ``node_offsets[s]:node_offsets[s + 1]``, in an order in which every arc
    leads to a higher node; the first is the start, the last the end of the sentence; an empty sentence has none.
    arc_offsets: the arcs into each node; tails: the node (numbered over all sentences) that an arc leaves; features:
    the feature values of each arc, a row per score, which sum to those of a derivation along its arcs; words: A
    phrases, target ids.
    """

    node_offsets: Annotated[np.ndarray, "int64 [S+1] to M"]
    arc_offsets: Annotated[np.ndarray, "int64 [M+1] to A"]
    tails: Annotated[np.ndarray, "int32 [A] < M"]
    features: Annotated[np.ndarray, "float32 [F, A]"]
    words: Annotated[Ragged, "int32 [A] < *"]

    def fault(self) -> str | None:
        """What is wrong with the lattices as they were read, besides their layout."""
        starts = np.repeat(self.node_offsets[:-1], np.diff(self.node_offsets))
        degrees = np.diff(self.arc_offsets)
        heads = np.repeat(np.arange(len(degrees)), degrees)
        if (self.tails >= heads).any() or (self.tails < starts[heads]).any():
            return "an arc leads back, or out of its sentence"
        if ((degrees == 0) != (np.arange(len(degrees)) == starts)).any():
            return "a node cannot be reached"
        return None

    def __len__(self) -> int:
        """The number of sentences S."""
        return len(self.node_offsets) - 1

    @property
    def first_arcs(self) -> np.ndarray:
        """int64 ``[S + 1]``: where the arcs of each sentence start."""
        return self.arc_offsets[self.node_offsets]

    @property
    def sentences_of_words(self) -> np.ndarray:
        """int64: the sentence of each word of the arcs."""
        return np.repeat(np.repeat(np.arange(len(self)), np.diff(self.first_arcs)), self.words.lengths)

    @classmethod
    def of(cls, lattices: Sequence[Lattice | None], scores: int) -> "FlatLattices":
        """Lay lattices of one sentence each (None: an empty sentence), with ``scores`` scores, end to end."""
        node_offsets = np.cumsum([0, *(0 if lattice is None else len(lattice.ranges) for lattice in lattices)])
        pairs = zip(lattices, node_offsets[:-1].astype(np.int32), strict=True)
        filled = [(lattice, first) for lattice, first in pairs if lattice is not None]
        in_degrees = [np.diff(lattice.arc_offsets) for lattice, _ in filled]
        features = np.empty((scores, sum(len(lattice.tails) for lattice, _ in filled)), np.float32)
        stop = 0
        for lattice, _ in filled:
            start, stop = stop, stop + len(lattice.tails)
            features[:, start:stop] = lattice.features(np.arange(stop - start)).T
        return cls(
            node_offsets,
            np.cumsum(np.concatenate([[0], *in_degrees])),
            np.concatenate([np.zeros(0, np.int32), *(lattice.tails + first for lattice, first in filled)]),
            features,
            Ragged.concatenate([Ragged.from_lists([]), *(lattice.words for lattice, _ in filled)]),
        )

    def scores(self, vector: np.ndarray) -> np.ndarray:
        """float64 ``[A]``: the score of each arc under the weights ``vector`` (float64 ``[F]``)."""
        vector = np.asarray(vector, dtype=np.float64)
        result = np.empty(len(self.tails))
        for start in range(0, len(result), BLOCK):
            result[start : start + BLOCK] = vector @ self.features[:, start : start + BLOCK]
        return result

    def translations(self, paths: Ragged) -> Ragged:
        """int32 ``Ragged``: the words of derivations, target ids; paths: int ``Ragged``, their arcs."""
        return self.words.take(paths.values).joined(paths.offsets)


class _Graph(NamedTuple):
    """The lattices of S sentences, whose arcs come best first into each node.

    node_offsets, arc_offsets, tails, prefix_scores: as in ``Lattice``; phrases: int [A], the target phrase of each arc;
    words: int32, the words of phrase p from ``word_offsets[p]`` (int64) on.
    """

    node_offsets: np.ndarray
    arc_offsets: np.ndarray
    tails: np.ndarray
    prefix_scores: np.ndarray
    phrases: np.ndarray
    words: np.ndarray
    word_offsets: np.ndarray


BEFORE, NODE, RANK = 0, 1, 2
"""Columns of the derivations found so far: the derivation that each is made from (-1: the best one), and the node and
the rank of the arc into it that is exchanged.
"""


@leaf
def _walk(tracks: np.ndarray, item: int, sentence: int, graph: _Graph, path: np.ndarray, exchanged: np.ndarray) -> int:
    """Write the arcs of a derivation, last arc first, into ``path``; return how many there are.

    exchanged: int32, room for the sidetracks of the derivation.
    """
    depth = 0
    track = item
    while track > 0:
        depth += 1
        track = np.int64(tracks[track, BEFORE])
    track = item
    for i in range(depth - 1, -1, -1):
        exchanged[i] = track
        track = np.int64(tracks[track, BEFORE])
    length = 0
    done = 0
    node = graph.node_offsets[sentence + 1] - 1
    while node != graph.node_offsets[sentence]:
        arc = graph.arc_offsets[node]
        if done < depth and tracks[exchanged[done], NODE] == node:
            arc += tracks[exchanged[done], RANK]
            done += 1
        path[length] = arc
        length += 1
        node = np.int64(graph.tails[arc])
    return length


@leaf
def _hash_target(path: np.ndarray, graph: _Graph) -> np.uint64:
    """64-bit hash of the words of a derivation (arcs last first)."""
    key = np.uint64(0)
    for i in range(len(path) - 1, -1, -1):
        phrase = graph.phrases[path[i]]
        for position in range(graph.word_offsets[phrase], graph.word_offsets[phrase + 1]):
            key = mix(key ^ np.uint64(graph.words[position] + 1))
    return key


@leaf
def _push_next(
    tracks: np.ndarray, scores: np.ndarray, item: int, graph: _Graph, path: np.ndarray, end: int,
    keys: np.ndarray, items: np.ndarray, made: int, waiting: int,
) -> tuple[int, int]:  # fmt: skip
    """Let those derivations wait that exchange one arc more than a derivation (its arcs: ``path``, last arc first):
    the next arc into the node last exchanged, or the second arc into a node before it.
    """
    last = np.int64(tracks[item, NODE])
    for i in range(len(path)):
        arc = np.int64(path[i])
        node = end - 1 if i == 0 else np.int64(graph.tails[path[i - 1]])
        if node > last or arc + 1 >= graph.arc_offsets[node + 1]:
            continue
        tracks[made, BEFORE] = tracks[item, BEFORE] if node == last else item
        tracks[made, NODE] = node
        tracks[made, RANK] = arc + 1 - graph.arc_offsets[node]
        # Arcs come best first, so rounding must not lift a derivation above the one it is made from.
        scores[made] = scores[item] - (graph.prefix_scores[arc] - graph.prefix_scores[arc + 1])
        waiting = push(keys, items, waiting, scores[made], made)
        made += 1
    return made, waiting


@kernel
def _list_best(
    graph: _Graph, limit: int, attempts: int, distinct: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Arcs (int32) of the ``limit`` best derivations of each sentence, offsets into them (int64 [D + 1]), scores
    (float64 [D]), and where those of each sentence start (int64 [S + 1]); attempts: derivations looked at.
    """
    arc_offsets, prefix_scores = graph.arc_offsets, graph.prefix_scores
    sentences = len(graph.node_offsets) - 1
    arcs, offsets, scores = np.empty(64 * sentences, np.int32), np.zeros(sentences + 1, np.int64), np.empty(sentences)
    first = np.zeros(sentences + 1, dtype=np.int64)
    tracks, track_scores = np.empty((256, 3), np.int32), np.empty(256)
    keys, items = np.empty(256), np.empty(256, dtype=np.int32)
    taken = 0
    for sentence in range(sentences):
        first[sentence + 1] = taken
        end = graph.node_offsets[sentence + 1]
        nodes = end - graph.node_offsets[sentence]
        if nodes == 0:
            continue
        path, exchanged = np.empty(nodes, dtype=np.int32), np.empty(nodes, dtype=np.int32)
        tracks[0, BEFORE], tracks[0, NODE], tracks[0, RANK] = -1, end, 0  # before every node: nothing is exchanged
        track_scores[0] = prefix_scores[arc_offsets[end - 1]]
        made = 1
        waiting = push(keys, items, 0, track_scores[0], 0)
        seen = {np.uint64(0)}
        left = attempts
        while waiting > 0 and taken < first[sentence] + limit and left > 0:
            left -= 1
            item, waiting = pop(keys, items, waiting)
            length = _walk(tracks, item, sentence, graph, path, exchanged)
            fresh = True
            if distinct:
                key = _hash_target(path[:length], graph)
                fresh = key not in seen
                seen.add(key)
            if fresh:
                if taken == len(scores):
                    scores, offsets = enlarged(scores, 2 * taken), enlarged(offsets, 2 * taken + 1)
                if offsets[taken] + length > len(arcs):
                    arcs = enlarged(arcs, 2 * len(arcs) + length)
                assign(arcs[offsets[taken] :], path[:length][::-1])
                offsets[taken + 1] = offsets[taken] + length
                scores[taken] = track_scores[item]
                taken += 1
            if made + length > len(tracks):
                size = max(2 * len(tracks), made + length)
                tracks, track_scores = enlarged(tracks, size), enlarged(track_scores, size)
                keys, items = enlarged(keys, size), enlarged(items, size)
            made, waiting = _push_next(
                tracks, track_scores, item, graph, path[:length], end, keys, items, made, waiting
            )
        first[sentence + 1] = taken
    return arcs[: offsets[taken]], offsets[: taken + 1], scores[:taken], first


def _list(graph: _Graph, limit: int, distinct: bool) -> tuple[Ragged, np.ndarray, np.ndarray]:
    """See ``best_derivations``."""
    arcs, offsets, scores, first = _list_best(graph, limit, limit * (DISTINCT_FACTOR if distinct else 1), distinct)
    return Ragged(arcs, offsets), scores, first


def best_derivations(lattice: Lattice, limit: int, distinct: bool) -> tuple[Ragged, np.ndarray, np.ndarray]:
    """The best derivations of every sentence, best first, D in all.

    Returns their arcs (int32 ``Ragged`` of D, first arc first), their scores (float64 ``[D]``), and where those of each
    sentence start (int64 ``[B + 1]``). With ``distinct`` only the best derivation of every target string counts, among
    the first ``20 limit`` derivations.
    """
    nodes, words = (lattice.node_offsets, lattice.arc_offsets), lattice.weighted.options.targets.arrays
    return _list(_Graph(*nodes, lattice.tails, lattice.prefix_scores, lattice.options, *words), limit, distinct)


def _list_flat(lattices: FlatLattices, vector: np.ndarray, limit: int) -> tuple[Ragged, np.ndarray, np.ndarray]:
    """The best distinct derivations under weights ``vector`` (float64 ``[F]``); see ``best_derivations``."""
    order, prefix = _sort_arcs(lattices.arc_offsets, lattices.tails, lattices.scores(vector))
    nodes = lattices.node_offsets, lattices.arc_offsets
    graph = _Graph(*nodes, lattices.tails[order], prefix, order, *lattices.words.arrays)
    paths, scores, first = _list(graph, limit, limit > 1)  # one derivation is distinct
    return Ragged(order[paths.values].astype(np.int32), paths.offsets), scores, first


def list_paths(lattices: FlatLattices, vector: np.ndarray, limit: int) -> tuple[Ragged, np.ndarray]:
    """The best derivations of every sentence under weights ``vector`` (float64 ``[F]``), one for every target string.

    Returns their arcs (int32 ``Ragged`` of D, best derivations first, first arcs first) and where those of each
    sentence start (int64 ``[S + 1]``); an empty sentence has none. As in ``best_derivations``, ``20 limit`` derivations
    of a sentence are looked at.
    """
    paths, _, first = _list_flat(lattices, vector, limit)
    return paths, first


def best_paths(lattices: FlatLattices, vector: np.ndarray) -> tuple[Ragged, np.ndarray]:
    """The best derivation of each of S lattices under weights ``vector`` (float64 ``[F]``); ties go to the earlier arc.

    Returns their arcs (int32 ``Ragged`` of S, the first arc first, none for an empty sentence) and their scores
    (float64 ``[S]``, 0 for an empty sentence).
    """
    paths, found, first = _list_flat(lattices, vector, 1)
    scores = np.zeros(len(lattices))
    scores[np.diff(first) > 0] = found
    return paths.joined(first), scores


@kernel
def _sort_arcs(arc_offsets: np.ndarray, tails: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The arcs in their new order (int64 [A]), best first into each node, and their prefix scores (float64 [A])."""
    order, prefix = np.empty(len(tails), dtype=np.int64), np.empty(len(tails))
    best = np.zeros(len(arc_offsets) - 1)
    for node in range(len(arc_offsets) - 1):
        first, last = arc_offsets[node], arc_offsets[node + 1]
        if first == last:  # the start of a sentence
            continue
        totals = best[tails[first:last]] + scores[first:last]
        ranks = np.argsort(-totals, kind="mergesort")
        order[first:last] = first + ranks
        prefix[first:last] = totals[ranks]
        best[node] = prefix[first]
    return order, prefix
