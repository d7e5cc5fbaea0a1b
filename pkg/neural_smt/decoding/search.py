"""The decoder: from sentences to translations, n-best lists and lattices.

What is equal is shared before it costs anything (*early hypothesis sharing*): equal sentences of an input are searched
once; equal source phrases share their options; within a batch of sentences, scores of a phrase after a state of a
language model are remembered (``MEMO_SLOTS``), and the n-grams that a network scores are scored once per stack
(``NgramFeature``); within a stack, hypotheses that the future cannot tell apart are recombined before they are pruned.
"""

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from neural_smt.decoding.batches import StatefulFeature, estimated, fallback_lm, recombination, search_batch
from neural_smt.decoding.features import DISTORTION
from neural_smt.decoding.lattices.lattice import Lattice, prune
from neural_smt.decoding.model import TranslationModel
from neural_smt.decoding.options import PreparedSentences, prepare, weigh
from neural_smt.decoding.primitives import WINDOW, Search
from neural_smt.decoding.scorers.ngrams import NgramFeature
from neural_smt.decoding.translations import Translation, empty_translation, translate
from neural_smt.decoding.weights import Weights
from neural_smt.errors import UserError
from neural_smt.shards import Shard

Result = TypeVar("Result")

ALGORITHMS = ("stack", "cube")

BATCH = 16
"""Sentences searched side by side; the same whatever the number of threads, so results are too."""

FEATURE_BATCH = 128
"""The same with a network, whose matrix products gain by more rows."""

FEATURE_MARGIN = 4.0
"""So many times the stack size are kept until a stateful feature has scored a stack."""

LAZY_MARGIN = 1.1
"""The same where the feature has a fallback language model or only estimates: a wider margin costs time and rarely
changes the result.
"""


@dataclass(frozen=True)
class SearchSettings:
    """Settings of the search; defaults as in Moses, and the distortion limit as its training sets it.

    algorithm: ``stack`` or ``cube``; stack_size: hypotheses kept per stack; beam_threshold: those are dropped whose
    score is below the best one times this (0: none); distortion_limit: longest jump in words, at most 63 (-1: the
    widest there is, which is 63 words, since a coverage is held in 64 bits from its first gap on); table_limit: options
    per source phrase (0: all); pop_limit: cells taken per stack by cube pruning.
    """

    algorithm: str = "stack"
    stack_size: int = 200
    beam_threshold: float = 1e-5
    distortion_limit: int = 6
    table_limit: int = 20
    pop_limit: int = 1000

    def __post_init__(self) -> None:
        if self.algorithm not in ALGORITHMS:
            raise UserError(f"unknown search algorithm {self.algorithm!r}; choose one of {', '.join(ALGORITHMS)}")
        for name, least, wanted in (
            ("stack_size", 1, ""),
            ("pop_limit", 1, ""),
            ("table_limit", 0, ", or to 0 for all"),
        ):
            if getattr(self, name) < least:
                raise UserError(f"decoding: {name} is {getattr(self, name)}; set it to 1 or more{wanted}")
        if not -1 <= self.distortion_limit <= WINDOW:
            advice = f"set it to 0 to {WINDOW}, or -1 for any"
            raise UserError(f"decoding: distortion_limit is {self.distortion_limit}; {advice}")
        if not 0 <= self.beam_threshold < 1:
            raise UserError(f"decoding: beam_threshold is {self.beam_threshold}; set it to 0 or more, below 1")


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
        """The sentences of a shard, in order; those of a plan of their own are in the same batches."""
        return shard.members(self.batches, [self.empty] if self.empty >= 0 else [])


