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
from neural_smt.networks.attention.network import AttentionNetwork
from neural_smt.networks.chosen_logits import choose_logits
from neural_smt.networks.device import precision_context
from neural_smt.ragged import Ragged
from neural_smt.vocabularies.candidates import CandidateSets
from neural_smt.vocabulary import EOS

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
    depend on it, nor on the order; equal translations of a sentence are scored once.
    """
    order, number = _distinct(source.lengths, targets, owner)
    scores = np.empty(len(order))
    with torch.no_grad(), precision_context(network.output.weight.device, precision):
        for start, stop in _batches(owner[order], targets.lengths[order] + 1, words):
            rows = order[start:stop]
            sentences, places = np.unique(owner[rows], return_inverse=True)
            by_sentence = np.argsort(places, kind="stable")
            output = OutputWords.of(network.output, sentences, sets, unknown=True)
            batch = SentenceBatch(network, source.take(sentences), output)
            found = _score(network, batch, targets.take(rows[by_sentence]), places[by_sentence])
            scores[start + by_sentence] = found
    return scores[number]


def with_words(sets: CandidateSets, targets: Ragged, owner: np.ndarray) -> CandidateSets:
    """The sets, each with all words of the translations of its sentence besides (int64 ``[n]``: owner)."""
    sentences = np.concatenate([np.repeat(np.arange(len(sets)), sets.own.lengths), np.repeat(owner, targets.lengths)])
    ids = np.concatenate([sets.own.values, targets.values]).astype(np.int64)
    kept = ~np.isin(ids, sets.common)
    places = np.unique(sentences[kept] * sets.size + ids[kept])
    offsets = np.searchsorted(places, np.arange(len(sets) + 1) * sets.size)
    return replace(sets, own=Ragged((places % sets.size).astype(np.int32), offsets))


def _distinct(lengths: np.ndarray, targets: Ragged, owner: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """int64: one of each kind of translation, and int64 ``[n]``, which of these each translation is like.

    They come by the length of their source, then by sentence, and those that begin alike together.
    """
    keys = [(lengths[o], o, ids.tobytes()) for o, ids in zip(owner.tolist(), targets, strict=True)]
    ranked = sorted(range(len(keys)), key=keys.__getitem__)
    order, number = [], np.empty(len(keys), dtype=np.int64)
    for row in ranked:
        if not order or keys[row] != keys[order[-1]]:
            order.append(row)
        number[row] = len(order) - 1
    return np.array(order, dtype=np.int64), number


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


def _score(network: AttentionNetwork, batch: SentenceBatch, targets: Ragged, owner: np.ndarray) -> np.ndarray:
    """float64 ``[n]``: log p of the translations of the sentences of a batch; owner: rising."""
    size, totals = network.config.target_words, np.zeros(len(owner))
    states, previous, weight = batch.initial, None, network.output
    # The translations that go on, and the prefix that each has come to; at first that is the sentence.
    alive, prefix = np.arange(len(owner)), owner
    owners = np.arange(len(batch.initial))
    for step in range(int(targets.lengths.max()) + 1):
        groups = batch.groups(owners)
        inner, contexts, _ = network.look(states, previous, batch.memory, groups)
        ends = targets.lengths[alive] == step
        words = np.full(len(alive), EOS, dtype=np.int64)
        words[~ends] = targets.values[targets.offsets[alive[~ends]] + step]
        branches, branch = np.unique(prefix * size + words, return_inverse=True)
        parents, chosen = batch.tensor(branches // size), batch.tensor(branches % size)
        logits = choose_logits(inner, weight.weight, weight.bias, parents, chosen)
        scores = logits - batch.output.log_normalisers(inner, groups)[parents]
        totals[alive] += scores.cpu().numpy().astype(np.float64)[branch]
        goes_on = branches % size != EOS
        alive, branch = alive[~ends], branch[~ends]
        if not len(alive):
            break
        prefix = (np.cumsum(goes_on) - 1)[branch]
        kept = batch.tensor(np.flatnonzero(goes_on))
        owners = owners[branches[goes_on] // size]
        parents, previous = parents[kept], chosen[kept]
        states = network.advance(states[parents], previous, contexts[parents])
    return totals
