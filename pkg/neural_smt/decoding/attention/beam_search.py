"""Beam search with an attention network over many sentences side by side, each with its own target vocabulary.

The beam is that of GroundHog: one place less for every translation that is finished. What is found for a sentence does
not depend on the others.
"""

from dataclasses import dataclass

import numpy as np
import torch

from neural_smt.decoding.attention.batching import plan_batches
from neural_smt.decoding.attention.hypotheses import Hypothesis, strongest
from neural_smt.decoding.attention.outputs import OutputWords
from neural_smt.decoding.attention.sentences import SentenceBatch
from neural_smt.decoding.attention.settings import AttentionDecodingSettings
from neural_smt.io.ragged import Ragged
from neural_smt.networks.attention.network import AttentionNetwork
from neural_smt.networks.beams import best_continuations
from neural_smt.networks.device import precision_context
from neural_smt.vocabulary import EOS
from neural_smt.vocabulary_selection.candidates import CandidateSets


def beam_search(
    network: AttentionNetwork,
    source: Ragged,
    settings: AttentionDecodingSettings | None = None,
    sets: CandidateSets | None = None,
) -> list[list[Hypothesis]]:
    """Translations of each sentence of ``source`` (int32 ids without end symbols), best first: at least 1, at most
    ``beam`` of each.

    sets: the target words of each sentence, UNK and EOS among them; None: all target words. A sentence that does not
    end within its limit gets the best that was not finished (``complete`` is false), a sentence without words none.
    """
    settings = settings or AttentionDecodingSettings()
    found = [[Hypothesis.nothing(complete=True)] for _ in range(len(source))]
    with torch.no_grad(), precision_context(network.output.weight.device, settings.precision):
        for rows in plan_batches(source.lengths, settings.batch):
            output = OutputWords.of(network.output, rows, sets, settings.unknown)
            for row, hypotheses in zip(rows, _Search(network, source.take(rows), output, settings).run(), strict=True):
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

    def __init__(
        self,
        network: AttentionNetwork,
        source: Ragged,
        output: OutputWords,
        settings: AttentionDecodingSettings,
    ):
        self.network, self.settings = network, settings
        self.sentences = SentenceBatch(network, source, output)
        self.states = self.sentences.initial
        self.lengths = source.lengths
        self.limits = settings.max_length_ratio * self.lengths + settings.max_length_extra
        self.places = np.full(len(source), settings.beam)

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
        sentences = self.sentences
        groups = sentences.groups(beams.owner)
        previous = None if step == 0 else sentences.tensor(beams.words[:, -1])
        inner, contexts, alphas = self.network.look(self.states, previous, sentences.memory, groups)
        values, words = (part.cpu().numpy() for part in sentences.output.best(inner, groups, self.settings.beam))
        links = strongest(alphas.cpu().numpy(), self.lengths[beams.owner])
        rows, chosen, totals = best_continuations(
            beams.owner, beams.totals, values.astype(np.float64), words, self.places
        )
        ends = chosen == EOS
        found += beams.hypotheses(rows[ends], totals[ends], complete=True)
        self.places -= np.bincount(beams.owner[rows[ends]], minlength=len(self.places))
        full = np.flatnonzero(self.limits[beams.owner] == step)
        found += beams.hypotheses(full, beams.totals[full], complete=False)
        goes_on = ~ends & (self.limits[beams.owner[rows]] > step)
        rows, chosen = rows[goes_on], chosen[goes_on]
        if len(rows):
            parents = sentences.tensor(rows)
            self.states = self.network.advance(self.states[parents], sentences.tensor(chosen), contexts[parents])
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
