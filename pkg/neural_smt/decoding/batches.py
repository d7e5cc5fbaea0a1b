"""Search over a batch of sentences, stack by stack.

A stateful feature, such as a network, scores all candidates of a stack before it is pruned; or, where it has a fallback
language model, the hypotheses that these extend (see ``stacks``).
"""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from neural_smt.decoding.buffer_primitives import Buffer, clear, new_buffer
from neural_smt.decoding.expansion import fill
from neural_smt.decoding.lattices.lattice import Lattice
from neural_smt.decoding.options import WeightedSentences
from neural_smt.decoding.primitives import (
    MEMO,
    MEMO_SLOTS,
    NO_KEY,
    Search,
    Sentences,
    Stacks,
    Task,
    future_costs,
)
from neural_smt.decoding.stacks import (
    Arcs,
    arcs_into_claimed,
    claim_complete,
    claim_parents,
    make_room,
    revise,
    settle_stack,
    start_arcs,
    start_stacks,
)
from neural_smt.io.ragged import Ragged, offsets_of


@dataclass(frozen=True)
class NewHypotheses:
    """The hypotheses that a feature scores at once, of every sentence of a batch: N of them, or ways into them.

    sentences: int64 ``[N]``, number of the sentence; words: int32 ``Ragged`` of N phrases, the target words added (ids
    beyond the vocabulary for copied words); history: int32 ``[N, feature.history]``, the target words before them
    (``BOS`` before the sentence); complete: bool ``[N]``, whether the translation ends with them; tails, options,
    starts: int32 ``[N]``, the hypotheses extended (numbers within the search of a batch, those of the empty ones first,
    in the order of the sentences), the options that extend them and the first source word that these cover (None for
    translations that come from no search).
    """

    sentences: np.ndarray
    words: Ragged
    history: np.ndarray
    complete: np.ndarray
    tails: np.ndarray | None = None
    options: np.ndarray | None = None
    starts: np.ndarray | None = None


@dataclass(frozen=True)
class Derivations:
    """Whole translations out of a search, n of them.

    sentences: int64 ``[n]``, number of the sentence; words: int32 ``Ragged`` of n, target words; options, starts: int32
    ``Ragged`` of n, the options that they are made of, in target order, and the first source word of each.
    """

    weighted: WeightedSentences
    sentences: np.ndarray
    words: Ragged
    options: Ragged
    starts: Ragged


class StatefulFeature(Protocol):
    """A feature that scores hypotheses of all sentences of a batch at once, each at most once.

    name: of the feature, which the weights must hold; history: how many target words before a phrase its score may
    depend on (hypotheses that differ in them are not recombined). Called with the new hypotheses it returns their
    scores, float ``[N]``, unweighted. Threads call it at the same time. One that keeps something about hypotheses has
    ``begin``, which gives what is called in its place in the search of one batch (``StatefulSearch``); it needs a
    fallback language model (``fallback_lm``), since only then what is extended has been scored.
    """

    name: str
    history: int

    def __call__(self, batch: NewHypotheses) -> np.ndarray: ...


class StatefulSearch(Protocol):
    """A feature in the search of one batch, with what it keeps about hypotheses."""

    def __call__(self, batch: NewHypotheses) -> np.ndarray: ...

    def settle(self, heads: np.ndarray, chosen: np.ndarray) -> None:
        """Of the hypotheses scored last, ``chosen`` (int64 ``[n]``) are the best ways into ``heads`` (int32
        ``[n]``), which may be extended from now on.
        """


def estimated(feature: StatefulFeature | None) -> bool:
    """Whether a feature only estimates, so that translations need exact values in the end: its scores are estimates, or
    hypotheses are recombined that its scores of later words tell apart.
    """
    return getattr(feature, "exact", None) is not None or (
        feature is not None and recombination(feature) < feature.history
    )


def recombination(feature: StatefulFeature | None) -> int:
    """How many of the last target words must agree for hypotheses to be recombined: as a feature says, else as many as
    its scores depend on.
    """
    if feature is None:
        return 0
    named = getattr(feature, "recombination", None)
    return feature.history if named is None else min(named, feature.history)


def fallback_lm(feature: StatefulFeature | None, language_models: list[str]) -> int:
    """The number of the language model that a feature falls back on until it has scored; -1 for none.

    A model of the same words, however coarse, leads the filling of stacks, their pruning and future costs far better
    than nothing does, and well enough that the feature need only score hypotheses that are extended (``stacks``).
    """
    name = getattr(feature, "fallback_lm", None)
    return -1 if name is None else language_models.index(name)


