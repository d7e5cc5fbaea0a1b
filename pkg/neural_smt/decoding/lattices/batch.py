"""The lattices of a batch of sentences, made at once and end to end, so that kernels read them without copies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neural_smt.decoding.hypotheses import Arcs
from neural_smt.decoding.lattices.arc_features import Extensions, arc_features
from neural_smt.decoding.lattices.lattice import Lattice
from neural_smt.decoding.options import WeightedSentences
from neural_smt.decoding.primitives import Stacks
from neural_smt.jit import kernel


@dataclass(frozen=True)
class LatticeBatch:
    """The lattices of B sentences, none of them empty: the arrays of each ``Lattice`` one after another.

    sentences: int64 ``[B]``, numbers in ``weighted.prepared``; first_node, first_arc: int64 ``[B + 1]``, where those
    of each sentence start. Nodes and arcs keep the numbers they have in their own lattice; the B lattices have
    ``M + B`` arc offsets, so those of lattice b start at ``first_node[b] + b``.
    """

    weighted: WeightedSentences
    sentences: np.ndarray
    first_node: np.ndarray
    first_arc: np.ndarray
    ranges: np.ndarray
    node_options: np.ndarray
    states: np.ndarray
    arc_offsets: np.ndarray
    tails: np.ndarray
    options: np.ndarray
    starts: np.ndarray
    prefix_scores: np.ndarray
    extras: np.ndarray

    @classmethod
    def build(
        cls, weighted: WeightedSentences, members: np.ndarray, lengths: np.ndarray, stacks: Stacks, arcs: Arcs
    ) -> LatticeBatch:
        """What lies between the empty hypothesis and the complete one of each sentence of a batch.

        members, lengths: int64 ``[B]``, number and length of each sentence; stacks, arcs: all of the search.
        """
        return cls(weighted, members, *_connect(lengths, stacks, arcs))

    @classmethod
    def of(cls, lattice: Lattice) -> LatticeBatch:
        """A batch of one lattice."""
        return cls(
            lattice.weighted,
            np.array([lattice.sentence]),
            np.array([0, len(lattice.ranges)]),
            np.array([0, len(lattice.tails)]),
            lattice.ranges,
            lattice.node_options,
            lattice.states,
            lattice.arc_offsets,
            lattice.tails,
            lattice.options,
            lattice.starts,
            lattice.prefix_scores,
            lattice.extras,
        )

    def lattices(self) -> list[Lattice]:
        """Each lattice on its own; its arrays are views of those here."""
        nodes, arcs = self.first_node.tolist(), self.first_arc.tolist()
        return [self._lattice(b, slice(*nodes[b : b + 2]), slice(*arcs[b : b + 2])) for b in range(len(self.sentences))]

    def _lattice(self, number: int, nodes: slice, arcs: slice) -> Lattice:
        return Lattice(
            weighted=self.weighted,
            sentence=int(self.sentences[number]),
            ranges=self.ranges[nodes],
            node_options=self.node_options[nodes],
            states=self.states[nodes],
            arc_offsets=self.arc_offsets[nodes.start + number : nodes.stop + number + 1],
            tails=self.tails[arcs],
            options=self.options[arcs],
            starts=self.starts[arcs],
            prefix_scores=self.prefix_scores[arcs],
            extras=self.extras[arcs],
        )

    def features(self, arcs: np.ndarray) -> np.ndarray:
        """float32 ``[n, F]``: the feature values of arcs, numbered over the batch (int ``[n]``)."""
        lattice = np.searchsorted(self.first_arc, arcs, side="right") - 1
        tails = self.first_node[lattice] + self.tails[arcs]
        last = self.arc_offsets[self.first_node[1:] + np.arange(len(self.sentences)) - 1]  # of the final node
        return arc_features(
            self.weighted,
            Extensions(
                self.options[arcs],
                self.starts[arcs],
                self.ranges[tails],
                self.node_options[tails],
                self.states[tails],
                arcs - self.first_arc[lattice] >= last[lattice],
                self.extras[arcs],
            ),
        )


@kernel
def _number_nodes(
    lengths: np.ndarray, stacks: Stacks, arcs: Arcs, final: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The node of each hypothesis in its lattice (int32, -1: in none), and where each lattice's nodes and arcs start.

    Arcs are ordered by stack, so one pass from the end finds all that lead to the complete translation.
    """
    batch = len(lengths)
    node = np.full(stacks.counts[0], -1, dtype=np.int32)
    first_node, first_arc = np.zeros(batch + 1, dtype=np.int64), np.zeros(batch + 1, dtype=np.int64)
    for b in range(batch):
        node[final[b]] = 0
        kept = 0
        for size in range(lengths[b], 0, -1):
            for arc in range(arcs.ranges[size, b + 1] - 1, arcs.ranges[size, b] - 1, -1):
                if node[arcs.head[arc]] >= 0:
                    node[arcs.tail[arc]] = 0
                    kept += 1
        nodes = 0
        for size in range(lengths[b] + 1):
            for coverage in range(stacks.ranges[b, size, 0], stacks.ranges[b, size, 1]):
                for hypothesis in range(stacks.coverages.first[coverage], stacks.coverages.last[coverage]):
                    if node[hypothesis] >= 0:
                        node[hypothesis] = nodes
                        nodes += 1
        first_node[b + 1] = first_node[b] + nodes
        first_arc[b + 1] = first_arc[b] + kept
    return node, first_node, first_arc


