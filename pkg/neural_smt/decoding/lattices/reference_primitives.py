"""The n-grams of a reference as an automaton that reads a translation word by word."""

from typing import NamedTuple

import numpy as np

from neural_smt.bleu_primitives import ORDER
from neural_smt.jit import kernel


class ReferenceAutomaton(NamedTuple):
    """One state per distinct n-gram (orders 1 to 4) of a reference; 0 is the empty one. G states, V distinct words.

    words: int32 ``[V]``, sorted ids; successor: int32 ``[G, V + 1]``: after a state and a word (column V: any word that
    is not in the reference), the longest n-gram of the reference that ends there; suffix: int32 ``[G]``, the n-gram
    without its first word; order, count: int32 ``[G]``, its words, and how often the reference holds it; context: int32
    ``[G]``, what the future depends on: the state itself, or its suffix at the highest order.
    """

    words: np.ndarray
    successor: np.ndarray
    suffix: np.ndarray
    order: np.ndarray
    count: np.ndarray
    context: np.ndarray


@kernel
def build_automaton(reference: np.ndarray) -> ReferenceAutomaton:
    """The automaton (Aho and Corasick 1975) of a reference, int32 ids."""
    words = np.unique(reference)
    most = 1 + ORDER * len(reference)
    child = np.full((most, len(words) + 1), -1, dtype=np.int32)
    order, count = np.zeros(most, dtype=np.int32), np.zeros(most, dtype=np.int32)
    parent, last = np.zeros(most, dtype=np.int32), np.zeros(most, dtype=np.int32)
    states = 1
    for n in range(1, ORDER + 1):  # shorter n-grams get lower numbers
        for start in range(len(reference) - n + 1):
            state = np.int64(0)
            for position in range(start, start + n - 1):
                state = np.int64(child[state, np.searchsorted(words, reference[position])])
            word = np.searchsorted(words, reference[start + n - 1])
            if child[state, word] < 0:
                child[state, word] = states
                parent[states], last[states], order[states] = state, word, n
                states += 1
            count[child[state, word]] += 1
    suffix = np.zeros(states, dtype=np.int32)
    successor = np.zeros((states, len(words) + 1), dtype=np.int32)
    for state in range(states):
        if order[state] > 1:
            suffix[state] = successor[suffix[parent[state]], last[state]]
        for word in range(len(words)):
            if child[state, word] >= 0:
                successor[state, word] = child[state, word]
            elif state > 0:
                successor[state, word] = successor[suffix[state], word]
    context = np.arange(states).astype(np.int32)
    for state in range(states):
        if order[state] == ORDER:
            context[state] = suffix[state]
    return ReferenceAutomaton(words, successor, suffix, order[:states].copy(), count[:states].copy(), context)


@kernel
def column(words: np.ndarray, word: int) -> int:
    """The column of ``successor`` that a word id reads."""
    place = np.searchsorted(words, word)
    return place if place < len(words) and words[place] == word else len(words)