def search_batch(
    weighted: WeightedSentences,
    members: np.ndarray,
    pop_limit: int | None,
    search: Search,
    feature: StatefulFeature | None,
) -> Lattice:
    """The lattice of the sentences ``members`` (int64 ``[B]``, none of them empty).

    pop_limit: of cube pruning; None for stack decoding.
    """
    sentences = _batch_sentences(weighted, members)
    memo = np.zeros((len(weighted.models), MEMO_SLOTS), dtype=MEMO)
    memo["key"] = NO_KEY
    task = Task(sentences, weighted.options, weighted.models, search, memo)
    # A feature moves scores, so until it has run every candidate may still win its group, unless estimates will do and
    # only the winners are of use; and nothing is cut by the beam, unless something like its scores is there.
    keep_arcs = search.keep_arcs or (feature is not None and not estimated(feature))
    lazy = feature is not None and search.fallback_lm >= 0
    scorer = None if feature is None else _FeatureInBatch(feature, weighted, members)
    beam = search.beam if feature is None or lazy else -math.inf
    filling = task._replace(search=search._replace(beam=beam, keep_arcs=keep_arcs))
    stacks, arcs = start_stacks(task, feature.history if feature else 0), start_arcs(sentences.lengths)
    buffer = new_buffer(len(weighted.models))
    longest, phrase = int(sentences.lengths.max()), sentences.spans.shape[1]
    for size in range(1, longest + 1):
        buffer, offsets = fill(size, filling, stacks, buffer, pop_limit)
        if scorer and lazy:
            claim_parents(stacks, buffer)
            scorer.score_claimed((max(1, size - phrase), size), False, stacks, arcs, buffer)
        elif scorer:
            scorer.score_candidates(size == sentences.lengths, stacks.hypotheses.history, buffer, offsets)
        stacks, arcs = make_room(size, stacks, arcs, offsets)
        settle_stack(size, task, stacks, arcs, buffer, offsets, feature is not None)
    if scorer and lazy:
        clear(buffer)
        claim_complete(sentences.lengths, stacks)
        scorer.score_claimed((1, longest + 1), True, stacks, arcs, buffer)
    return Lattice.build(weighted, members, sentences.lengths, stacks, arcs)


def _batch_sentences(weighted: WeightedSentences, members: np.ndarray) -> Sentences:
    """The members with the future costs of all their spans."""
    prepared = weighted.prepared
    first = prepared.first[members]
    lengths = prepared.first[members + 1] - first
    future_first = offsets_of((lengths + 1) ** 2)
    future = future_costs(lengths, first, prepared.spans, weighted.options, future_first)
    return Sentences(lengths, first, prepared.spans, future, future_first)


class _FeatureInBatch:
    """A stateful feature that scores the hypotheses of one batch."""

    def __init__(self, feature: StatefulFeature, weighted: WeightedSentences, members: np.ndarray):
        self.search = feature.begin(weighted, members) if hasattr(feature, "begin") else feature
        self.weighted, self.members = weighted, members
        self.weight = weighted.vector[weighted.feature_column]

    def score_candidates(self, complete: np.ndarray, history: np.ndarray, buffer: Buffer, offsets: np.ndarray) -> None:
        """Add the weighted scores to those of all candidates; complete: bool ``[B]``; history: of all hypotheses."""
        count, sizes = int(offsets[-1, 0]), np.diff(offsets[:, 0])
        ways = buffer.parent[:count], buffer.option[:count], buffer.start[:count]
        scores = self._score(np.repeat(self.members, sizes), np.repeat(complete, sizes), history, *ways)
        buffer.extra[:count] = scores
        buffer.score[:count] += self.weight * scores

    def score_claimed(self, sizes: tuple[int, int], complete: bool, stacks: Stacks, arcs: Arcs, buffer: Buffer) -> None:
        """Score the arcs into the marked hypotheses, which are in the stacks of these sizes (the last not included)."""
        chosen, owners = arcs_into_claimed(*sizes, stacks, arcs)
        ways = arcs.tail[chosen], arcs.option[chosen], arcs.start[chosen]
        ends = np.full(len(chosen), complete)
        scores = self._score(self.members[owners], ends, stacks.hypotheses.history, *ways)
        best = revise(chosen, scores, self.weight, self.weighted.options, stacks, arcs, buffer)
        if hasattr(self.search, "settle") and len(chosen):
            self.search.settle(arcs.head[chosen[best]], best)

    def _score(self, sentences, complete, history, tails, options, starts) -> np.ndarray:
        """float64 ``[N]``: the scores of ``NewHypotheses``; history: of all hypotheses."""
        count = len(tails)
        if count == 0:
            return np.zeros(0)
        words = self.weighted.options.targets.take(options)
        batch = NewHypotheses(sentences, words, history[tails], complete, tails, options, starts)
        scores = np.asarray(self.search(batch), dtype=np.float64)
        if scores.shape != (count,) or not np.isfinite(scores).all():
            raise ValueError(f"a stateful feature must return {count} finite scores")
        return scores
