"""The decoder: from sentences to translations, n-best lists and lattices.

What is equal is shared before it costs anything (*early hypothesis sharing*): equal sentences of an input are searched
once; equal source phrases share their options; within a batch of sentences, scores of a phrase after a state of a
language model are remembered (``MEMO_SLOTS``), and the n-grams that a network scores are scored once per stack; within
a stack, hypotheses that the future cannot tell apart are recombined before they are pruned.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np

from neural_smt.decoding.batches import BatchSearch, StatefulFeature
from neural_smt.decoding.features import DISTORTION, REORDERING, Weights
from neural_smt.decoding.lattices.lattice import Lattice, prune
from neural_smt.decoding.model import TranslationModel
from neural_smt.decoding.options import PreparedSentences, prepare, weigh
from neural_smt.decoding.primitives import WINDOW, Search
from neural_smt.decoding.scorers import load_feature
from neural_smt.decoding.translations import (
    NBestList,
    Rescore,
    Translation,
    cut,
    empty_list,
    empty_translation,
    list_best,
    translate,
)
from neural_smt.errors import UserError
from neural_smt.experiment.settings import Settings, complete_settings, load_schema
from neural_smt.experiment.system_folder import System
from neural_smt.shards import Shard, in_threads, uninterrupted

Result = TypeVar("Result")

Text = list[list[str]] | PreparedSentences
"""Sentences as lists of tokens, or with their phrase pairs looked up."""

BATCH = 16
"""Sentences searched side by side; the same whatever the number of threads, so results are too."""

FEATURE_BATCH = 128
"""The same with a network, whose matrix products gain by more rows."""

FEATURE_MARGIN = 4.0
"""So many times the stack size are kept until a stateful feature has scored a stack."""

LAZY_MARGIN = 1.1
"""The same where the feature is lazy or only estimates: a wider margin costs time and rarely changes the result."""


class SearchSettings(Settings):
    """Settings of the search, see ``search`` in the schema. What is left out is as in Moses, and the distortion
    limit as its training sets it. ``UserError`` names what is out of range.
    """

    def __init__(self, **values: Any):
        super().__init__(vars(complete_settings(values, load_schema()["$defs"]["search"], "search", "correct it")))


@dataclass(frozen=True)
class SearchPlan:
    """Which sentences are searched together: batches of similar length, of which shards take some.

    same: for each sentence the first that equals it, whose search they share; batches: int64 arrays of sentences
    that are first of their kind and not empty, longest first; empty: the first empty sentence, or -1.
    """

    same: list[int]
    batches: list[np.ndarray]
    empty: int

    @classmethod
    def of(cls, sentences: Sequence[Sequence[str]], size: int) -> "SearchPlan":
        """Batches of ``size`` sentences (lists of tokens), the last one smaller."""
        first: dict[tuple[str, ...], int] = {}
        same = [first.setdefault(tuple(tokens), number) for number, tokens in enumerate(sentences)]
        distinct = np.array([number for tokens, number in first.items() if tokens], dtype=np.int64)
        lengths = np.array([len(tokens) for tokens in first if tokens], dtype=np.int64)
        order = distinct[np.argsort(-lengths, kind="stable")]  # longest first: threads end together
        batches = [order[start : start + size] for start in range(0, len(order), size)]
        return cls(same, batches, first.get((), -1))

    def members(self, shard: Shard) -> list[int]:
        """The sentences of a shard, in order, with all that equal them; in a plan of their own they are in the same
        batches.
        """
        searched = set(shard.members(self.batches, [self.empty] if self.empty >= 0 else []))
        return [number for number, first in enumerate(self.same) if first in searched]


@dataclass(eq=False)
class Decoder:
    """Translates sentences with one model, one weight vector and one setting of the search.

    Raises ``UserError`` when the weights do not fit the model, and when a weight or a score is not a finite number (the
    language models are looked through when the first decoder of a model is made, phrase pairs when they are looked up).
    """

    model: TranslationModel
    settings: Settings
    weights: Weights
    threads: int = 1
    feature: StatefulFeature | None = None

    def __post_init__(self) -> None:
        self.feature_set, self.column = self.model.feature_set, None
        if self.feature:
            self.feature_set = self.feature_set.with_feature(self.feature.name)
            self.column = self.feature_set.slices[self.feature.name].start
        self.vector = self.weights.vector(self.feature_set)
        for name, language_model in zip(self.feature_set.language_models, self.model.language_models, strict=True):
            if not language_model.finite:
                raise UserError(
                    f"the language model {name} holds a score that is not a finite number; build the model again"
                )

    @classmethod
    def load(cls, system: System, weights: Path, threads: int = 1, device: str = "cpu") -> "Decoder":
        """A searched system with tuned weights, ready to translate."""
        model = TranslationModel.load(system)
        feature = load_feature(system, model, device)
        return cls(model, SearchSettings(**system.search), Weights.load(weights), threads, feature)

    def plan(self, sentences: list[list[str]]) -> SearchPlan:
        """Which of these sentences are searched together."""
        return SearchPlan.of(sentences, FEATURE_BATCH if self.feature else BATCH)

    def prepare(self, sentences: list[list[str]]) -> PreparedSentences:
        """Look up all phrase pairs of the sentences; any decoder of the same model may use the result again."""
        with uninterrupted():
            return prepare(self.model, sentences)

    def decode(self, text: Text, nbest: int = 0, distinct: bool = True, traced: int = 0) -> list[Translation]:
        """Translate sentences; an empty one has an empty translation, equal ones share theirs.

        nbest: length of the n-best lists; distinct: whether their entries must differ in their words; traced: how many
        of the best translations of each sentence have their ``Trace``.
        """
        rescore = self._rescore()

        def finish(batch: Lattice) -> list[Translation]:
            return translate(batch, self.model, nbest, distinct, rescore, traced)

        translations = self._run(text, nbest > 1 or rescore is not None, finish, self.feature)
        return [translation or empty_translation(self.feature_set.size, nbest) for translation in translations]

    def lists(self, text: Text, nbest: int) -> list[NBestList]:
        """The best ``nbest`` distinct translations of every sentence, best first, without traces; that of an empty
        sentence holds the empty translation.
        """
        rescore = self._rescore()

        def finish(batch: Lattice) -> list[NBestList]:
            entries, first, _ = list_best(batch, nbest, True, rescore)
            return cut(entries, first, nbest)

        lists = self._run(text, True, finish, self.feature)
        return [entries or empty_list(self.feature_set.size) for entries in lists]

    def _rescore(self) -> Rescore | None:
        return self.feature.rescore if self.feature and self.feature.estimated else None

    def lattices(self, text: Text, density: float = math.inf) -> list[Lattice | None]:
        """The lattice of every sentence; None for an empty sentence. Those of equal sentences share their arrays.

        density: arcs per target word that each is pruned to as soon as its batch is searched (see ``prune``).
        """
        feature = self.feature and self.feature.accurate()

        def finish(batch: Lattice) -> list[Lattice]:
            return [prune(batch.part(number), density=density) for number in range(len(batch.sentences))]

        lattices = self._run(text, True, finish, feature)
        return [lattice and replace(lattice, sentences=np.array([number])) for number, lattice in enumerate(lattices)]

    def _run(
        self, text: Text, keep_arcs: bool, finish: Callable[[Lattice], list[Result]], feature: StatefulFeature | None
    ) -> list[Result | None]:
        """Search all sentences in batches of similar length; ``finish`` makes the results of a batch."""
        search = self._search(keep_arcs, feature)
        prepared = text if isinstance(text, PreparedSentences) else self.prepare(text)
        with uninterrupted():
            weighted = weigh(prepared, self, search.language)
        pop_limit = self.settings.pop_limit if self.settings.algorithm == "cube" else None
        plan = self.plan(prepared.tokens)
        results: list[Any] = [None] * len(prepared.tokens)
        searches: SimpleQueue[BatchSearch] = SimpleQueue()
        for _ in range(self.threads):
            searches.put(BatchSearch(weighted, pop_limit, search, feature))

        def work(members: np.ndarray) -> None:
            searching = searches.get()
            try:
                lattices = searching(members)
            finally:
                searches.put(searching)
            with uninterrupted():
                finished = finish(lattices)
            for number, result in zip(members.tolist(), finished, strict=True):
                results[number] = result

        in_threads(work, plan.batches, self.threads)
        return [results[number] for number in plan.same]

    def _search(self, keep_arcs: bool, feature: StatefulFeature | None) -> Search:
        settings, part, names = self.settings, self.feature_set.slices, self.feature_set.language_models
        language, fallback, margin = np.array([self.vector[part[name].start] for name in names]), -1, 1.0
        lazy = feature is not None and feature.fallback_lm is not None and feature.lazy
        if feature:
            margin = LAZY_MARGIN if lazy or feature.estimated else FEATURE_MARGIN
        if feature and feature.fallback_lm:
            fallback = names.index(feature.fallback_lm)
            language[fallback] += self.vector[self.column]
        return Search(
            distortion=float(self.vector[part[DISTORTION].start]),
            language=language,
            limit=WINDOW if settings.distortion_limit < 0 else settings.distortion_limit,
            beam=math.log(settings.beam_threshold) if settings.beam_threshold > 0 else -math.inf,
            stack_size=settings.stack_size,
            margin=margin,
            keep_arcs=keep_arcs or lazy,
            context=feature.context if feature else 0,
            fallback_lm=fallback,
            lazy=lazy,
            reordering=REORDERING in self.feature_set,
        )
