"""What a back-off model says of words after given words: scores of single n-grams, and the mass of a set of words."""

import numpy as np

from neural_smt.jit import kernel
from neural_smt.language_model.model import NgramModel
from neural_smt.language_model.primitives import EMPTY, Automaton, coded_log10_prob, log10_backoff, score_word
from neural_smt.vocabulary import BOS


def context_states(model: NgramModel, contexts: np.ndarray) -> np.ndarray:
    """int32 ``[Q]``: the state after the words of each context, int32 ``[Q, history]`` (``BOS`` before a sentence)."""
    return _context_states(model.arrays, np.ascontiguousarray(contexts, dtype=np.int32), model.order - 1)


def score_ngrams(model: NgramModel, contexts: np.ndarray, words: np.ndarray) -> np.ndarray:
    """float64 ``[Q]``: log10 p(word | context), with all the context that the model can use.

    contexts: int32 ``[Q, history]``, oldest word first, ``BOS`` at the start of a sentence and before it; words: int32
    ``[Q]``, ``EOS`` for the end. Ids that the model does not know, beyond the vocabulary too, are ``<unk>``.
    """
    states = context_states(model, contexts)
    return _score_words(model.arrays, states, np.ascontiguousarray(words, dtype=np.int32))


def word_mass(model: NgramModel, words: np.ndarray) -> np.ndarray:
    """float64 ``[states]``: the sum of p(word | state) over ``words`` (int ids, each counted as often as it stands).

    A state's sum is that of the words it has n-grams with, and what backing off gives to the others: all that the
    shorter state gives, less its share of the words that have n-grams. One pass over the model, one query per n-gram.
    """
    known = model.arrays.lexicon[np.asarray(words)]
    counts = np.bincount(known, minlength=len(model.arrays.lexicon)).astype(np.float64)
    return _word_mass(model.arrays, counts)


@kernel
def _context_states(model: Automaton, contexts: np.ndarray, longest: int) -> np.ndarray:
    count, history = contexts.shape
    states = np.empty(count, dtype=np.int32)
    for row in range(count):
        state = np.int64(0)
        for column in range(max(0, history - longest), history):
            if contexts[row, column] == BOS:
                state = np.int64(model.begin)
            else:
                _, state = score_word(model, state, contexts[row, column])
        states[row] = state
    return states


@kernel
def _score_words(model: Automaton, states: np.ndarray, words: np.ndarray) -> np.ndarray:
    scores = np.empty(len(words))
    for row in range(len(words)):
        scores[row] = score_word(model, np.int64(states[row]), words[row])[0]
    return scores


@kernel
def _word_mass(model: Automaton, counts: np.ndarray) -> np.ndarray:
    """counts: float64 [words], how often each word that the model knows is counted."""
    states = len(model.suffix)
    inside, shared = np.zeros(states), np.zeros(states)
    coded = model.coded
    for state in range(1, len(coded.first) - 1):
        for arc in range(np.int64(coded.first[state]), np.int64(coded.first[state + 1])):
            word = np.int64(coded.words[arc])
            if counts[word] > 0:
                inside[state] += counts[word] * 10.0 ** coded_log10_prob(coded, arc)
                shared[state] += counts[word] * 10.0 ** score_word(model, np.int64(model.suffix[state]), word)[0]
    for slot in range(len(model.arcs)):
        key = model.arcs[slot].key
        if key == EMPTY:
            continue
        state, word = np.int64(key >> np.uint64(32)), np.int64(key & np.uint64(0xFFFFFFFF))
        if counts[word] > 0:
            inside[state] += counts[word] * 10.0 ** model.arcs[slot].log10_prob
            shared[state] += counts[word] * 10.0 ** score_word(model, np.int64(model.suffix[state]), word)[0]
    mass = np.zeros(states)
    for word in range(len(counts)):
        mass[0] += counts[word] * 10.0 ** model.unigram_log10[word]
    for state in range(1, states):  # a suffix has a smaller number than the state
        mass[state] = inside[state] + 10.0 ** log10_backoff(model, state) * (mass[model.suffix[state]] - shared[state])
    return mass
