"""Forward-backward over lattices: how probable each arc is when derivations are weighted by exp(scale * score)."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from neural_smt.decoding.lattices.flat import FlatLattices
from neural_smt.jit import kernel


@dataclass(frozen=True)
class Posteriors:
    """S sentences, M nodes, A arcs; p(d) is proportional to exp(scale * score of the derivation d).

    arcs: float64 ``[A]``, probability that a derivation uses the arc; nodes: float64 ``[M]``, that it passes the node;
    log_total: float64 ``[S]``, natural log of the sum over all derivations of exp(scale * score), 0 for an empty
    sentence; entropy: float64 ``[S]``, of the derivations, in nats.
    """

    arcs: np.ndarray
    nodes: np.ndarray
    log_total: np.ndarray
    entropy: np.ndarray

    def expected_features(self, lattices: FlatLattices) -> np.ndarray:
        """float64 ``[S, F]``: the expected feature values of a derivation of each sentence."""
        rows = np.zeros((len(lattices), len(lattices.features)))
        starts = lattices.arc_offsets[lattices.node_offsets]
        filled = np.flatnonzero(np.diff(starts))
        if len(filled):
            for feature, values in enumerate(lattices.features):
                rows[filled, feature] = np.add.reduceat(values * self.arcs, starts[filled])
        return rows

    def expected_words(self, lattices: FlatLattices, sentence: int) -> dict[int, float]:
        """Target word id -> how often a translation of the sentence is expected to hold it."""
        first, last = lattices.arc_offsets[lattices.node_offsets[sentence : sentence + 2]]
        begin, end = lattices.words.offsets[[first, last]]
        arcs = np.repeat(np.arange(first, last), lattices.words.lengths[first:last])
        words, number = np.unique(lattices.words.values[begin:end], return_inverse=True)
        expected = np.bincount(number, weights=self.arcs[arcs], minlength=len(words))
        return dict(zip(words.tolist(), expected.tolist(), strict=True))

    def expected_ngrams(self, lattices: FlatLattices, sentence: int, order: int) -> dict[tuple[int, ...], float]:
        """N-gram of 1 to ``order`` target ids -> how often a translation of the sentence is expected to hold it.

        These are the counts that minimum Bayes risk over lattices needs (Tromble et al. 2008). Every way into a node
        shares what follows, so it is enough to keep how probable each last ``order - 1`` words are at a node; that is
        quick on pruned lattices only.
        """
        first, last = lattices.node_offsets[sentence : sentence + 2].tolist()
        histories: dict[int, dict[tuple[int, ...], float]] = {first: {(): 1.0}}  # node -> last words -> probability
        expected: defaultdict[tuple[int, ...], float] = defaultdict(float)
        for node in range(first + 1, last):
            here: defaultdict[tuple[int, ...], float] = defaultdict(float)
            for arc in range(lattices.arc_offsets[node], lattices.arc_offsets[node + 1]):
                phrase, probability = tuple(lattices.words[arc].tolist()), float(self.arcs[arc])
                for history, share in histories[int(lattices.tails[arc])].items():
                    words = history + phrase
                    for stop in range(len(history) + 1, len(words) + 1):
                        for start in range(max(0, stop - order), stop):
                            expected[words[start:stop]] += probability * share
                    here[words[max(0, len(words) - order + 1) :]] += probability * share
            total = sum(here.values())
            histories[node] = {history: weight / total for history, weight in here.items()} if total > 0 else {}
        return dict(expected)


@kernel
def _log_sum(values: np.ndarray) -> float:
    highest = values.max()
    return highest + np.log(np.exp(values - highest).sum())


@kernel
def _run(
    node_offsets: np.ndarray, arc_offsets: np.ndarray, tails: np.ndarray, scores: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Posteriors of arcs [A] and nodes [M], log totals [S], and entropies [S]; scores float64 [A], scaled."""
    sentences, nodes = len(node_offsets) - 1, len(arc_offsets) - 1
    forward, posterior = np.zeros(nodes), np.zeros(nodes)
    arcs, totals, entropy = np.zeros(len(tails)), np.zeros(sentences), np.zeros(sentences)
    for node in range(nodes):
        first, last = arc_offsets[node], arc_offsets[node + 1]
        if last > first:
            forward[node] = _log_sum(forward[tails[first:last]] + scores[first:last])
    for sentence in range(sentences):
        begin, end = node_offsets[sentence], node_offsets[sentence + 1]
        if begin == end:
            continue
        totals[sentence] = forward[end - 1]
        posterior[end - 1] = 1.0
        expected = 0.0
        # p(arc) = p(head) * p(arc | head): nothing can overflow, and every node's posterior is there before it is used
        for node in range(end - 1, begin, -1):
            for arc in range(arc_offsets[node], arc_offsets[node + 1]):
                share = np.exp(forward[tails[arc]] + scores[arc] - forward[node])
                arcs[arc] = posterior[node] * share
                posterior[tails[arc]] += arcs[arc]
                expected += arcs[arc] * scores[arc]
        entropy[sentence] = max(0.0, totals[sentence] - expected)
    return arcs, posterior, totals, entropy


def posteriors(lattices: FlatLattices, vector: np.ndarray, scale: float = 1.0) -> Posteriors:
    """Posteriors of all arcs and nodes under the weights ``vector`` (float64 ``[F]``)."""
    scores = scale * lattices.scores(vector)
    return Posteriors(*_run(lattices.node_offsets, lattices.arc_offsets, lattices.tails, scores))


@kernel
def _count(node_offsets: np.ndarray, arc_offsets: np.ndarray, tails: np.ndarray) -> np.ndarray:
    ways = np.zeros(len(arc_offsets) - 1)
    result = np.zeros(len(node_offsets) - 1)
    for sentence in range(len(result)):
        for node in range(node_offsets[sentence], node_offsets[sentence + 1]):
            if node == node_offsets[sentence]:
                ways[node] = 1.0
            for arc in range(arc_offsets[node], arc_offsets[node + 1]):
                ways[node] += ways[tails[arc]]
            result[sentence] = ways[node]
    return result


def count_derivations(lattices: FlatLattices) -> np.ndarray:
    """float64 ``[S]``: how many derivations each lattice holds (0 for an empty sentence)."""
    return _count(lattices.node_offsets, lattices.arc_offsets, lattices.tails)
