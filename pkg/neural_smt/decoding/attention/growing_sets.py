"""Target vocabularies that grow where a search ends without a translation (Jean et al. 2015; ``fast_sample.py``)."""

import logging
from dataclasses import replace

import numpy as np

from neural_smt.decoding.attention.batching import plan_batches
from neural_smt.decoding.attention.beam_search import beam_search
from neural_smt.decoding.attention.hypotheses import Found, Hypothesis
from neural_smt.decoding.attention.settings import AttentionDecodingSettings
from neural_smt.io.ragged import Ragged
from neural_smt.networks.attention.network import AttentionNetwork
from neural_smt.vocabulary import RESERVED
from neural_smt.vocabulary_selection.building import frequent_ids
from neural_smt.vocabulary_selection.candidates import CandidateSets

log = logging.getLogger(__name__)

FIRST = 100
"""Frequent words added at first to sets that have none, so that there is something to double."""


def search(
    network: AttentionNetwork,
    source: Ragged,
    settings: AttentionDecodingSettings,
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
