"""Systems that rerank candidates of their base: n-best lists with a network, or lattices with a network (Auli et al.
2013) or with other weights.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice

import numpy as np

from neural_smt.decoding.features import Weights
from neural_smt.decoding.lattices.flat import list_paths
from neural_smt.decoding.nbest import ListedTranslation, NBestEntry, trace
from neural_smt.decoding.reranking.aligned_lattices import AlignedLattices
from neural_smt.decoding.reranking.push_forward import LatticeScorer, order_paths, push_forward, score_paths
from neural_smt.decoding.reranking_steps import add_scores, rerank_entries
from neural_smt.decoding.scorers.interface import TargetNetwork
from neural_smt.decoding.scorers.loading import load_network
from neural_smt.decoding.search import Decoder
from neural_smt.experiment.system_folder import System
from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.translation.attention import SetMaker
from neural_smt.translation.translators import Candidate, Phrase, Translated, candidate, listed, whole_scores

LISTED = 100
"""Paths of a lattice that a list of translations is chosen from, or as many as are asked for."""


@dataclass(frozen=True)
class RerankingNetwork:
    """A network that scores candidates; maker: makes the target vocabularies of sentences, where it reads some."""

    network: TargetNetwork
    maker: SetMaker | None

    @classmethod
    def load(cls, system: System, device: str) -> "RerankingNetwork":
        """The network that a system reranks with, whatever its kind."""
        maker = SetMaker.load(system["network"]) if system["network"]["kind"] == "attention" else None
        return cls(load_network(system, device=device), maker)

    def reading(self, lines: list[str]) -> TargetNetwork:
        """The network for the translations of tokenised sentences."""
        return replace(self.network, sets=self.maker.sets(lines)) if self.maker else self.network


@dataclass(frozen=True)
class Reranker:
    """decoder: of the base; network: None where only weights are new; system: which candidates it chooses among; tuned:
    the weights.
    """

    decoder: Decoder
    network: RerankingNetwork | None
    system: System
    tuned: Weights

    batch = 16

    @classmethod
    def load(cls, system: System, decoder: Decoder, weights: Weights, device: str) -> "Reranker":
        """decoder: of the base."""
        network = RerankingNetwork.load(system, device) if system["network"] else None
        return cls(decoder, network, system, weights)

    @property
    def feature(self) -> list[str]:
        """The name of the network's score, where there is a network."""
        return [self.network.network.feature] if self.network else []

    @property
    def names(self) -> list[str]:
        """One name per score, the network's last."""
        return [*self.decoder.feature_set.names, *self.feature]

    @property
    def weights(self) -> np.ndarray:
        """float64 ``[F]``."""
        names = [*(feature.name for feature in self.decoder.feature_set), *self.feature]
        return np.concatenate([self.tuned.values[name] for name in names])


class ListTranslator(Reranker):
    """Reranks n-best lists, see the rules ``score_lists`` and ``rerank``."""

    @property
    def weights(self) -> np.ndarray:
        """float64 ``[F]``; 0 for scores that are the same for all entries of a list, and do not count."""
        parts = [self.tuned.values[f.name] if f.tunable else (0.0,) * f.size for f in self.decoder.feature_set]
        return np.concatenate([*parts, *(self.tuned.values[name] for name in self.feature)])

    def translate(self, sentences: Sequence[list[str]], nbest: int = 1, explained: bool = False) -> list[Translated]:
        """See ``Translator``."""
        found = [listed(t) for t in self.decoder.decode(list(sentences), self.system["list_size"], traced=True)]
        entries = [entry for n, part in enumerate(found) for entry in self._entries(n, part)]
        lines = [" ".join(tokens) for tokens in sentences]
        scored = [_as_written(entry) for entry in add_scores(entries, self.network.reading(lines), lines)]
        ordered = groupby(rerank_entries(scored, self.tuned.values), key=lambda entry: entry.sentence)
        whole = whole_scores(self.decoder)
        result = []
        for source, part, (_, best) in zip(sentences, found, ordered, strict=True):
            known = {tuple(entry.tokens): entry for entry in part}
            chosen = [(entry, known[tuple(entry.tokens)]) for entry in islice(best, max(1, nbest))]
            result.append(Translated(source, [self._candidate(entry, base, whole) for entry, base in chosen]))
        return result

    def _entries(self, number: int, part: Sequence[NBestEntry]) -> list[ListedTranslation]:
        """The entries of a sentence as lists in files hold them."""
        shown = {f.name: self.decoder.feature_set.slices[f.name] for f in self.decoder.feature_set if f.tunable}
        return [
            _as_written(
                ListedTranslation(
                    number,
                    e.tokens,
                    {name: e.features[p].tolist() for name, p in shown.items()},
                    e.score,
                    e.trace.alignment if e.trace else None,
                )
            )
            for e in islice(part, self.system["nbest"] or None)
        ]

    def _candidate(self, entry: ListedTranslation, base: NBestEntry, whole: list[int]) -> Candidate:
        made = candidate(base, whole)
        phrases = [Phrase(p.source, p.target, np.append(p.features, 0.0)) for p in made.phrases]
        features = np.append(made.features, entry.features[self.network.network.feature])
        return Candidate(entry.tokens, entry.score, features, made.alignment, phrases)


