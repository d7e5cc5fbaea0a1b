"""Beam search with an attention network over many sentences side by side, each with its own target vocabulary.

The beam is that of GroundHog: one place less for every translation that is finished. What is found for a sentence does
not depend on the others. Target vocabularies are expanded where a search ends without a translation (Jean et al. 2015;
``fast_sample.py``).

What is written for the unknown words of a translation (Jean et al. 2015, section 4.1; ``replace_UNK.py``): the source
word with the largest attention, the end symbol left out, is copied or looked up:

- heuristic 0: copied;
- heuristic 1: its most probable translation, copied if the dictionary has none;
- heuristic 2: as 1 where it starts with a lowercase letter, copied otherwise.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from neural_smt.decoding.attention.results import Found, Hypothesis, strongest
from neural_smt.decoding.nbest import ListedTranslation
from neural_smt.decoding.scorers.attention import FEATURE, AttentionTextScorer
from neural_smt.decoding.scorers.interface import RankedPredictions, StepScorer
from neural_smt.errors import UserError
from neural_smt.experiment.settings import Settings, section_settings
from neural_smt.experiment.system_folder import System
from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.networks.attention.network import AttentionNetwork
from neural_smt.networks.beams import best_continuations
from neural_smt.networks.device import select_device
from neural_smt.networks.folder import VOCABULARY, Trained
from neural_smt.shards import Shard
from neural_smt.vocabulary import EOS, RESERVED, UNK
from neural_smt.vocabulary_selection.building import Sources, frequent_ids, load_sources
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
    network: AttentionNetwork, source: Ragged, settings: Settings, sets: CandidateSets | None = None
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
            for row, hypotheses in zip(rows, _search(scorer, rows, settings), strict=True):
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

    def finish(self, rows: np.ndarray, totals: np.ndarray, complete: bool, found: list[list[Hypothesis]]) -> None:
        """Add the prefixes ``rows``, whose log p is ``totals``, to what was found for their sentences."""
        for row, total, links in zip(rows, totals, self.links[rows], strict=True):
            hypothesis = Hypothesis(self.words[row], float(total), links[:, 0], links[:, 1], complete)
            found[self.owner[row]].append(hypothesis)

    def extended(self, rows: np.ndarray, words: np.ndarray, totals: np.ndarray, links: np.ndarray) -> "_Beams":
        """The prefixes ``rows``, each with one more of ``words``; links: ``[n, 2]``, of the next word of each."""
        return _Beams(
            self.owner[rows],
            totals,
            np.concatenate((self.words[rows], words[:, None].astype(np.int32)), axis=1),
            np.concatenate((self.links[rows], links[rows, None]), axis=1),
        )


def _search(scorer: StepScorer, rows: np.ndarray, settings: Settings) -> list[list[Hypothesis]]:
    """The translations of each of the sentences ``rows``, which have one word or more each, best first."""
    count, lengths, states = len(rows), scorer.lengths[rows], scorer.start(rows)
    limits = settings.max_length_ratio * lengths + settings.max_length_extra
    places = np.full(count, settings.beam)
    beams = _Beams(np.arange(count), np.zeros(count), np.zeros((count, 0), np.int32), np.zeros((count, 0, 2), np.int64))
    found: list[list[Hypothesis]] = [[] for _ in range(count)]
    step = 0
    while len(beams.owner):
        predictions = cast(RankedPredictions, scorer.predict(states))
        values, words, alphas = predictions.best(settings.beam)
        links = strongest(alphas, lengths[beams.owner])
        rows, chosen, totals = best_continuations(beams.owner, beams.totals, values, words, places)
        ends = chosen == EOS
        beams.finish(rows[ends], totals[ends], True, found)
        places -= np.bincount(beams.owner[rows[ends]], minlength=count)
        full = np.flatnonzero(limits[beams.owner] == step)
        beams.finish(full, beams.totals[full], False, found)
        goes_on = ~ends & (limits[beams.owner[rows]] > step)
        rows, chosen = rows[goes_on], chosen[goes_on]
        if len(rows):
            states = predictions.extend(rows, chosen)
        beams = beams.extended(rows, chosen, totals[goes_on], links)
        step += 1
    return [_best_first(hypotheses, settings.normalise) for hypotheses in found]


def _best_first(hypotheses: list[Hypothesis], normalise: bool) -> list[Hypothesis]:
    """The finished translations of a sentence, or the best of the others."""
    ranked = sorted(hypotheses, key=lambda hypothesis: -hypothesis.ranked_by(normalise))
    finished = [hypothesis for hypothesis in ranked if hypothesis.complete]
    return finished or ranked[:1] or [Hypothesis.nothing(complete=False)]


def search(network: AttentionNetwork, source: Ragged, settings: Settings, sets: CandidateSets | None = None) -> Found:
    """``beam_search``; with ``settings.expand_on_failure``, sentences without a finished translation are searched
    again, with twice as many of the most frequent words, until they have one or had all target words.
    """
    hypotheses = beam_search(network, source, settings, sets)
    everything = network.config.target_words
    if sets is None:
        return Found(hypotheses, np.full(len(source), everything), np.zeros(len(source), dtype=bool))
    words, expanded = sets.sizes.copy(), np.zeros(len(source), dtype=bool)
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
            expanded[rows] = True
            rows = _unfinished(hypotheses, rows)
    return Found(hypotheses, words, expanded)


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
    return replace(sets, common=common, own=Ragged(own.values[kept], offsets_of(kept)[own.offsets]))


@dataclass(frozen=True)
class Translator:
    """model: network and vocabularies; dictionary: what unknown words are replaced by, see ``replacement``."""

    model: Trained[AttentionNetwork]
    settings: Settings
    dictionary: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def load(cls, system: System, device: str) -> "Translator":
        """The network of a system that is one. Raises ``UserError`` where a dictionary is needed and not given."""
        model, values = system.of_network("model"), dict(system["settings"])
        replaced = values.pop("replace_unknown", False)
        settings = section_settings("decoding.attention", values).replace(replace_unknown=replaced)
        loaded = Trained.load(model, AttentionNetwork, select_device(device))
        if not replaced or settings.heuristic == 0:
            return cls(loaded, settings)
        if not system["dictionary"]:
            raise UserError(
                f"{system.file}: heuristic {settings.heuristic} needs a dictionary; write the folder of the system "
                "again, or set decoding.attention.heuristic to 0"
            )
        words = model / f"{VOCABULARY}.target"
        sources = load_sources(network_vocabulary=words, **system["dictionary"])
        return cls(loaded, settings, best_translations(sources))

    def search(self, lines: list[str], sets: CandidateSets | None = None) -> Found:
        """Translations of tokenised sentences."""
        return search(self.model.network, self.model.source.encode_words(lines), self.settings, sets)

    def tokens(self, hypothesis: Hypothesis, source: Sequence[str]) -> list[str]:
        """The words of a translation of ``source``, unknown ones (``<unk>``) replaced if the settings say so."""
        words = [self.model.target.words[word] for word in hypothesis.words.tolist()]
        if self.settings.replace_unknown:
            for position in np.flatnonzero(hypothesis.words == UNK):
                looked_at = source[hypothesis.aligned[position]]
                words[position] = replacement(looked_at, self.settings.heuristic, self.dictionary)
        return words

    def listed(self, sentence: int, hypothesis: Hypothesis, source: Sequence[str]) -> ListedTranslation:
        """A translation as a line of an n-best list; its total is what the list is ordered by."""
        total = hypothesis.ranked_by(self.settings.normalise)
        return ListedTranslation(sentence, self.tokens(hypothesis, source), {FEATURE: [hypothesis.score]}, total)


def best_translations(sources: Sources) -> dict[str, str]:
    """The target word with the largest w(t|s) of each source word that has one, ties by id, network's or not."""
    assert sources.lexical is not None
    ranked = sources.lexical.top_translations(1 + len(RESERVED))
    found = {}
    for source, words in zip(sources.source.words, ranked, strict=True):
        known = [word for word in words.tolist() if word >= len(RESERVED)]
        if known and source not in RESERVED:
            found[source] = sources.target.words[known[0]]
    return found


def replacement(word: str, heuristic: int, dictionary: Mapping[str, str]) -> str:
    """What is written for an unknown word that looks at the source word ``word``."""
    if heuristic == 1 or (heuristic == 2 and word[0].islower()):
        return dictionary.get(word, word)
    return word
