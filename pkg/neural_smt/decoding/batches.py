"""Search over a batch of sentences, stack by stack.

Without a stateful feature, such as a network, one sentence is searched after another. A feature scores the candidates
of a stack of all sentences before it is pruned; or, where it is lazy and has a fallback language model, the hypotheses
that these extend (see ``stack_primitives``).
"""

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from neural_smt.decoding.buffer_primitives import Buffer, begin_stack, new_buffer
from neural_smt.decoding.cube_primitives import SPANS, Cubes, explore, find_spans, make_room, new_cubes
from neural_smt.decoding.expansion_primitives import expand
from neural_smt.decoding.lattices.lattice import Lattice
from neural_smt.decoding.options import WeightedSentences
from neural_smt.decoding.primitives import MEMO, MEMO_SLOTS, Search, Sentences, Stacks, Task, future_costs
from neural_smt.decoding.stack_primitives import (
    claim_complete,
    claim_parents,
    claimed_arcs,
    new_stacks,
    revise,
    settle,
    settle_stack,
    start_search,
    with_room_for,
)
from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.jit import assign, kernel
from neural_smt.shards import uninterrupted


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

    sentences: int64 ``[n]``, number of the sentence; options, starts: int32 ``Ragged`` of n, the options that they are
    made of, in target order, and the first source word of each.
    """

    weighted: WeightedSentences
    sentences: np.ndarray
    options: Ragged
    starts: Ragged


class StatefulFeature:
    """A feature that scores hypotheses of all sentences of a batch at once, each at most once.

    name: of the feature, which the weights must hold; history: how many target words before a phrase its score may
    depend on; recombination: the last words that must agree for hypotheses to be recombined, where they are fewer;
    exact: what gives exact scores where those of the search are estimates, else None; fallback_lm: the language model
    (``LM0``) whose scores take the place of these while stacks are filled, and in future costs. A model of the same
    words, however coarse, leads the filling of stacks and their pruning far better than nothing does. lazy: whether
    these scores stay until a hypothesis is extended (``stack_primitives``), and the feature scores no other. Threads
    call it at the same time.
    """

    name: str
    history: int
    recombination: int | None = None
    exact: Any = None
    fallback_lm: str | None = None
    lazy: bool = True

    def __call__(self, batch: NewHypotheses) -> np.ndarray:
        """The scores of new hypotheses, float ``[N]``, unweighted."""
        raise NotImplementedError

    def begin(self, weighted: WeightedSentences) -> "StatefulFeature":
        """What is called in its place in the search of one batch: one that keeps something about hypotheses needs to be
        lazy with a fallback language model, since only then what is extended has been scored.
        """
        return self

    def settle(self, heads: np.ndarray, chosen: np.ndarray) -> None:
        """Of the hypotheses scored last, ``chosen`` (int64 ``[n]``) are the best ways into ``heads`` (int32
        ``[n]``), which may be extended from now on.
        """

    @property
    def context(self) -> int:
        """How many of the last target words must agree for hypotheses to be recombined."""
        return self.history if self.recombination is None else min(self.recombination, self.history)

    @property
    def estimated(self) -> bool:
        """Whether translations need exact values in the end (``rescore``): scores are estimates, or hypotheses are
        recombined that scores of later words tell apart.
        """
        return self.exact is not None or self.context < self.history

    def statistics(self) -> dict[str, Any]:
        """What was computed, for a report."""
        return {}

    def describe(self) -> str:
        """The same as a line for the log, in JSON."""
        return f"{self.name}: {json.dumps(self.statistics())}"

    def rescore(self, words: Ragged, derivations: Derivations) -> np.ndarray:
        """float64 ``[n]``: the exact scores of n whole translations, the ends of the sentences included."""
        raise NotImplementedError

    def accurate(self) -> "StatefulFeature":
        """What lattices are searched with, whose scores are sums over arcs."""
        return self


class BatchSearch:
    """Searches batches of the same sentences one after the other, in the same memory."""

    def __init__(
        self, weighted: WeightedSentences, pop_limit: int | None, search: Search, feature: StatefulFeature | None
    ):
        """pop_limit: of cube pruning; None for stack decoding."""
        self.weighted, self.pop_limit, self.search, self.feature = weighted, pop_limit, search, feature
        models = len(weighted.models)
        self.memo = np.zeros((models, MEMO_SLOTS), dtype=MEMO)
        self.stacks = new_stacks(models, feature.history if feature else 0)
        self.buffer, self.cubes = new_buffer(models), new_cubes(models)

    def __call__(self, members: np.ndarray) -> Lattice:
        """The lattice of the sentences ``members`` (int64 ``[B]``, none of them empty)."""
        weighted = self.weighted
        with uninterrupted():
            sentences = _batch_sentences(weighted, members)
            task = Task(sentences, weighted.options, weighted.models, self.search, self.memo)
            stacks = start_search(task, self.stacks)
            scorer = _FeatureInBatch(self.feature, weighted, members) if self.feature else None
            if scorer is None:
                stacks = search_sentences(task, stacks, self.buffer, self.cubes, self.pop_limit)
        if scorer:
            stacks = _search_with_feature(scorer, task, stacks, self.buffer, self.cubes, self.pop_limit)
        with uninterrupted():
            self.stacks = stacks
            return Lattice.build(weighted, members, sentences.lengths, stacks)


def search_sentences(task: Task, stacks: Stacks, buffer: Buffer, cubes: Cubes, pop_limit: int | None) -> Stacks:
    """Search one sentence after another, so that what is worked on stays in the caches of the processor."""
    if pop_limit is None:
        return _search_by_stacks(task, stacks, buffer, cubes)
    return _search_by_cubes(pop_limit, task, stacks, buffer, cubes)


@kernel
def _search_by_stacks(task: Task, stacks: Stacks, buffer: Buffer, cubes: Cubes) -> Stacks:
    for sentence in range(len(task.sentences.lengths)):
        for size in range(1, task.sentences.lengths[sentence] + 1):
            buffer.counts[:] = 0
            buffer, cubes = _expand_stack(sentence, size, task, stacks, buffer, cubes)
            while not settle_stack(sentence, size, task, stacks, buffer):
                stacks = with_room_for(stacks, buffer)
    return stacks


@kernel
def _search_by_cubes(pop_limit: int, task: Task, stacks: Stacks, buffer: Buffer, cubes: Cubes) -> Stacks:
    for sentence in range(len(task.sentences.lengths)):
        for size in range(1, task.sentences.lengths[sentence] + 1):
            buffer.counts[:] = 0
            while not explore(sentence, size, pop_limit, task, stacks, buffer, cubes):
                buffer, cubes = make_room(pop_limit, buffer, cubes)
            while not settle_stack(sentence, size, task, stacks, buffer):
                stacks = with_room_for(stacks, buffer)
    return stacks


@kernel
def _expand_stack(
    sentence: int, size: int, task: Task, stacks: Stacks, buffer: Buffer, cubes: Cubes
) -> tuple[Buffer, Cubes]:  # fmt: skip
    """Stack decoding: all hypotheses of a sentence that cover ``size`` words, after what the buffer holds.

    Returns the buffer and the cubes, larger ones when they had to grow.
    """
    begin_stack(buffer)
    while not find_spans(sentence, size, task, stacks, cubes):
        buffer, cubes = make_room(0, buffer, cubes)
    return expand(sentence, size, cubes.spans[: cubes.counts[SPANS]], task, stacks, buffer), cubes


@kernel
def _fill_by_stacks(
    size: int, task: Task, stacks: Stacks, buffer: Buffer, cubes: Cubes
) -> tuple[Buffer, Cubes, np.ndarray]:
    """Fill the stacks of ``size`` words of all sentences of the batch, one after the other.

    Returns the buffer and the cubes and, int64 [B + 1, 3], where each sentence's candidates, groups and coverages start
    in the buffer.
    """
    lengths, offsets = task.sentences.lengths, np.zeros((len(task.sentences.lengths) + 1, 3), dtype=np.int64)
    buffer.counts[:] = 0
    for sentence in range(len(lengths)):
        if size <= lengths[sentence]:
            buffer, cubes = _expand_stack(sentence, size, task, stacks, buffer, cubes)
        assign(offsets[sentence + 1], buffer.counts[1])
    return buffer, cubes, offsets


@kernel
def _fill_by_cubes(
    pop_limit: int, size: int, task: Task, stacks: Stacks, buffer: Buffer, cubes: Cubes
) -> tuple[Buffer, Cubes, np.ndarray]:
    """The same by cube pruning."""
    lengths, offsets = task.sentences.lengths, np.zeros((len(task.sentences.lengths) + 1, 3), dtype=np.int64)
    buffer.counts[:] = 0
    for sentence in range(len(lengths)):
        if size <= lengths[sentence]:
            while not explore(sentence, size, pop_limit, task, stacks, buffer, cubes):
                buffer, cubes = make_room(pop_limit, buffer, cubes)
        assign(offsets[sentence + 1], buffer.counts[1])
    return buffer, cubes, offsets


def _search_with_feature(
    scorer: "_FeatureInBatch", task: Task, stacks: Stacks, buffer: Buffer, cubes: Cubes, pop_limit: int | None
) -> Stacks:
    """Search all sentences side by side, so that the feature scores the hypotheses of all that have the same size."""
    sentences, search = task.sentences, task.search
    # The feature moves scores, so until it has run every candidate may still win its group, and a lazy one alone lets
    # the beam cut, by its fallback's scores.
    filling = task._replace(search=search._replace(beam=search.beam if search.lazy else -math.inf, keep_arcs=True))
    longest, phrase = int(sentences.lengths.max()), sentences.spans.shape[1]
    for size in range(1, longest + 1):
        with uninterrupted():
            if pop_limit is None:
                buffer, cubes, offsets = _fill_by_stacks(size, filling, stacks, buffer, cubes)
            else:
                buffer, cubes, offsets = _fill_by_cubes(pop_limit, size, filling, stacks, buffer, cubes)
            if search.lazy:
                claim_parents(stacks, buffer)
                scorer.score_claimed((max(1, size - phrase), size), False, stacks, buffer)
            else:
                scorer.score_candidates(sentences.lengths == size, stacks.history, buffer, offsets)
            stacks = settle(size, task, stacks, buffer, offsets)
    if search.lazy:
        buffer.counts[:] = 0
        with uninterrupted():
            claim_complete(sentences.lengths, stacks)
            scorer.score_claimed((1, longest + 1), True, stacks, buffer)
    return stacks


def _batch_sentences(weighted: WeightedSentences, members: np.ndarray) -> Sentences:
    """The members with the future costs of all their spans."""
    prepared = weighted.prepared
    first = prepared.first[members]
    lengths = prepared.first[members + 1] - first
    future_first = offsets_of((lengths + 1) ** 2)
    sentences = Sentences(lengths, first, prepared.spans, np.full(future_first[-1], -np.inf), future_first)
    future_costs(sentences, weighted.options)
    return sentences


class _FeatureInBatch:
    """A stateful feature that scores the hypotheses of one batch."""

    def __init__(self, feature: StatefulFeature, weighted: WeightedSentences, members: np.ndarray):
        self.search = feature.begin(weighted)
        self.weighted, self.members = weighted, members
        self.weight = weighted.vector[weighted.feature_column]

    def score_candidates(self, complete: np.ndarray, history: np.ndarray, buffer: Buffer, offsets: np.ndarray) -> None:
        """Add the weighted scores to those of all candidates; complete: bool ``[B]``; history: of all hypotheses."""
        sizes, ways = np.diff(offsets[:, 0]), buffer.candidates[: int(offsets[-1, 0])]
        scores = self._score(np.repeat(self.members, sizes), np.repeat(complete, sizes), history, ways)
        # until now that of the fallback language model, or 0
        ways["score"] += self.weight * (scores - ways["extra"])
        ways["extra"] = scores

    def score_claimed(self, sizes: tuple[int, int], complete: bool, stacks: Stacks, buffer: Buffer) -> None:
        """Score the arcs into the marked hypotheses, which are in the stacks of these sizes (the last not included)."""
        chosen, owners = claimed_arcs(*sizes, stacks)
        ways, ends = stacks.arcs.take(chosen), np.full(len(chosen), complete)
        scores = self._score(self.members[owners], ends, stacks.history, ways)
        best = revise(chosen, scores, self.weight, self.weighted.options, stacks, buffer)
        if len(chosen):
            self.search.settle(ways["head"][best], best)

    def _score(self, sentences: np.ndarray, complete: np.ndarray, history: np.ndarray, ways: np.ndarray) -> np.ndarray:
        """float64 ``[N]``: the scores of ``NewHypotheses``; history: of all hypotheses; ways: ``WAY`` ``[N]``."""
        count = len(ways)
        if count == 0:
            return np.zeros(0)
        tails, options, starts = (np.ascontiguousarray(ways[name]) for name in ("tail", "option", "start"))
        words = self.weighted.options.targets.take(options)
        batch = NewHypotheses(sentences, words, history[tails], complete, tails, options, starts)
        scores = np.asarray(self.search(batch), dtype=np.float64)
        if scores.shape != (count,) or not np.isfinite(scores).all():
            raise ValueError(f"a stateful feature must return {count} finite scores")
        return scores
