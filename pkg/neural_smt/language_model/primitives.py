"""Queries of the n-gram automaton, for kernels of every stage. Log10 throughout, as in ARPA files."""

from typing import Annotated, NamedTuple

import numpy as np

from neural_smt.jit import kernel, leaf, mix
from neural_smt.vocabulary import EOS, UNK

ARC = np.dtype([("key", np.uint64), ("log10_prob", np.float32), ("next_state", np.int32)])
"""One slot of the hash table, 16 bytes so that a query touches one cache line."""

CONTEXT = np.dtype([("followers", np.uint64), ("backoff", np.float32), ("suffix", np.int32)])
"""What a query needs of a state, 16 bytes. followers: bit i is set where a word of number i modulo 64 follows in an
n-gram, so most words that do not follow need no look into the hash table; backoff: log10 of the back-off weight;
suffix: the state that backing off leads to.
"""

EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
"""The key of a slot that holds nothing."""


class CodedArcs(NamedTuple):
    """The arcs of a quantised model, in place of a hash table: those of a state stand together, by rising word.

    N-grams are numbered in sorted order, order 2 first: that is the number of an arc, and below the highest order an
    arc leads to the state of its n-gram, whose number is the arc's and that of states before.
    first: a state's first arc; suffix: the state that backing off leads to; unigram_backoff: log10 of the back-off
    weights of the states up to the unigrams; backoff_codes: of those after these, 0 for a weight of log10 0 alone.
    highest_state: where the arcs of the highest order lead.
    order_starts: [orders], the first arc of order 2, 3, ..., and the number of arcs.
    prob_centres, backoff_centres: [orders - 1, 256], log10 that a code stands for, by order (2, 3, ...).
    """

    words: Annotated[np.ndarray, "int32 [arcs] < words"]
    first: Annotated[np.ndarray, "uint32 [states+1] to arcs"]
    suffix: Annotated[np.ndarray, "int32 [states] < states"]
    unigram_backoff: Annotated[np.ndarray, "float32 [weights] any"]
    prob_codes: Annotated[np.ndarray, "uint8 [arcs]"]
    backoff_codes: Annotated[np.ndarray, "uint8 [inner]"]
    highest_state: Annotated[np.ndarray, "int32 [highest] < states"]
    order_starts: Annotated[np.ndarray, "int64 [orders] to arcs"]
    prob_centres: Annotated[np.ndarray, "float32 [longer, 256] any"]
    backoff_centres: Annotated[np.ndarray, "float32 [longer, 256] any"]


class Automaton(NamedTuple):
    """A back-off n-gram model as an automaton. A state is one int32, the number of a context; 0 is the empty context.

    arcs: ``ARC`` [slots], slots a power of two: open addressing with linear probing, key = state << 32 | word.
        An arc is an n-gram of order 2 or more; ``next_state`` is the longest suffix of it that matters as a context.
    lexicon: int32 [words], the word itself, or ``UNK`` when the model does not know it.
    unigram_log10: float32 [words]; unigram_state: int32 [words]: the arcs of the empty context.
    contexts: ``CONTEXT`` [states].
    begin: int32, the state after ``<s>``.
    coded: the arcs and states of a quantised model, where ``arcs`` and ``contexts`` are empty. All its arrays are empty
        in an exact model.
    """

    arcs: np.ndarray
    lexicon: np.ndarray
    unigram_log10: np.ndarray
    unigram_state: np.ndarray
    contexts: np.ndarray
    begin: np.int32
    coded: CodedArcs


@leaf
def arc_key(state: int, word: int) -> np.uint64:
    """The hash key of ``word`` after ``state``."""
    return (np.uint64(state) << np.uint64(32)) | np.uint64(word)


@leaf
def follower_bit(word: int) -> np.uint64:
    """The bit of a word in ``CONTEXT.followers``."""
    return np.uint64(1) << np.uint64(word & 63)


@leaf
def find_arc(arcs: np.ndarray, state: int, word: int) -> int:
    """Slot of the arc of ``word`` out of ``state``, or -1."""
    key = arc_key(state, word)
    mask = np.uint64(len(arcs) - 1)
    slot = mix(key) & mask
    while True:
        found = arcs[slot].key
        if found == key:
            return np.int64(slot)
        if found == EMPTY:
            return np.int64(-1)
        slot = (slot + np.uint64(1)) & mask


@leaf
def find_coded_arc(coded: CodedArcs, state: int, word: int) -> int:
    """Number of the arc of ``word`` out of ``state``, or -1."""
    low = np.int64(coded.first[state])
    end = np.int64(coded.first[state + 1])
    end = min(end, low + word + 1)  # no more than ``word`` words are smaller
    high = end
    while low < high:
        middle = (low + high) >> 1
        if coded.words[middle] < word:
            low = middle + 1
        else:
            high = middle
    return low if low < end and coded.words[low] == word else np.int64(-1)


