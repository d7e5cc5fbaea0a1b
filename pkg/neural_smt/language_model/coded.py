"""A language model in little memory: codes of 8 bits for scores, and sorted arcs in place of a hash table.

Codes are of bins that each stand for the mean of what they hold, as KenLM's (Heafield 2011). KenLM's bins have equal
population, so the few scores far from the others share wide bins. Those are scores of n-grams that are often asked for:
on news, perplexity rises by half as much when the range of scores is divided evenly, which is done here (gaps, where no
score lies, left out).

The n-grams of an order are the arcs of the automaton in sorted order, so an
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

BITS = 8
"""Of the code of a probability, and of that of a back-off weight."""

_LARGEST = np.iinfo(np.int32).max

CODES = 256

_CELLS = 1 << 16
"""Into which the range of the scores is cut: a bin is as many cells that hold a score as any other."""

_ROWS = 1 << 20
"""Scores that are worked on at a time."""


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


def choose_centres(scores: np.ndarray, zero: bool = False) -> np.ndarray:
    """float32 ``[256]``, rising: what each code stands for, given all scores (float32 ``[n]``, finite).

    zero: code 0 stands for exactly 0, and the others for scores that are not 0, rising from code 1 on. Codes that are
    left over stand for the last centre again. Up to 256 cells that hold a score have a code each.
    """
    codes = CODES - zero
    low, high = _range(scores, zero)
    counts, sums = np.zeros(_CELLS, dtype=np.int64), np.zeros(_CELLS)
    for start in range(0, len(scores), _ROWS):
        part = _taken(scores[start : start + _ROWS], zero)
        cell = _cells(part, low, high)
        counts += np.bincount(cell, minlength=_CELLS)
        sums += np.bincount(cell, weights=part, minlength=_CELLS)
    held = np.flatnonzero(counts)
    if len(held) == 0:
        return np.zeros(CODES, dtype=np.float32)
    bins = np.arange(len(held)) * min(codes, len(held)) // len(held)
    means = np.bincount(bins, weights=sums[held]) / np.bincount(bins, weights=counts[held])
    centres = np.full(codes, means[-1], dtype=np.float32)
    centres[: len(means)] = means
    return np.concatenate([np.zeros(1, dtype=np.float32), centres]) if zero else centres


def encode(scores: np.ndarray, centres: np.ndarray, codes: np.ndarray, zero: bool = False) -> None:
    """Fill ``codes`` (uint8 ``[n]``) with the nearest of the centres; if ``zero``, 0 alone has code 0."""
    values = centres[int(zero) :].astype(np.float64)
    middles = (values[1:] + values[:-1]) / 2
    for start in range(0, len(scores), _ROWS):
        part = scores[start : start + _ROWS]
        nearest = np.searchsorted(middles, part)
        codes[start : start + _ROWS] = np.where(part != 0, nearest + 1, 0) if zero else nearest


def _taken(scores: np.ndarray, zero: bool) -> np.ndarray:
    return scores[scores != 0] if zero else scores


def _range(scores: np.ndarray, zero: bool) -> tuple[float, float]:
    """The smallest and the largest score."""
    low, high = np.inf, -np.inf
    for start in range(0, len(scores), _ROWS):
        part = _taken(scores[start : start + _ROWS], zero)
        if len(part):
            low, high = min(low, float(part.min())), max(high, float(part.max()))
    return low, high


def _cells(scores: np.ndarray, low: float, high: float) -> np.ndarray:
    """int64: the cell of each score; one cell where all are equal."""
    width = (high - low) or 1.0
    return ((scores.astype(np.float64) - low) * ((_CELLS - 1) / width)).astype(np.int64)
