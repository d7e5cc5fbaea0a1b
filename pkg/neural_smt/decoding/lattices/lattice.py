"""The search graph of a sentence: hypotheses as nodes, recombined ways into them as arcs."""

from dataclasses import dataclass

import numpy as np

from neural_smt.decoding.lattices.arc_features import Extensions, arc_features
from neural_smt.decoding.options import WeightedSentences
from neural_smt.io.ragged import Ragged
from neural_smt.vocabulary import Vocabulary


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
        tails = self.tails[arcs]
        final = np.asarray(arcs) >= self.arc_offsets[-2]
        return arc_features(
            self.weighted,
            Extensions(
                self.options[arcs],
                self.starts[arcs],
                self.ranges[tails],
                self.node_options[tails],
                self.states[tails],
                final,
                self.extras[arcs],
            ),
        )
