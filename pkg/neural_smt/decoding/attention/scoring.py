"""log p(target | source) of translations that are given: each sentence's as a tree of prefixes.

Translations in a list begin alike. What the network computes after a prefix serves all that go on from it: in lists of
100 of a phrase-based system, two prefixes of five are distinct.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch

from neural_smt.decoding.attention.outputs import OutputWords
from neural_smt.decoding.attention.sentences import SentenceBatch
from neural_smt.io.ragged import Ragged
from neural_smt.networks.attention.network import AttentionNetwork
from neural_smt.networks.chosen_logits import choose_logits
from neural_smt.networks.device import precision_context
from neural_smt.rescoring.trie import Level, SortedSequences
from neural_smt.vocabulary import EOS
from neural_smt.vocabulary_selection.candidates import CandidateSets

WORDS = 1 << 14
"""Target words of a batch, end symbols included."""

SENTENCES = 64
"""Source sentences of a batch: each has its own rows of the output layer, gathered."""


def score_candidates(
    network: AttentionNetwork,
    source: Ragged,
    targets: Ragged,
    owner: np.ndarray,
    sets: CandidateSets | None = None,
    *,
    precision: str = "fp32",
    words: int = WORDS,
) -> np.ndarray:
    """float64 ``[n]``: natural log p of n translations, their end symbols included.

    source, targets: int32 ids without end symbols; owner: int64 ``[n]``, the sentence of each translation; sets: the
    target words of each sentence, those of its translations among them (``with_words``); None: all target words;
    words: at most so many target words go through the network together, but at least one translation. Scores do not
    depend on it, nor on the order; equal translations that go together are scored once.
    """
    order = np.lexsort((owner, source.lengths[owner]))
    scores = np.empty(len(order))
    with torch.no_grad(), precision_context(network.output.weight.device, precision):
        for start, stop in _batches(owner[order], targets.lengths[order] + 1, words):
            rows = order[start:stop]
            sentences, places = np.unique(owner[rows], return_inverse=True)
            output = OutputWords.of(network.output, sentences, sets, unknown=True)
            batch = SentenceBatch(network, source.take(sentences), output)
            sequences = SortedSequences.of(targets.take(rows), places)
            scores[rows] = _score(network, batch, sequences.levels(0, len(sequences)))[sequences.row_of]
    return scores


def with_words(sets: CandidateSets, targets: Ragged, owner: np.ndarray) -> CandidateSets:
    """The sets, each with all words of the translations of its sentence besides (int64 ``[n]``: owner)."""
    sentences = np.concatenate([np.repeat(np.arange(len(sets)), sets.own.lengths), np.repeat(owner, targets.lengths)])
    ids = np.concatenate([sets.own.values, targets.values]).astype(np.int64)
    kept = ~np.isin(ids, sets.common)
    places = np.unique(sentences[kept] * sets.size + ids[kept])
    offsets = np.searchsorted(places, np.arange(len(sets) + 1) * sets.size)
    return replace(sets, own=Ragged((places % sets.size).astype(np.int32), offsets))


def _batches(owner: np.ndarray, lengths: np.ndarray, words: int) -> Iterator[tuple[int, int]]:
    """Where batches start and stop: within both limits."""
    ends = np.cumsum(lengths)
    sentence = np.cumsum(np.diff(owner, prepend=-1) != 0)
    start = 0
    while start < len(owner):
        stop = np.searchsorted(ends, ends[start] - lengths[start] + words, side="right")
        stop = min(stop, np.searchsorted(sentence, sentence[start] + SENTENCES))
        stop = max(int(stop), start + 1)
        yield start, stop
        start = stop


def _score(network: AttentionNetwork, batch: SentenceBatch, levels: list[Level]) -> np.ndarray:
    """float64 ``[rows]``: log p of the sequences of a tree whose first level is the sentences of the batch."""
    weight, bias = network.output.weight, network.output.bias
    scores = np.empty(sum(len(level.rows) for level in levels))
    states, previous = batch.initial, None
    # Of the prefixes that have been come to: their sentence, log p, and whether they go on.
    owner = levels[0].symbols.astype(np.int64)
    totals, goes_on = np.zeros(len(owner)), np.ones(len(owner), dtype=bool)
    for level in levels[1:]:
        groups = batch.groups(owner)
        inner, contexts, _ = network.look(states, previous, batch.memory, groups)
        # Prefixes that have ended stand among the nodes of a level, but have no row of the network's.
        parents = (np.cumsum(goes_on) - 1)[level.parents]
        numbers, words = batch.tensor(parents), batch.tensor(level.symbols)
        normalisers = batch.output.log_normalisers(inner, groups)[numbers]
        found = choose_logits(inner, weight, bias, numbers, words) - normalisers
        totals = totals[level.parents] + found.cpu().numpy()
        scores[level.rows] = totals[level.ends]
        goes_on = level.symbols != EOS
        if goes_on.any():
            owner, kept = owner[parents[goes_on]], batch.tensor(np.flatnonzero(goes_on))
            rows, previous = numbers[kept], words[kept]
            states = network.advance(states[rows], previous, contexts[rows])
    return scores