@leaf
def coded_log10_prob(coded: CodedArcs, arc: int) -> float:
    """log10 of the probability that the code of an arc stands for."""
    order = 0
    while arc >= coded.order_starts[order + 1]:
        order += 1
    return np.float64(coded.prob_centres[order, coded.prob_codes[arc]])


@leaf
def log10_backoff(model: Automaton, state: int) -> float:
    """log10 of the back-off weight of a state."""
    if len(model.contexts) > 0:
        return np.float64(model.contexts[state].backoff)
    coded = model.coded
    arc = state - len(coded.unigram_backoff)  # the one that leads to the state
    if arc < 0:
        return np.float64(coded.unigram_backoff[state])
    order = 0
    while arc >= coded.order_starts[order + 1]:
        order += 1
    return np.float64(coded.backoff_centres[order, coded.backoff_codes[arc]])


@leaf
def shorter_state(model: Automaton, state: int) -> int:
    """The state that backing off leads to, which has a smaller number."""
    if len(model.contexts) > 0:
        return np.int64(model.contexts[state].suffix)
    return np.int64(model.coded.suffix[state])


@leaf
def _coded_next_state(coded: CodedArcs, arc: int) -> int:
    """The state that an arc leads to: the longest suffix of its n-gram that matters as a context."""
    highest = len(coded.words) - len(coded.highest_state)
    if arc >= highest:
        return np.int64(coded.highest_state[arc - highest])
    state = np.int64(arc + len(coded.unigram_backoff))
    if coded.first[state + 1] > coded.first[state] or coded.backoff_codes[arc] != 0:
        return state
    return np.int64(coded.suffix[state])


@leaf
def _score_coded(model: Automaton, state: int, word: int) -> tuple[float, int]:
    log10_prob = 0.0
    while state != 0:
        arc = find_coded_arc(model.coded, state, word)
        if arc >= 0:
            return log10_prob + coded_log10_prob(model.coded, arc), _coded_next_state(model.coded, arc)
        log10_prob += log10_backoff(model, state)
        state = np.int64(model.coded.suffix[state])
    return log10_prob + model.unigram_log10[word], np.int64(model.unigram_state[word])


@leaf
def known_word(model: Automaton, word: int) -> int:
    """``word``, or ``UNK`` for what the model does not know (absent, out of range, or ``<s>``)."""
    if word < 0 or word >= len(model.lexicon):
        return np.int64(UNK)
    return np.int64(model.lexicon[word])


@leaf(forceinline=True)  # a call would pass each field of each array of the model
def score_word(model: Automaton, state: int, word: int) -> tuple[float, int]:
    """log10 p(word | state) and the next state; a word the model does not know is scored as ``<unk>``."""
    word = known_word(model, word)
    log10_prob = 0.0
    state = np.int64(state)
    if len(model.arcs) == 0:
        return _score_coded(model, state, word)
    while state != 0:
        context = model.contexts[np.uint32(state)]
        if context.followers & follower_bit(word):
            slot = find_arc(model.arcs, state, word)
            if slot >= 0:
                return log10_prob + model.arcs[slot].log10_prob, np.int64(model.arcs[slot].next_state)
        log10_prob += context.backoff
        state = np.int64(context.suffix)
    return log10_prob + model.unigram_log10[word], np.int64(model.unigram_state[word])


@kernel
def score_sentences(
    model: Automaton, values: np.ndarray, offsets: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Score whole sentences, each from ``<s>`` to ``</s>``.

    values, offsets: a ``Ragged`` of word ids without boundaries. Returns log10 probabilities including ``</s>``
    (float64 [n]), the numbers of unknown words (int64 [n]) and the share of the log10 that those words
    caused (float64 [n]).
    """
    sentences = len(offsets) - 1
    totals = np.zeros(sentences)
    unknown = np.zeros(sentences, dtype=np.int64)
    unknown_totals = np.zeros(sentences)
    for sentence in range(sentences):
        state = np.int64(model.begin)
        for position in range(offsets[sentence], offsets[sentence + 1]):
            word = values[position]
            log10_prob, state = score_word(model, state, word)
            totals[sentence] += log10_prob
            if known_word(model, word) == UNK:
                unknown[sentence] += 1
                unknown_totals[sentence] += log10_prob
        totals[sentence] += score_word(model, state, EOS)[0]
    return totals, unknown, unknown_totals
