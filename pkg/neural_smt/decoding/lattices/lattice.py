"""The search graph of a sentence: hypotheses as nodes, recombined ways into them as arcs."""

from dataclasses import dataclass

import numpy as np

from neural_smt.decoding.features import DISTORTION, REORDERING
from neural_smt.decoding.hypotheses import Arcs
from neural_smt.decoding.options import WeightedSentences
from neural_smt.decoding.primitives import LOG_10, Hypotheses, Options, orientation
from neural_smt.jit import kernel
from neural_smt.language_model.primitives import Automaton, score_word
from neural_smt.ragged import Ragged
from neural_smt.vocabulary import EOS, Vocabulary


@dataclass(frozen=True)
class Lattice:
    """All derivations that search kept for one sentence. M nodes, A arcs.

    Node 0 is the empty hypothesis and node M - 1 the complete translation; every arc leads to a higher node, and every
    node lies on a way from the first to the last. The arcs into node m are ``arc_offsets[m]:arc_offsets[m + 1]``, best
    first.

    sentence: its number in ``weighted.prepared``; ranges: int32 ``[M, 2]``, last source range (start, stop) of a node;
    node_options: int32 ``[M]``, its last option (-1: none); states: int32 ``[M, models]``; arc_offsets: int64
    ``[M + 1]``; tails, options, starts: int32 ``[A]``, the node an arc leaves, its option, and its first source word;
    prefix_scores: float64 ``[A]``, weighted score of the best derivation up to and including the arc; extras: float32
    ``[A]``, the score of a hook.
    """

    weighted: WeightedSentences
    sentence: int
    ranges: np.ndarray
    node_options: np.ndarray
    states: np.ndarray
    arc_offsets: np.ndarray
    tails: np.ndarray
    options: np.ndarray
    starts: np.ndarray
    prefix_scores: np.ndarray
    extras: np.ndarray

    @property
    def heads(self) -> np.ndarray:
        """int32 ``[A]``: the node that each arc enters."""
        nodes = len(self.arc_offsets) - 1
        return np.repeat(np.arange(nodes, dtype=np.int32), np.diff(self.arc_offsets))

    @property
    def words(self) -> Ragged:
        """int32 ``Ragged`` of A phrases: the target words of each arc, ids beyond the vocabulary for copied ones."""
        options = self.weighted.options
        return Ragged(options.words, options.word_offsets).take(self.options)

    def spell(self, vocabulary: Vocabulary) -> list[list[str]]:
        """The target words of each arc, as strings; vocabulary: the target vocabulary of the model."""
        options = self.weighted.options
        distinct, number = np.unique(self.options, return_inverse=True)
        phrases = Ragged(options.words, options.word_offsets).take(distinct)
        known, copied = vocabulary.words, self.weighted.prepared.unknown_words
        texts = [[known[i] if i < len(known) else copied[i - len(known)] for i in p.tolist()] for p in phrases]
        return [texts[i] for i in number.tolist()]

    @property
    def stops(self) -> np.ndarray:
        """int32 ``[A]``: the source word after the last one that each arc translates."""
        return self.starts + self.weighted.options.source_length[self.options]

    @property
    def forward(self) -> np.ndarray:
        """float64 ``[M]``: weighted score of the best derivation of each node (0 for the first)."""
        return np.concatenate([[0.0], self.prefix_scores[self.arc_offsets[1:-1]]])

    @property
    def scores(self) -> np.ndarray:
        """float64 ``[A]``: the weighted score of each arc."""
        return self.prefix_scores - self.forward[self.tails]

    def features(self, arcs: np.ndarray) -> np.ndarray:
        """float32 ``[n, F]``: the feature values of the arcs numbered ``arcs`` (int64 ``[n]``).

        Along a derivation they sum to its feature values. Natural log.
        """
        weighted = self.weighted
        features = weighted.features
        result = np.zeros((len(arcs), features.size), dtype=np.float32)
        result[:, features.stateless] = weighted.prepared.stateless[weighted.rows[self.options[arcs]]]
        tails, starts = self.tails[arcs], self.starts[arcs]
        result[:, features.slices[DISTORTION].start] = -np.abs(self.ranges[tails, 1] - starts)
        final = np.searchsorted(self.arc_offsets, arcs, side="right") == len(self.ranges)
        names = features.language_models
        first = features.slices[names[0]].start
        result[:, first : first + len(names)] = _score_arcs(
            weighted.models, weighted.options, self.options[arcs], self.states[tails], final
        )
        if REORDERING in features:
            stops = starts + weighted.options.source_length[self.options[arcs]]
            result[:, features.slices[REORDERING]] = _read_reordering(
                weighted.prepared.reordering,
                weighted.rows,
                np.column_stack([self.ranges[tails], starts, stops]).astype(np.int32),
                self.node_options[tails],
                self.options[arcs],
            )
        if weighted.hook_column is not None:
            result[:, weighted.hook_column] = self.extras[arcs]
        return result