class Decoder:
    """Translates sentences with one model, one weight vector and one setting of the search.

    Raises ``UserError`` when the weights do not fit the model, and when a weight or a score is not a finite number (the
    language models are looked through when the first decoder of a model is made, phrase pairs when they are looked up).
    """

    def __init__(
        self,
        model: TranslationModel,
        settings: SearchSettings,
        weights: Weights,
        threads: int = 1,
        feature: StatefulFeature | None = None,
    ):
        self.model = model
        self.settings = settings
        self.threads = threads
        self.feature = feature
        self.feature_set = model.feature_set
        if feature is not None:
            self.feature_set = self.feature_set.with_feature(feature.name)
        self.column = None if feature is None else self.feature_set.slices[feature.name].start
        self.vector = weights.vector(self.feature_set)
        for name, language_model in zip(self.feature_set.language_models, model.language_models, strict=True):
            if not language_model.finite:
                raise UserError(
                    f"the language model {name} holds a score that is not a finite number; build the model again"
                )

    def plan(self, sentences: list[list[str]]) -> SearchPlan:
        """Which of these sentences are searched together."""
        return SearchPlan.of(sentences, FEATURE_BATCH if self.feature else BATCH)

    def prepare(self, sentences: list[list[str]]) -> PreparedSentences:
        """Look up all phrase pairs of the sentences; any decoder of the same model may use the result again."""
        return prepare(self.model, sentences)

    def decode(
        self,
        sentences: list[list[str]] | PreparedSentences,
        nbest: int = 0,
        distinct: bool = True,
        traced: bool = False,
    ) -> list[Translation]:
        """Translate sentences (lists of tokens); an empty one has an empty translation, equal ones share theirs.

        nbest: length of the n-best lists; distinct: whether their entries must differ in their words; traced: whether
        entries have a ``Trace``.
        """
        rescore = self.feature.rescore if estimated(self.feature) else None

        def finish(batch: Lattice) -> list[Translation]:
            return translate(batch, self.model, nbest, distinct, rescore, traced)

        translations = self._run(sentences, nbest > 1 or rescore is not None, finish, self.feature)
        return [translation or self.translate(None, nbest) for translation in translations]

    def lattices(
        self, sentences: list[list[str]] | PreparedSentences, density: float = math.inf
    ) -> list[Lattice | None]:
        """The lattice of every sentence; None for an empty sentence. Those of equal sentences share their arrays.

        density: arcs per target word that each is pruned to as soon as its batch is searched (see ``prune``).
        """
        feature = self.feature.accurate() if isinstance(self.feature, NgramFeature) else self.feature

        def finish(batch: Lattice) -> list[Lattice]:
            return [prune(lattice, density=density) for lattice in batch.split()]

        lattices = self._run(sentences, True, finish, feature)
        return [lattice and replace(lattice, sentences=np.array([number])) for number, lattice in enumerate(lattices)]

    def _run(
        self, sentences, keep_arcs: bool, finish: Callable[[Lattice], list[Result]], feature: StatefulFeature | None
    ) -> list[Result | None]:
        """Search all sentences in batches of similar length; ``finish`` makes the results of a batch."""
        prepared = sentences if isinstance(sentences, PreparedSentences) else self.prepare(sentences)
        search, limit = self._search(keep_arcs, feature), self.settings.table_limit
        weighted = weigh(prepared, self.model, self.feature_set, self.vector, limit, search.language, self.column)
        pop_limit = self.settings.pop_limit if self.settings.algorithm == "cube" else None
        plan = self.plan(prepared.tokens)
        results: list = [None] * len(prepared.tokens)

        def work(members: np.ndarray) -> None:
            lattices = search_batch(weighted, members, pop_limit, search, feature)
            for number, result in zip(members.tolist(), finish(lattices), strict=True):
                results[number] = result

        if self.threads > 1:
            with ThreadPoolExecutor(self.threads) as pool:
                list(pool.map(work, plan.batches))
        else:
            for batch in plan.batches:
                work(batch)
        return [results[number] for number in plan.same]

    def _search(self, keep_arcs: bool, feature: StatefulFeature | None) -> Search:
        settings, part, names = self.settings, self.feature_set.slices, self.feature_set.language_models
        language, fallback = np.array([self.vector[part[name].start] for name in names]), fallback_lm(feature, names)
        if fallback >= 0:
            language[fallback] += self.vector[self.column]
        return Search(
            distortion=float(self.vector[part[DISTORTION].start]),
            language=language,
            limit=settings.distortion_limit,
            beam=math.log(settings.beam_threshold) if settings.beam_threshold > 0 else -math.inf,
            stack_size=settings.stack_size,
            margin=1.0 if feature is None else LAZY_MARGIN if fallback >= 0 or estimated(feature) else FEATURE_MARGIN,
            keep_arcs=keep_arcs,
            context=recombination(feature),
            fallback_lm=fallback,
        )

    def translate(self, lattice: Lattice | None, nbest: int = 0, distinct: bool = True) -> Translation:
        """The best translation in a lattice that this decoder made (None: of an empty sentence); see ``decode``."""
        if lattice is None:
            return empty_translation(self.feature_set.size, nbest)
        return translate(lattice, self.model, nbest, distinct)[0]
