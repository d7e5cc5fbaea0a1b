"""Beam search with an attention network over many sentences side by side, each with its own target vocabulary.

The beam is that of GroundHog: one place less for every translation that is finished. What is found for a sentence does
not depend on the others. Target vocabularies are expanded where a search ends without a translation (Jean et al. 2015;
``fast_sample.py``).
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from neural_smt.decoding.attention.results import Found, Hypothesis, strongest
from neural_smt.decoding.scorers.attention import AttentionStates, AttentionTextScorer
from neural_smt.experiment.settings import Settings
from neural_smt.io.ragged import Ragged
from neural_smt.networks.attention.network import AttentionNetwork
from neural_smt.networks.beams import best_continuations
from neural_smt.shards import Shard
from neural_smt.vocabulary import EOS, RESERVED
from neural_smt.vocabulary_selection.building import frequent_ids
from neural_smt.vocabulary_selection.candidates import CandidateSets

log = logging.getLogger(__name__)

FIRST = 100
"""Frequent words added at first to sets that have none, so that there is something to double."""


def plan_batches(lengths: Sequence[int] | np.ndarray, size: int) -> list[np.ndarray]:
    """int64 arrays of ``size`` sentences (the last has the rest), shortest first: none waits for a long one.

    lengths: words of every sentence; those without words need no search and are in no batch.
    """
    lengths = np.asarray(lengths, dtype=np.int64)
    waiting = np.flatnonzero(lengths > 0)
    waiting = waiting[np.argsort(lengths[waiting], kind="stable")]
    return [waiting[start : start + size] for start in range(0, len(waiting), size)]


def shard_members(lengths: Sequence[int] | np.ndarray, size: int, shard: Shard) -> list[int]:
    """The sentences of a shard, in order; those of a text of their own are in the same batches."""
    return shard.members(plan_batches(lengths, size), np.flatnonzero(np.asarray(lengths) == 0).tolist())


def beam_search(
    network: AttentionNetwork,
    source: Ragged,
    settings: Settings,
    sets: CandidateSets | None = None,
) -> list[list[Hypothesis]]:
    """Translations of each sentence of ``source`` (int32 ids without end symbols), best first: at least 1, at most
    ``beam`` of each.

    settings: of the section ``decoding.attention``; sets: the target words of each sentence, UNK and EOS among them;
    None: all target words. A sentence that does not end within its limit gets the best that was not finished
    (``complete`` is false), a sentence without words none.
    """
    found = [[Hypothesis.nothing(complete=True)] for _ in range(len(source))]
    scorer = AttentionTextScorer(network, source, sets, settings.precision, settings.unknown)
    with scorer.computing():
        for rows in plan_batches(source.lengths, settings.batch):
            for row, hypotheses in zip(rows, _Search(scorer, rows, settings).run(), strict=True):
                found[row] = hypotheses
    return found


@dataclass
class _Beams:
    """``n`` prefixes of equal length t, rising by sentence.

    owner: int64 ``[n]``, the sentence of each; totals: float64 ``[n]``, log p; words: int32 ``[n, t]``; links: int64
    ``[n, t, 2]``, see ``strongest``.
    """

    owner: np.ndarray
    totals: np.ndarray
    words: np.ndarray
    links: np.ndarray

    def hypotheses(self, rows: np.ndarray, totals: np.ndarray, complete: bool) -> list[tuple[int, Hypothesis]]:
        """The prefixes ``rows``, whose log p is ``totals``, each with its sentence."""
        return [
            (int(self.owner[row]), Hypothesis(self.words[row], float(total), *self.links[row].T, complete))
            for row, total in zip(rows, totals, strict=True)
        ]

    def extended(self, rows: np.ndarray, words: np.ndarray, totals: np.ndarray, links: np.ndarray) -> "_Beams":
        """The prefixes ``rows``, each with one more of ``words``; links: ``[n, 2]``, of the next word of each."""
        return _Beams(
            self.owner[rows],
            totals,
            np.concatenate((self.words[rows], words[:, None].astype(np.int32)), axis=1),
            np.concatenate((self.links[rows], links[rows, None]), axis=1),
        )


class _Search:
    """The search for the translations of the sentences of a batch, which have one word or more each."""

    def __init__(self, scorer: AttentionTextScorer, rows: np.ndarray, settings: Settings):
        self.scorer, self.settings = scorer, settings
        self.states: AttentionStates = scorer.start(rows)
        self.lengths = scorer.lengths[rows]
        self.limits = settings.max_length_ratio * self.lengths + settings.max_length_extra
        self.places = np.full(len(rows), settings.beam)

    def run(self) -> list[list[Hypothesis]]:
        """The translations of each sentence, best first."""
        count = len(self.lengths)
        beams = _Beams(
            np.arange(count), np.zeros(count), np.zeros((count, 0), np.int32), np.zeros((count, 0, 2), np.int64)
        )
        found: list[tuple[int, Hypothesis]] = []
        step = 0
        while len(beams.owner):
            beams = self._step(beams, step, found)
            step += 1
        return self._ranked(found)

    def _step(self, beams: _Beams, step: int, found: list[tuple[int, Hypothesis]]) -> _Beams:
        """The prefixes with one word more; what is finished, or is at its limit unfinished, goes into ``found``."""
        predictions = self.scorer.predict(self.states)
        values, words = predictions.best(self.settings.beam)
        links = strongest(predictions.alphas.cpu().numpy(), self.lengths[beams.owner])
        rows, chosen, totals = best_continuations(beams.owner, beams.totals, values, words, self.places)
        ends = chosen == EOS
        found += beams.hypotheses(rows[ends], totals[ends], complete=True)
        self.places -= np.bincount(beams.owner[rows[ends]], minlength=len(self.places))
        full = np.flatnonzero(self.limits[beams.owner] == step)
        found += beams.hypotheses(full, beams.totals[full], complete=False)
        goes_on = ~ends & (self.limits[beams.owner[rows]] > step)
        rows, chosen = rows[goes_on], chosen[goes_on]
        if len(rows):
            self.states = predictions.extend(rows, chosen)
        return beams.extended(rows, chosen, totals[goes_on], links)

    def _ranked(self, found: list[tuple[int, Hypothesis]]) -> list[list[Hypothesis]]:
        by_sentence: list[list[Hypothesis]] = [[] for _ in self.lengths]
        for sentence, hypothesis in found:
            by_sentence[sentence].append(hypothesis)
        return [self._best_first(hypotheses) for hypotheses in by_sentence]

    def _best_first(self, hypotheses: list[Hypothesis]) -> list[Hypothesis]:
        ranked = sorted(hypotheses, key=lambda hypothesis: -hypothesis.ranked_by(self.settings.normalise))
        finished = [hypothesis for hypothesis in ranked if hypothesis.complete]
        return finished or ranked[:1] or [Hypothesis.nothing(complete=False)]


def search(
    network: AttentionNetwork,
    source: Ragged,
    settings: Settings,
    sets: CandidateSets | None = None,
) -> Found:
    """``beam_search``; with ``settings.expand_on_failure``, sentences without a finished translation are searched
    again, with twice as many of the most frequent words, until they have one or had all target words.
    """
    hypotheses = beam_search(network, source, settings, sets)
    everything = network.config.target_words
    if sets is None:
        return Found(hypotheses, np.full(len(source), everything), np.zeros(len(source), dtype=bool))
    words, grown = sets.sizes.copy(), np.zeros(len(source), dtype=bool)
    # batch by batch, so that shards of whole batches find the same
    for batch in plan_batches(source.lengths, settings.batch) if settings.expand_on_failure else []:
        frequent, rows = frequent_words(sets), _unfinished(hypotheses, batch)
        while len(rows) and frequent < everything - len(RESERVED):
            frequent = 2 * frequent or FIRST
            log.info("%d sentences have no finished translation; each gets %d frequent words", len(rows), frequent)
            larger = None if frequent >= everything - len(RESERVED) else with_frequent(sets, rows, frequent)
            for row, found in zip(rows, beam_search(network, source.take(rows), settings, larger), strict=True):
                hypotheses[row] = found
            words[rows] = everything if larger is None else larger.sizes
            grown[rows] = True
            rows = _unfinished(hypotheses, rows)
    return Found(hypotheses, words, grown)


def _unfinished(hypotheses: list[list[Hypothesis]], rows: np.ndarray) -> np.ndarray:
    """Those of ``rows`` that have no finished translation."""
    return rows[[not hypotheses[row][0].complete for row in rows]] if len(rows) else rows


def frequent_words(sets: CandidateSets) -> int:
    """K: the number of most frequent words that all sentences have; reserved entries are not counted."""
    ids = sets.common[sets.common >= len(RESERVED)]
    return int(np.count_nonzero(ids == np.arange(len(RESERVED), len(RESERVED) + len(ids))))


def with_frequent(sets: CandidateSets, rows: np.ndarray, count: int) -> CandidateSets:
    """The sets of the sentences ``rows`` (int64), each with the ``count`` most frequent words besides."""
    common = np.union1d(sets.common, frequent_ids(count, sets.size)).astype(np.int32)
    own = sets.own.take(rows)
    kept = ~np.isin(own.values, common)
    offsets = np.concatenate([[0], np.cumsum(kept)])[own.offsets]
    return replace(sets, common=common, own=Ragged(own.values[kept], offsets))
