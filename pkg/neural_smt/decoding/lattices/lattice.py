"""Search graphs: hypotheses as nodes, recombined ways into them as arcs, of one sentence or of a batch.

Pruning keeps the arcs whose best derivation is good enough (max-marginals). The score of an arc is that of the best
derivation through it (Sixtus and Ortmanns 1999, forward-backward pruning); Macherey et al. (2008) prune the lattices
they tune on in this way, to a density.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from neural_smt.decoding.buffer_primitives import CANDIDATES, GROUPS
from neural_smt.decoding.features import DISTORTION, REORDERING
from neural_smt.decoding.options import WeightedSentences
from neural_smt.decoding.primitives import LOG_10, Options, Stacks, orientation, score_words
from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.jit import assign, kernel
from neural_smt.language_model.primitives import Automaton, score_word
from neural_smt.vocabulary import EOS

ROUNDING = 1e-9
"""Derivations whose scores differ by less, relatively, score the same."""

NODE_ARRAYS = ("ranges", "node_options", "states")
ARC_ARRAYS = ("tails", "options", "starts", "prefix_scores", "extras")


@dataclass(frozen=True)
class Lattice:
    """All derivations that search kept for B sentences, none of them empty, end to end. M nodes, A arcs.

    The nodes of sentence b are ``node_offsets[b]:node_offsets[b + 1]``. The first is the empty hypothesis, the last the
    complete translation; every arc leads to a higher node, and every node lies on a path from the first to the last.
    The arcs into node m are ``arc_offsets[m]:arc_offsets[m + 1]``, best first.

    sentences: int64 ``[B]``, numbers in ``weighted.prepared``; node_offsets: int64 ``[B + 1]``; ranges: int32
    ``[M, 2]``, last source range (start, stop) of a node; node_options: int32 ``[M]``, its last option (-1: none);
    states: int32 ``[M, models]``; arc_offsets: int64 ``[M + 1]``; tails, options, starts: int32 ``[A]``, the node an
    arc leaves, its option, and its first source word; prefix_scores: float64 ``[A]``, weighted score of the best
    derivation up to and including the arc; extras: float32 ``[A]``, the score of a feature.
    """

    weighted: WeightedSentences
    sentences: np.ndarray
    node_offsets: np.ndarray
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
        cls, weighted: WeightedSentences, sentences: np.ndarray, lengths: np.ndarray, stacks: Stacks
    ) -> "Lattice":
        """Connect the empty hypothesis of each sentence with the complete one.

        sentences, lengths: int64 ``[B]``, number and length of each sentence; stacks: all of the search.
        """
        node, found, node_offsets = _number_nodes(lengths, stacks)
        order, arc_offsets = _order_arcs(stacks, node, len(found))
        # ``take`` moves records a dozen times as fast as an index does
        hypotheses, arcs = stacks.hypotheses.take(found), stacks.arcs.take(order)
        return cls(
            weighted=weighted,
            sentences=sentences,
            node_offsets=node_offsets,
            ranges=np.column_stack([hypotheses["start"], hypotheses["stop"]]),
            node_options=hypotheses["option"].copy(),
            states=stacks.states[found],
            arc_offsets=arc_offsets,
            tails=node[arcs["tail"]],
            options=arcs["option"].copy(),
            starts=arcs["start"].copy(),
            prefix_scores=arcs["score"].copy(),
            extras=arcs["extra"].astype(np.float32),
        )

    def part(self, number: int) -> "Lattice":
        """The lattice of a sentence, by its place in the batch, numbered from 0; most arrays are views of these."""
        nodes = slice(*self.node_offsets[number : number + 2].tolist())
        arcs = slice(*self.arc_offsets[[nodes.start, nodes.stop]].tolist())
        return self.select(
            nodes,
            arcs,
            sentences=self.sentences[number : number + 1],
            node_offsets=np.array([0, nodes.stop - nodes.start]),
            arc_offsets=self.arc_offsets[nodes.start : nodes.stop + 1] - arcs.start,
            tails=self.tails[arcs] - np.int32(nodes.start),
        )

    def select(self, nodes: slice | np.ndarray, arcs: slice | np.ndarray, **changes: np.ndarray) -> "Lattice":
        """Some nodes and arcs (slices, or bool ``[M]`` and ``[A]``); changes: the arrays that are not just selected."""
        selected = {name: getattr(self, name)[nodes] for name in NODE_ARRAYS}
        selected |= {name: getattr(self, name)[arcs] for name in ARC_ARRAYS}
        return replace(self, **(selected | changes))

    @property
    def heads(self) -> np.ndarray:
        """int32 ``[A]``: the node that each arc enters."""
        nodes = len(self.arc_offsets) - 1
        return np.repeat(np.arange(nodes, dtype=np.int32), np.diff(self.arc_offsets))

    @property
    def words(self) -> Ragged:
        """int32 ``Ragged`` of A phrases: the target words of each arc, ids beyond the vocabulary for copied ones."""
        return self.weighted.options.targets.take(self.options)

    def spell(self) -> list[list[str]]:
        """The target words of each arc, as strings."""
        distinct, number = np.unique(self.options, return_inverse=True)
        words = self.weighted.prepared.spelling
        texts = [[words[i] for i in phrase.tolist()] for phrase in self.weighted.options.targets.take(distinct)]
        return [texts[i] for i in number.tolist()]

    @property
    def stops(self) -> np.ndarray:
        """int32 ``[A]``: the source word after the last one that each arc translates."""
        return self.starts + self.weighted.options.source_length[self.options]

    @property
    def scores(self) -> np.ndarray:
        """float64 ``[A]``: the weighted score of each arc."""
        best = np.zeros(len(self.ranges))  # of the derivations of each node, 0 for the first of a sentence
        entered = np.diff(self.arc_offsets) > 0
        best[entered] = self.prefix_scores[self.arc_offsets[:-1][entered]]
        return self.prefix_scores - best[self.tails]

    def features(self, arcs: np.ndarray) -> np.ndarray:
        """float32 ``[n, F]``: the feature values of the arcs numbered ``arcs`` (int64 ``[n]``). Natural log.

        Along a derivation they sum to its feature values.
        """
        weighted, features = self.weighted, self.weighted.features
        chosen, starts, tails = self.options[arcs], self.starts[arcs], self.tails[arcs]
        result = np.zeros((len(arcs), features.size), dtype=np.float32)
        result[:, features.stateless] = weighted.prepared.stateless[weighted.rows[chosen]]
        result[:, features.slices[DISTORTION].start] = -np.abs(self.ranges[tails, 1] - starts)
        names = features.language_models
        first = features.slices[names[0]].start
        sentence = np.searchsorted(self.arc_offsets[self.node_offsets], arcs, side="right") - 1
        final = arcs >= self.arc_offsets[self.node_offsets[1:] - 1][sentence]
        scores = _score_arcs(weighted.models, weighted.options, chosen, self.states[tails], final)
        result[:, first : first + len(names)] = scores
        if REORDERING in features:
            stops = starts + weighted.options.source_length[chosen]
            spans = np.column_stack([self.ranges[tails], starts, stops]).astype(np.int32)
            table, previous = weighted.prepared.reordering, self.node_options[tails]
            result[:, features.slices[REORDERING]] = _read_reordering(table, weighted.rows, spans, previous, chosen)
        if weighted.feature_column is not None:
            result[:, weighted.feature_column] = self.extras[arcs]
        return result


@kernel
def _number_nodes(lengths: np.ndarray, stacks: Stacks) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The node of each hypothesis (int32, -1: none), the hypothesis of each node (int64 [M]), and node offsets.

    Arcs come after those into smaller stacks, so one pass from the end finds all that lead to complete translations.
    """
    batch = len(lengths)
    node = np.full(stacks.counts[GROUPS], -1, dtype=np.int32)
    for b in range(batch):
        node[stacks.coverages[stacks.ranges[b, lengths[b], 0]].first] = 0
    for arc in range(stacks.counts[CANDIDATES] - 1, -1, -1):
        if node[stacks.arcs[arc].head] >= 0:
            node[stacks.arcs[arc].tail] = 0
    found, node_offsets = np.empty(len(node), dtype=np.int64), np.zeros(batch + 1, dtype=np.int64)
    nodes = 0
    for b in range(batch):
        for size in range(lengths[b] + 1):
            for coverage in range(stacks.ranges[b, size, 0], stacks.ranges[b, size, 1]):
                for hypothesis in range(stacks.coverages[coverage].first, stacks.coverages[coverage].last):
                    if node[hypothesis] >= 0:
                        node[hypothesis] = nodes
                        found[nodes] = hypothesis
                        nodes += 1
        node_offsets[b + 1] = nodes
    return node, found[:nodes].copy(), node_offsets


