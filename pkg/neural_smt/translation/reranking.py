"""Systems that rerank candidates of their base: n-best lists with a network, or lattices with a network (Auli et al.
2013) or with other weights.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice
from pathlib import Path
from typing import Any, Self, cast

import numpy as np

from neural_smt.decoding.features import Weights
from neural_smt.decoding.lattices.flat import list_paths
from neural_smt.decoding.nbest import ListedTranslation
from neural_smt.decoding.reranking.aligned_lattices import AlignedLattices
from neural_smt.decoding.reranking.push_forward import LatticeScorer, order_paths, push_forward, score_paths
from neural_smt.decoding.reranking_steps import add_scores, rerank_entries
from neural_smt.decoding.scorers.interface import TargetNetwork, load_network
from neural_smt.decoding.search import Decoder
from neural_smt.decoding.translations import Trace, no_phrases, trace
from neural_smt.experiment.system_folder import System
from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.translation.attention import SetMaker
from neural_smt.translation.translators import Candidate, SearchTranslator, Translated

LISTED = 100
"""Paths of a lattice that a list of translations is chosen from, or as many as are asked for."""


@dataclass(frozen=True)
class Reranker:
    """decoder: of the base; networks: none where only weights are new, several for lists alone; each comes with what
    makes the target vocabularies of sentences, if it reads some; system: which candidates it chooses among; tuned: the
    weights.

    all_count: whether scores that cannot be tuned, which are the same for all entries of a list, have their weights.
    """

    decoder: Decoder
    networks: Sequence[tuple[TargetNetwork, SetMaker | None]]
    system: System
    tuned: Weights

    batch = 16
    all_count = True

    @classmethod
    def load(cls, system: System, decoder: Decoder, weights: Path, device: str) -> Self:
        """decoder: of the base."""
        networks = []
        for one in system.of_each_network():
            maker = SetMaker.load(one["network"]) if one["network"].get("candidates") else None
            networks.append((load_network(one, device=device), maker))
        return cls(decoder, networks, system, Weights.load(weights))

    @property
    def features(self) -> list[str]:
        """The names of the networks' scores."""
        return [network.feature for network, _ in self.networks]

    @property
    def names(self) -> list[str]:
        """One name per score, the networks' last."""
        return [*self.decoder.feature_set.names, *self.features]

    @property
    def weights(self) -> np.ndarray:
        """float64 ``[F]``."""
        values, features = self.tuned.values, self.decoder.feature_set
        parts = [values[f.name] if self.all_count or f.tunable else (0.0,) * f.size for f in features]
        return np.concatenate([*parts, *(values[name] for name in self.features)])

    def reading(self, lines: list[str]) -> list[TargetNetwork]:
        """The networks for the translations of tokenised sentences."""
        return [replace(cast(Any, one), sets=maker.sets(lines)) if maker else one for one, maker in self.networks]


class ListTranslator(Reranker):
    """Reranks n-best lists, see the rules ``score_lists`` and ``rerank``."""

    all_count = False

    def translate(self, sentences: Sequence[list[str]], nbest: int = 1, explained: bool = False) -> list[Translated]:
        """See ``Translator``."""
        found = SearchTranslator(self.decoder).translate(sentences, self.system["list_size"])
        shown = {f.name: self.decoder.feature_set.slices[f.name] for f in self.decoder.feature_set if f.tunable}
        entries = []
        for number, translated in enumerate(found):
            for c in islice(translated.candidates, self.system["nbest"]):
                features = {name: c.features[part].tolist() for name, part in shown.items()}
                listed = ListedTranslation(number, c.tokens, features, c.score, c.trace.alignment)
                entries.append(_as_written(listed))
        lines = [" ".join(tokens) for tokens in sentences]
        for network in self.reading(lines):
            entries = [_as_written(entry) for entry in add_scores(entries, network, lines)]
        ordered = groupby(rerank_entries(entries, self.tuned.values), key=lambda entry: entry.sentence)
        result = []
        for translated, (_, best) in zip(found, ordered, strict=True):
            known = {tuple(c.tokens): c for c in translated.candidates}
            chosen = [self._reranked(known[tuple(entry.tokens)], entry) for entry in islice(best, max(1, nbest))]
            result.append(replace(translated, candidates=chosen))
        return result

    def _reranked(self, candidate: Candidate, entry: ListedTranslation) -> Candidate:
        further = [value for name in self.features for value in entry.features[name]]
        features = np.append(candidate.features, further)
        return Candidate(candidate.tokens, features, entry.score, _widened(candidate.trace, len(further)))