def _as_written(entry: ListedTranslation) -> ListedTranslation:
    """An entry with the six digits that lists in files have: so the same is chosen as in the workflow."""
    features = {name: [float(f"{value:.6g}") for value in values] for name, values in entry.features.items()}
    return replace(entry, features=features, score=float(f"{entry.score:.6g}"))


class LatticeTranslator(Reranker):
    """Chooses among the paths of lattices, see the rules ``decode_lattices`` and ``rescore_lattices``."""

    def translate(self, sentences: Sequence[list[str]], nbest: int = 1, explained: bool = False) -> list[Translated]:
        """See ``Translator``."""
        lattices = self.decoder.lattices(list(sentences), self.system["density"] or math.inf)
        linked = AlignedLattices.of(lattices, self.decoder)
        paths, first, recurrent = self._paths(linked, sentences, max(1, nbest))
        traces = iter(self._traces(lattices, linked, paths, first))
        result = []
        for number, source in enumerate(sentences):
            rows = range(first[number], first[number + 1])
            found = [self._candidate(linked, paths[row], recurrent[row], next(traces)) for row in rows]
            result.append(Translated(source, found or [Candidate([], 0.0, np.zeros(len(self.names)))]))
        return result

    def _paths(
        self, linked: AlignedLattices, sentences: Sequence[list[str]], nbest: int
    ) -> tuple[Ragged, np.ndarray, np.ndarray]:
        """The best paths of each sentence (arcs, int ``Ragged`` of n), where those of each start (int64), and ln p of
        each by the network (float64 ``[n]``).
        """
        vector = self.weights
        if self.network is None:
            paths, first = list_paths(linked.flat, vector, nbest)
            return paths, first, np.zeros(len(paths))
        lines = [" ".join(tokens) for tokens in sentences]
        joint = LatticeScorer.of(self.network.reading(lines), linked, sentences)
        best = None
        if self.system["candidates"] == "lattice":
            best = push_forward(joint, vector, self.system["beam"], self.decoder.threads)
            if nbest == 1:
                filled = np.flatnonzero(best.arcs.lengths)
                return best.arcs.take(filled), offsets_of(best.arcs.lengths > 0), best.network[filled]
        paths, first = list_paths(linked.flat, linked.made_with, max(nbest, LISTED) if best else self.system["nbest"])
        if best:
            paths, first = _with_best(linked, paths, first, best.arcs)
        return _best_first(joint, paths, first, vector, nbest)

    def _traces(self, lattices, linked: AlignedLattices, paths: Ragged, first: np.ndarray):
        """How the paths were made, sentence by sentence."""
        start = linked.flat.arc_offsets[linked.flat.node_offsets]
        for number, lattice in enumerate(lattices):
            if lattice is not None:
                own = paths.take(np.arange(first[number], first[number + 1]))
                yield from trace(lattice, Ragged(own.values - start[number], own.offsets), self.decoder.model)

    def _candidate(self, linked: AlignedLattices, path: np.ndarray, recurrent: float, made) -> Candidate:
        more = [recurrent] if self.network else []
        rows = made.features.astype(np.float64)
        features = np.append(rows.sum(axis=0), more)
        phrases = [
            Phrase(tuple(s[:2]), tuple(s[2:]), np.append(row, np.zeros(len(more))))
            for s, row in zip(made.segmentation, rows, strict=True)
        ]
        tokens = linked.spell(linked.flat.words.take(path).values)
        return Candidate(tokens, float(features @ self.weights), features, made.alignment, phrases)


def _with_best(linked: AlignedLattices, paths: Ragged, first: np.ndarray, best: Ragged) -> tuple[Ragged, np.ndarray]:
    """The paths of each sentence and before them its best one, in place of one of the same words."""
    kept, offsets = [], [0]
    for number in range(len(linked)):
        rows = range(first[number], first[number + 1])
        words = linked.flat.words.take(best[number]).values.tolist()
        others = [paths[row] for row in rows if linked.flat.words.take(paths[row]).values.tolist() != words]
        kept += [best[number], *others] if len(rows) else []
        offsets.append(len(kept))
    return Ragged.from_lists(kept), np.array(offsets)


def _best_first(
    joint: LatticeScorer, paths: Ragged, first: np.ndarray, vector: np.ndarray, nbest: int
) -> tuple[Ragged, np.ndarray, np.ndarray]:
    """The ``nbest`` best paths of each sentence with the network, where these start, and its ln p of them."""
    sentence = np.repeat(np.arange(len(first) - 1), np.diff(first))
    recurrent, _ = score_paths(joint, paths, sentence)
    arcs = joint.lattices.flat.scores(vector[:-1])
    totals = vector[-1] * recurrent + [arcs[path].sum() for path in paths]
    order = order_paths(totals, first)
    rank = np.arange(len(order)) - first[sentence]
    chosen = order[rank < nbest]
    return paths.take(chosen), offsets_of(np.minimum(np.diff(first), nbest)), recurrent[chosen]
