"""A language model in little memory: codes of 8 bits for scores, and sorted arcs in place of a hash table.

The codes are those of ``quantisation``. The n-grams of an order are the arcs of the automaton in sorted order, so an
arc needs no key but its word, and only those of the highest order say where they lead. Below it an n-gram takes 14
bytes, at the highest order 9.
"""

from collections.abc import Sequence

import numpy as np

from neural_smt.errors import UserError
from neural_smt.jit import kernel
from neural_smt.language_model.automaton import (
    FAULTS,
    LINKED,
    NO_CONTEXT,
    NO_UNIGRAM,
    TWICE,
    NgramError,
    assemble,
    minimise,
    unigram_nodes,
    with_unknown,
)
from neural_smt.language_model.ngrams import NgramTable
from neural_smt.language_model.primitives import ARC, Automaton, CodedArcs, find_coded_arc
from neural_smt.language_model.quantisation import CODES, choose_centres, encode

BITS = 8
"""Of the code of a probability, and of that of a back-off weight."""

_LARGEST = np.iinfo(np.int32).max


def build_coded_automaton(tables: Sequence[NgramTable], vocabulary_size: int) -> Automaton:
    """Link n-grams of orders 1, 2, ... into a quantised automaton, with the states of ``build_automaton``.

    States have the numbers they have there when the tables are sorted by words; others are sorted here. Unigrams keep
    their scores. Raises ``NgramError`` as ``build_automaton`` does, ``UserError`` for more than 2^31 - 1 n-grams.
    """
    tables = [_sorted(table) for table in (with_unknown(tables[0]), *tables[1:])]
    node_of = unigram_nodes(tables[0], vocabulary_size)
    unigram_backoff = np.concatenate([np.zeros(1, np.float32), tables[0].backoff])
    coded, suffix = _link(tables, node_of)
    matters = coded.first[1:] > coded.first[:-1]
    matters[: len(unigram_backoff)] |= unigram_backoff != 0
    matters[len(unigram_backoff) :] |= coded.backoff_codes != 0
    state = minimise(suffix, matters)
    coded.highest_state[:] = state[coded.highest_state]
    no_arcs = np.zeros(0, dtype=ARC)
    return assemble(tables[0], node_of, state, arcs=no_arcs, backoff=unigram_backoff, suffix=state[suffix], coded=coded)


def _sorted(table: NgramTable) -> NgramTable:
    """The table by rising words."""
    words = np.ascontiguousarray(table.words)
    if rises(words):
        return NgramTable(words, table.log10_prob, table.backoff)
    by_words = np.lexsort(words.T[::-1])
    return NgramTable(words[by_words], table.log10_prob[by_words], table.backoff[by_words])


def _link(tables: Sequence[NgramTable], node_of: np.ndarray) -> tuple[CodedArcs, np.ndarray]:
    """The arcs, whose ``highest_state`` are still nodes, and the suffix of each node (int32)."""
    longer = tables[1:]
    starts = np.cumsum([0, *(len(table) for table in longer)])
    arcs, inner = int(starts[-1]), int(starts[max(len(longer) - 1, 0)])  # inner: those below the highest order
    unigrams = len(tables[0]) + 1
    if arcs + unigrams > _LARGEST:
        raise UserError(f"language model: more than {_LARGEST} n-grams; prune more, or give less text")
    first = np.zeros(unigrams + inner + 1, dtype=np.uint32)
    suffix = np.zeros(unigrams + inner, dtype=np.int32)
    centres = np.zeros((2, max(len(longer), 1), CODES), dtype=np.float32)
    coded = CodedArcs(
        words=np.empty(arcs, dtype=np.int32),
        first=first,
        prob_codes=np.empty(arcs, dtype=np.uint8),
        backoff_codes=np.empty(inner, dtype=np.uint8),
        highest_state=np.empty(arcs - inner, dtype=np.int32),
        order_starts=starts,
        prob_centres=centres[0],
        backoff_centres=centres[1],
    )
    node = 1  # the first of the order below
    for number, table in enumerate(longer):
        start, stop = int(starts[number]), int(starts[number + 1])
        centres[0, number] = choose_centres(table.log10_prob)
        encode(table.log10_prob, centres[0, number], coded.prob_codes[start:stop])
        if stop <= inner:
            centres[1, number] = choose_centres(table.backoff, zero=True)
            encode(table.backoff, centres[1, number], coded.backoff_codes[start:stop], zero=True)
        fault, row = link_order(table.words, start, unigrams, stop <= inner, node, node_of, coded, suffix)
        if fault != LINKED:
            raise NgramError(table.words[row].tolist(), FAULTS[fault])
        node = unigrams + start
    return coded, suffix


@kernel
def rises(words: np.ndarray) -> bool:
    """Whether no row is smaller than the one before (int32 ``[rows, order]``)."""
    for row in range(1, len(words)):
        for i in range(words.shape[1]):
            if words[row, i] != words[row - 1, i]:
                if words[row, i] < words[row - 1, i]:
                    return False
                break
    return True


@kernel
def link_order(
    words: np.ndarray,
    start: int,
    unigrams: int,
    inner: bool,
    below: int,
    node_of: np.ndarray,
    coded: CodedArcs,
    suffix: np.ndarray,
) -> tuple[int, int]:
    """Fill in the arcs of one order, whose rows are sorted, from number ``start`` on.

    unigrams: nodes of the empty n-gram and of the unigrams; inner: whether the order is below the highest;
    below: the first node of the order below.
    """
    rows, order = words.shape
    context = np.int64(0)
    filled = np.int64(below)  # nodes whose first arc is known
    for row in range(rows):
        same = row > 0
        for i in range(order - 1):
            same = same and words[row, i] == words[row - 1, i]
        if not same:
            context = np.int64(node_of[words[row, 0]])
            for i in range(1, order - 1):
                arc = find_coded_arc(coded, context, words[row, i]) if context >= 0 else np.int64(-1)
                context = arc + unigrams if arc >= 0 else np.int64(-1)
            if context < 0:
                return NO_CONTEXT, row
            while filled <= context:
                coded.first[filled] = start + row
                filled += 1
        word = words[row, order - 1]
        if node_of[word] < 0:
            return NO_UNIGRAM, row
        if same and word == words[row - 1, order - 1]:
            return TWICE, row

        link = np.int64(suffix[context])
        arc = np.int64(-1)
        while link != 0:
            arc = find_coded_arc(coded, link, word)
            if arc >= 0:
                break
            link = np.int64(suffix[link])
        link = arc + unigrams if link != 0 else np.int64(node_of[word])
        coded.words[start + row] = word
        if inner:
            suffix[unigrams + start + row] = link
        else:
            coded.highest_state[row] = link
    while filled <= unigrams + start:  # the node after the last one of the order below
        coded.first[filled] = start + rows
        filled += 1
    return LINKED, 0