def _as_written(entry: ListedTranslation) -> ListedTranslation:
    """An entry with the six digits that lists in files have: so the same is chosen as in the workflow."""
    features = {name: [float(f"{value:.6g}") for value in values] for name, values in entry.features.items()}
    return replace(entry, features=features, score=float(f"{entry.score:.6g}"))


def _widened(made: Trace, scores: int) -> Trace:
    """A trace of so many scores more, of which its phrases have nothing."""
    return replace(made, features=np.pad(made.features, ((0, 0), (0, scores))))


class LatticeTranslator(Reranker):
    """Chooses among the paths of lattices, see the rules ``decode_lattices`` and ``rescore_lattices``."""

    def translate(self, sentences: Sequence[list[str]], nbest: int = 1, explained: bool = False) -> list[Translated]:
        """See ``Translator``."""
        lattices = self.decoder.lattices(list(sentences), self.system["density"] or math.inf)
        aligned = AlignedLattices.of(lattices, self.decoder)
        paths, first, scored = self._paths(aligned, sentences, max(1, nbest))
        start = aligned.flat.first_arcs
        weights, result = self.weights, []
        for number, (source, lattice) in enumerate(zip(sentences, lattices, strict=True)):
            own = paths.take(np.arange(first[number], first[number + 1]))
            made: Iterable[Trace] = (
                trace(lattice, Ragged(own.values - start[number], own.offsets), self.decoder.model) if lattice else []
            )
            candidates = []
            for path, one, network in zip(own, made, scored[first[number] :], strict=False):
                further = [network] if self.networks else []
                features = np.append(one.features.sum(axis=0, dtype=np.float64), further)
                tokens = aligned.spell(aligned.flat.words.take(path).values)
                score = float(features @ weights)
                candidates.append(Candidate(tokens, features, score, _widened(one, len(further))))
            empty = Candidate([], np.zeros(len(weights)), 0.0, no_phrases(len(weights)))
            result.append(Translated(source, candidates or [empty]))
        return result

    def _paths(
        self, aligned: AlignedLattices, sentences: Sequence[list[str]], nbest: int
    ) -> tuple[Ragged, np.ndarray, np.ndarray]:
        """The best paths of each sentence (arcs, int ``Ragged`` of n), where those of each start (int64), and ln p of
        each by the network (float64 ``[n]``).
        """
        vector = self.weights
        if not self.networks:
            paths, first = list_paths(aligned.flat, vector, nbest)
            return paths, first, np.zeros(len(paths))
        lines = [" ".join(tokens) for tokens in sentences]
        joint = LatticeScorer.of(self.reading(lines)[0], aligned, sentences)
        best = None
        if self.system["candidates"] == "lattice":
            best = push_forward(joint, vector, self.system["beam"], self.decoder.threads)
            if nbest == 1:
                filled = np.flatnonzero(best.arcs.lengths)
                return best.arcs.take(filled), offsets_of(best.arcs.lengths > 0), best.network[filled]
        paths, first = list_paths(aligned.flat, aligned.made_with, max(nbest, LISTED) if best else self.system["nbest"])
        if best:
            paths, first = _with_best(aligned, paths, first, best.arcs)
        sentence = np.repeat(np.arange(len(first) - 1), np.diff(first))
        scored, _ = score_paths(joint, paths, sentence)
        arcs = aligned.flat.scores(vector[:-1])
        order = order_paths(vector[-1] * scored + [arcs[path].sum() for path in paths], first)
        chosen = order[np.arange(len(order)) - first[sentence] < nbest]
        return paths.take(chosen), offsets_of(np.minimum(np.diff(first), nbest)), scored[chosen]


def _with_best(aligned: AlignedLattices, paths: Ragged, first: np.ndarray, best: Ragged) -> tuple[Ragged, np.ndarray]:
    """The paths of each sentence and before them its best one, in place of one of the same words."""
    kept, offsets = [], [0]
    for number in range(len(aligned)):
        rows = range(first[number], first[number + 1])
        words = aligned.flat.words.take(best[number]).values.tolist()
        others = [paths[row] for row in rows if aligned.flat.words.take(paths[row]).values.tolist() != words]
        kept += [best[number], *others] if len(rows) else []
        offsets.append(len(kept))
    return Ragged.from_lists(kept), np.array(offsets)