@kernel
def _order_arcs(stacks: Stacks, node: np.ndarray, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """The arcs between nodes by head, best first (int64 [A]), and arc offsets (int64 [M + 1])."""
    arcs, count = stacks.arcs, stacks.counts[CANDIDATES]
    offsets = np.zeros(nodes + 1, dtype=np.int64)
    for arc in range(count):
        if node[arcs[arc].head] >= 0:
            offsets[node[arcs[arc].head] + 1] += 1
    for head in range(nodes):
        offsets[head + 1] += offsets[head]
    order, position = np.empty(offsets[nodes], dtype=np.int64), offsets.copy()
    for arc in range(count):
        head = node[arcs[arc].head]
        if head >= 0:
            order[position[head]] = arc
            position[head] += 1
    for head in range(nodes):
        part = order[offsets[head] : offsets[head + 1]]
        if len(part) > 1:
            assign(part, part[np.argsort(-arcs["score"][part], kind="mergesort")])
    return order, offsets


@kernel
def _score_arcs(
    models: tuple[Automaton, ...], options: Options, chosen: np.ndarray, states: np.ndarray, final: np.ndarray
) -> np.ndarray:
    """Language model scores of options after states, natural log, float32 [n, models]; final ones end the sentence."""
    scores = np.zeros((len(chosen), len(models)), dtype=np.float32)
    for i in range(len(chosen)):
        for m in range(len(models)):
            total, state = score_words(models[m], m, states[i, m], options, chosen[i])
            if final[i]:
                total += score_word(models[m], state, EOS)[0]
            scores[i, m] = total * LOG_10
    return scores


@kernel
def _read_reordering(
    reordering: np.ndarray, rows: np.ndarray, ranges: np.ndarray, previous: np.ndarray, current: np.ndarray
) -> np.ndarray:
    """Reordering scores (float32 [n, 6]) of options after others; ranges: [n, 4], start and stop of both spans."""
    scores = np.zeros((len(current), 6), dtype=np.float32)
    for i in range(len(current)):
        turn = orientation(ranges[i, 0], ranges[i, 1], ranges[i, 2], ranges[i, 3])
        scores[i, turn] = reordering[rows[current[i]], turn]
        if previous[i] >= 0:
            scores[i, 3 + turn] = reordering[rows[previous[i]], 3 + turn]
    return scores


@kernel
def _max_marginals(arc_offsets: np.ndarray, tails: np.ndarray, prefix_scores: np.ndarray) -> np.ndarray:
    """float64 [A]: the score of the best derivation through each arc."""
    nodes = len(arc_offsets) - 1
    rest = np.full(nodes, -np.inf)  # best way from a node to the end
    rest[nodes - 1] = 0.0
    result = np.empty(len(tails))
    for node in range(nodes - 1, 0, -1):
        for arc in range(arc_offsets[node], arc_offsets[node + 1]):
            tail = np.int64(tails[arc])
            before = prefix_scores[arc_offsets[tail]] if tail > 0 else 0.0
            result[arc] = prefix_scores[arc] + rest[node]
            rest[tail] = max(rest[tail], result[arc] - before)
    return result


def max_marginals(lattice: Lattice) -> np.ndarray:
    """float64 ``[A]``: the weighted score of the best derivation of one sentence through each arc."""
    return _max_marginals(lattice.arc_offsets, lattice.tails, lattice.prefix_scores)


def prune(lattice: Lattice, density: float) -> Lattice:
    """Keep the arcs on the best derivations, ``density`` arcs for each target word of the very best.

    lattice: of one sentence. The best derivation always stays, and so do arcs that tie with the last one kept. With an
    infinite density the lattice is returned as it is.
    """
    if math.isinf(density):
        return lattice
    marginals = max_marginals(lattice)
    best = marginals.max()
    threshold, most = -math.inf, max(1, int(density * _best_length(lattice)))
    if most < len(marginals):
        threshold = -np.partition(-marginals, most - 1)[most - 1]
    return _restrict(lattice, marginals >= min(threshold, best) - ROUNDING * (1 + abs(best)))


def _best_length(lattice: Lattice) -> int:
    """Target words of the best derivation."""
    options = lattice.weighted.options
    node, words = len(lattice.ranges) - 1, 0
    while node > 0:
        arc = lattice.arc_offsets[node]
        option = lattice.options[arc]
        words += int(options.word_offsets[option + 1] - options.word_offsets[option])
        node = int(lattice.tails[arc])
    return words


@kernel
def _drop_loose_ends(arc_offsets: np.ndarray, tails: np.ndarray, kept: np.ndarray) -> None:
    """Unmark the arcs (bool [A]) that rounding left without a marked way from the first node and to the last."""
    nodes = len(arc_offsets) - 1
    reached, leads_on = np.zeros(nodes, dtype=np.bool_), np.zeros(nodes, dtype=np.bool_)
    reached[0] = True
    leads_on[nodes - 1] = True
    for node in range(1, nodes):
        for arc in range(arc_offsets[node], arc_offsets[node + 1]):
            kept[arc] &= reached[tails[arc]]
            reached[node] |= kept[arc]
    for node in range(nodes - 1, 0, -1):
        for arc in range(arc_offsets[node], arc_offsets[node + 1]):
            kept[arc] &= leads_on[node]
            leads_on[tails[arc]] |= kept[arc]


def _restrict(lattice: Lattice, kept: np.ndarray) -> Lattice:
    """The lattice of the arcs ``kept`` (bool ``[A]``) and the nodes they join."""
    _drop_loose_ends(lattice.arc_offsets, lattice.tails, kept)
    heads, tails = lattice.heads[kept], lattice.tails[kept]
    alive = np.zeros(len(lattice.ranges), dtype=bool)
    alive[heads] = True
    alive[tails] = True
    alive[[0, -1]] = True
    number, nodes = np.cumsum(alive) - 1, int(alive.sum())
    return lattice.select(
        alive,
        kept,
        node_offsets=np.array([0, nodes]),
        arc_offsets=offsets_of(np.bincount(number[heads], minlength=nodes)),
        tails=number[tails].astype(np.int32),
    )