@kernel
def _order_arcs(
    lengths: np.ndarray, arcs: Arcs, node: np.ndarray, first_node: np.ndarray, first_arc: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The arcs of all lattices by head, best first (int64), and each lattice's arc offsets (int64 [M + B])."""
    order = np.empty(first_arc[-1], dtype=np.int64)
    all_offsets = np.zeros(first_node[-1] + len(lengths), dtype=np.int64)
    for b in range(len(lengths)):
        offsets = all_offsets[first_node[b] + b : first_node[b + 1] + b + 1]
        nodes = len(offsets) - 1
        for size in range(1, lengths[b] + 1):
            for arc in range(arcs.ranges[size, b], arcs.ranges[size, b + 1]):
                if node[arcs.head[arc]] >= 0:
                    offsets[node[arcs.head[arc]] + 1] += 1
        for head in range(nodes):
            offsets[head + 1] += offsets[head]
        position = first_arc[b] + offsets
        for size in range(1, lengths[b] + 1):
            for arc in range(arcs.ranges[size, b], arcs.ranges[size, b + 1]):
                head = node[arcs.head[arc]]
                if head >= 0:
                    order[position[head]] = arc
                    position[head] += 1
        for head in range(nodes):
            part = order[first_arc[b] + offsets[head] : first_arc[b] + offsets[head + 1]]
            if len(part) > 1:
                part[:] = part[np.argsort(-arcs.score[part], kind="mergesort")]
    return order, all_offsets


@kernel
def _connect(lengths: np.ndarray, stacks: Stacks, arcs: Arcs) -> tuple[np.ndarray, ...]:
    """The arrays of a ``LatticeBatch``, from ``first_node`` on."""
    hypotheses = stacks.hypotheses
    final = np.empty(len(lengths), dtype=np.int64)
    for b in range(len(lengths)):
        final[b] = stacks.coverages.first[stacks.ranges[b, lengths[b], 0]]
    node, first_node, first_arc = _number_nodes(lengths, stacks, arcs, final)
    order, arc_offsets = _order_arcs(lengths, arcs, node, first_node, first_arc)
    nodes = first_node[-1]
    ranges, options = np.empty((nodes, 2), dtype=np.int32), np.empty(nodes, dtype=np.int32)
    states = np.empty((nodes, hypotheses.states.shape[1]), dtype=np.int32)
    for b in range(len(lengths)):
        for size in range(lengths[b] + 1):
            for coverage in range(stacks.ranges[b, size, 0], stacks.ranges[b, size, 1]):
                for hypothesis in range(stacks.coverages.first[coverage], stacks.coverages.last[coverage]):
                    if node[hypothesis] >= 0:
                        row = first_node[b] + node[hypothesis]
                        ranges[row, 0] = hypotheses.start[hypothesis]
                        ranges[row, 1] = hypotheses.stop[hypothesis]
                        options[row] = hypotheses.option[hypothesis]
                        states[row] = hypotheses.states[hypothesis]
    tails = node[arcs.tail[order]]
    return (
        first_node,
        first_arc,
        ranges,
        options,
        states,
        arc_offsets,
        tails,
        arcs.option[order],
        arcs.start[order],
        arcs.score[order],
        arcs.extra[order].astype(np.float32),
    )