@kernel
def _score_arcs(
    models: tuple[Automaton, ...], options: Options, chosen: np.ndarray, states: np.ndarray, final: np.ndarray
) -> np.ndarray:
    """Language model scores of options after states, natural log, float32 [n, models]; final ones end the sentence."""
    scores = np.zeros((len(chosen), len(models)), dtype=np.float32)
    for i in range(len(chosen)):
        for m in range(len(models)):
            state = np.int64(states[i, m])
            total = 0.0
            for position in range(options.word_offsets[chosen[i]], options.word_offsets[chosen[i] + 1]):
                log10_prob, state = score_word(models[m], state, options.words[position])
                total += log10_prob
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
def _connect(arcs: Arcs, hypotheses: int, first: int, final: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The nodes between two hypotheses, the arcs among them in lattice order, and where each node's arcs start.

    ``arcs`` are ordered by stack, so one pass from the end finds all that lead to ``final``.
    """
    node = np.full(hypotheses, -1, dtype=np.int32)
    node[final] = 0
    node[first] = 0
    count = 0
    for arc in range(len(arcs.head) - 1, -1, -1):
        if node[arcs.head[arc]] >= 0:
            node[arcs.tail[arc]] = 0
            count += 1
    nodes = 0
    for hypothesis in range(hypotheses):
        if node[hypothesis] >= 0:
            node[hypothesis] = nodes
            nodes += 1
    members = np.flatnonzero(node >= 0)
    offsets = np.zeros(nodes + 1, dtype=np.int64)
    for arc in range(len(arcs.head)):
        if node[arcs.head[arc]] >= 0:
            offsets[node[arcs.head[arc]] + 1] += 1
    offsets = np.cumsum(offsets)
    position = offsets.copy()
    order = np.empty(count, dtype=np.int64)
    for arc in range(len(arcs.head)):
        head = node[arcs.head[arc]]
        if head >= 0:
            order[position[head]] = arc
            position[head] += 1
    for head in range(nodes):
        chosen = order[offsets[head] : offsets[head + 1]].copy()
        if len(chosen) > 1:
            order[offsets[head] : offsets[head + 1]] = chosen[np.argsort(-arcs.score[chosen], kind="mergesort")]
    return members, order, offsets


def build_lattice(
    weighted: WeightedSentences,
    sentence: int,
    hypotheses: Hypotheses,
    count: int,
    arcs: Arcs,
    first: int,
    final: int,
) -> Lattice:
    """The lattice between the empty hypothesis ``first`` and the complete one ``final`` of a sentence.

    count: hypotheses in the batch; arcs: those of the sentence, ordered by stack.
    """
    members, order, offsets = _connect(arcs, count, first, final)
    return Lattice(
        weighted=weighted,
        sentence=sentence,
        ranges=np.column_stack([hypotheses.start[members], hypotheses.stop[members]]),
        node_options=hypotheses.option[members],
        states=hypotheses.states[members],
        arc_offsets=offsets,
        tails=np.searchsorted(members, arcs.tail[order]).astype(np.int32),
        options=arcs.option[order],
        starts=arcs.start[order],
        prefix_scores=arcs.score[order],
        extras=arcs.extra[order],
    )
