"""From tables of n-grams to the automaton that is queried.

Every n-gram below the highest order is a node; node 0 is the empty context. Nodes are linked to the longest of their
proper suffixes that the model holds, as in a matching automaton of Aho and Corasick (1975), so a missing suffix (as
pruned SRILM models have) costs nothing. A node that no n-gram extends and whose back-off weight is 1 tells the future
nothing, so states point past it (the state minimisation of Li and Khudanpur 2008).

A quantised model takes little memory: codes of 8 bits for scores, and sorted arcs in place of a hash table. The n-grams
of an order are the arcs in sorted order, so an arc needs no key but its word, and only those of the highest order say
where they lead. Below it an n-gram takes 14 bytes, at the highest order 9. Codes are of bins that each stand for the
mean of what they hold, as KenLM's (Heafield 2011). KenLM's bins have equal population, so the few scores far from the
others share wide bins. Those are scores of n-grams that are often asked for: on news, perplexity rises by half as much
when the range of scores is divided evenly, which is done here (gaps, where no score lies, left out).
"""

from collections.abc import Sequence

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.codes import CODES, choose_centres, encode
from neural_smt.io.lookup_primitives import differ
from neural_smt.jit import kernel, leaf, mix
from neural_smt.language_model.ngrams import NgramTable
from neural_smt.language_model.primitives import (
    ARC,
    CONTEXT,
    EMPTY,
    Automaton,
    CodedArcs,
    arc_key,
    find_arc,
    find_coded_arc,
    follower_bit,
)
from neural_smt.vocabulary import BOS, UNK

MISSING_UNKNOWN = -100.0
"""log10 p(<unk>) of a model that does not list it (KenLM's choice)."""

LOAD = 0.6
"""Arcs per slot of the hash table, at most."""

LINKED, NO_CONTEXT, NO_UNIGRAM, TWICE = range(4)
FAULTS = {
    NO_CONTEXT: "has no context in the order below",
    NO_UNIGRAM: "ends in a word that is no unigram",
    TWICE: "stands twice",
}

_LARGEST = np.iinfo(np.int32).max


class NgramError(UserError):
    """An n-gram that spoils a model; ngram: its word ids; reason: what is wrong with it."""

    def __init__(self, ngram: Sequence[int], reason: str):
        fault = f"the {len(ngram)}-gram of word ids {ngram} {reason}"
        super().__init__(f"language model: {fault}; the model is damaged, estimate it again")
        self.ngram, self.reason = ngram, reason


def build_automaton(tables: Sequence[NgramTable], vocabulary_size: int, quantise: bool = False) -> Automaton:
    """Link n-grams of orders 1, 2, ... into an automaton over word ids below ``vocabulary_size``.

    Every n-gram's context (all its words but the last) must be a row of the order below. Raises ``NgramError`` where it
    is not, and where an n-gram stands twice. quantise: scores of two words and more become codes; states have the
    numbers they have in the exact model when the tables are sorted by words, others are sorted here. ``UserError``
    for more than 2^31 - 1 n-grams then.
    """
    tables = [tables[0].with_unknown(MISSING_UNKNOWN), *tables[1:]]
    if quantise:
        tables = [_sorted(table) for table in tables]
    contexts, longer = tables[:-1] or tables, tables[1:]
    first = np.cumsum([1, *(len(table) for table in contexts)])
    weights = [np.zeros(1, np.float32), *(table.backoff for table in contexts)]
    backoff = np.concatenate(weights[:2] if quantise else weights)
    coded = _encoded(longer, backoff) if quantise else no_codes()
    slots = 1 << max(1, int(np.ceil(np.log2((sum(len(table) for table in longer) + 1) / LOAD))))
    arcs = np.zeros(0 if quantise else slots, dtype=ARC)
    arcs["key"] = EMPTY
    node_of = _unigram_nodes(tables[0], vocabulary_size)
    suffix = np.zeros(first[-1], dtype=np.int32)
    matters = np.zeros(first[-1], dtype=np.bool_)
    for table in longer:
        words = np.ascontiguousarray(table.words)
        start, below = first[table.order - 1], first[table.order - 2]
        fault, row = _link(words, table.log10_prob, start, below, len(backoff), node_of, arcs, coded, suffix, matters)
        if fault != LINKED:
            raise NgramError(table.words[row].tolist(), FAULTS[fault])
    matters |= np.concatenate([backoff != 0, coded.backoff_codes != 0])
    state = _minimise(suffix, matters)
    arcs["next_state"] = state[arcs["next_state"]]
    coded.highest_state[:] = state[coded.highest_state]
    coded = coded._replace(suffix=state[suffix]) if quantise else coded
    known = np.where(node_of < 0, UNK, np.arange(len(node_of))).astype(np.int32)
    known[BOS] = UNK
    unigram_log10 = np.zeros(len(node_of), dtype=np.float32)
    unigram_log10[tables[0].words[:, 0]] = tables[0].log10_prob
    return Automaton(
        arcs=arcs,
        lexicon=known,
        unigram_log10=unigram_log10[known],
        unigram_state=state[node_of[known]],
        contexts=_contexts(backoff, state[suffix], arcs) if not quantise else np.zeros(0, CONTEXT),
        begin=state[node_of[BOS]] if node_of[BOS] >= 0 else np.int32(0),
        coded=coded,
    )


@kernel
def _contexts(backoff: np.ndarray, suffix: np.ndarray, arcs: np.ndarray) -> np.ndarray:
    """``CONTEXT`` [states] of an exact model."""
    contexts = np.zeros(len(suffix), CONTEXT)
    for state in range(len(suffix)):
        contexts[state].backoff = backoff[state]
        contexts[state].suffix = suffix[state]
    for slot in range(len(arcs)):
        if arcs[slot].key != EMPTY:
            state, word = arcs[slot].key >> np.uint64(32), arcs[slot].key & np.uint64(0xFFFFFFFF)
            contexts[state].followers |= follower_bit(np.int64(word))
    return contexts


def _unigram_nodes(unigrams: NgramTable, vocabulary_size: int) -> np.ndarray:
    """int32 ``[vocabulary_size]``: the node of each word, numbered from 1 by its row, or -1; ``NgramError`` for two."""
    words = unigrams.words[:, 0]
    repeated = np.flatnonzero(np.bincount(words, minlength=vocabulary_size) > 1)
    if len(repeated):
        raise NgramError(repeated[:1].tolist(), FAULTS[TWICE])
    node_of = np.full(vocabulary_size, -1, dtype=np.int32)
    node_of[words] = np.arange(1, len(words) + 1)
    return node_of


def _sorted(table: NgramTable) -> NgramTable:
    """The table by rising words."""
    words = np.ascontiguousarray(table.words)
    if _rises(words):
        return NgramTable(words, table.log10_prob, table.backoff)
    by_words = np.lexsort(words.T[::-1])
    return NgramTable(words[by_words], table.log10_prob[by_words], table.backoff[by_words])


def no_codes() -> CodedArcs:
    """What stands for the coded arcs in an exact model: empty arrays."""
    kinds = (np.int32, np.uint32, np.int32, np.float32, np.uint8, np.uint8, np.int32, np.int64)
    centres = np.zeros((2, 0, 0), dtype=np.float32)
    return CodedArcs(*(np.zeros(0, dtype=kind) for kind in kinds), *centres)


def _encoded(longer: Sequence[NgramTable], unigram_backoff: np.ndarray) -> CodedArcs:
    """Arcs with the codes of their scores, still to be linked. unigram_backoff: float32, of the empty n-gram too."""
    unigrams = len(unigram_backoff)
    starts = np.cumsum([0, *(len(table) for table in longer)])
    arcs, inner = int(starts[-1]), int(starts[max(len(longer) - 1, 0)])  # inner: those below the highest order
    if arcs + unigrams > _LARGEST:
        raise UserError(f"language model: more than {_LARGEST} n-grams; prune more, or give less text")
    centres = np.zeros((2, max(len(longer), 1), CODES), dtype=np.float32)
    coded = CodedArcs(
        words=np.empty(arcs, dtype=np.int32),
        first=np.zeros(unigrams + inner + 1, dtype=np.uint32),
        suffix=np.zeros(0, dtype=np.int32),
        unigram_backoff=unigram_backoff,
        prob_codes=np.empty(arcs, dtype=np.uint8),
        backoff_codes=np.empty(inner, dtype=np.uint8),
        highest_state=np.empty(arcs - inner, dtype=np.int32),
        order_starts=starts,
        prob_centres=centres[0],
        backoff_centres=centres[1],
    )
    for number, table in enumerate(longer):
        rows = slice(starts[number], starts[number + 1])
        centres[0, number] = choose_centres(table.log10_prob)
        encode(table.log10_prob, centres[0, number], coded.prob_codes[rows])
        if number < len(longer) - 1:
            centres[1, number] = choose_centres(table.backoff, zero=True)
            encode(table.backoff, centres[1, number], coded.backoff_codes[rows], zero=True)
    return coded


@leaf
def _find_node(arcs: np.ndarray, coded: CodedArcs, unigrams: int, node: int, word: int) -> int:
    """The node that the arc of ``word`` leads to, or -1; in a quantised model those after the unigrams are its arcs."""
    if len(arcs) > 0:
        slot = find_arc(arcs, node, word)
        return np.int64(arcs[slot].next_state) if slot >= 0 else np.int64(-1)
    arc = find_coded_arc(coded, node, word)
    return arc + unigrams if arc >= 0 else np.int64(-1)


@leaf
def _find_context(words: np.ndarray, node_of: np.ndarray, arcs: np.ndarray, coded: CodedArcs, unigrams: int) -> int:
    """The node of all words of an n-gram but the last, or -1."""
    node = np.int64(node_of[words[0]])
    for i in range(1, len(words) - 1):
        node = _find_node(arcs, coded, unigrams, node, words[i]) if node >= 0 else np.int64(-1)
    return node


@leaf
def _add_arc(arcs: np.ndarray, context: int, word: int, log10_prob: float, node: int) -> bool:
    """Enter an arc into the hash table; false where it stands already."""
    mask = np.uint64(len(arcs) - 1)
    key = arc_key(context, word)
    place = mix(key) & mask
    while arcs[place].key != EMPTY:
        if arcs[place].key == key:
            return False
        place = (place + np.uint64(1)) & mask
    arcs[place].key = key
    arcs[place].log10_prob = log10_prob
    arcs[place].next_state = node
    return True


@kernel
def _link(
    words: np.ndarray,
    log10_prob: np.ndarray,
    start: int,
    below: int,
    unigrams: int,
    node_of: np.ndarray,
    arcs: np.ndarray,
    coded: CodedArcs,
    suffix: np.ndarray,
    extended: np.ndarray,
) -> tuple[int, int]:
    """Fill in the arcs of one order and mark the contexts they extend; return a fault and its row, or ``LINKED``.

    start, below: the first nodes of this order (at the highest: how many nodes there are) and of the order below;
    unigrams: nodes before those of the bigrams. ``next_state`` and ``highest_state`` are for now the node of the
    n-gram, or at the highest order the node of its suffix.
    """
    rows, order = words.shape
    highest = start == len(suffix)
    context = np.int64(0)
    filled = np.int64(below)  # nodes whose first coded arc is known
    for row in range(rows):
        new = row == 0 or differ(words[row - 1], words[row], order - 1)
        if new:
            context = _find_context(words[row], node_of, arcs, coded, unigrams)
            if context < 0:
                return NO_CONTEXT, row
            extended[context] = True
        word = words[row, order - 1]
        if node_of[word] < 0:
            return NO_UNIGRAM, row
        shorter = np.int64(suffix[context])
        link = np.int64(node_of[word])
        while shorter != 0:
            found = _find_node(arcs, coded, unigrams, shorter, word)
            if found >= 0:
                link = found
                break
            shorter = np.int64(suffix[shorter])
        if not highest:
            suffix[start + row] = link
        if len(arcs) > 0:
            if not _add_arc(arcs, context, word, log10_prob[row], link if highest else start + row):
                return TWICE, row
            continue
        if not new and word == words[row - 1, order - 1]:
            return TWICE, row
        coded.first[filled : context + 1] = start - unigrams + row
        filled = max(filled, context + 1)
        coded.words[start - unigrams + row] = word
        if highest:
            coded.highest_state[row] = link
    if len(arcs) == 0:  # up to the node after the last one of the order below
        coded.first[filled : start + 1] = start - unigrams + rows
    return LINKED, 0


@kernel
def _rises(words: np.ndarray) -> bool:
    """Whether no row is smaller than the one before (int32 ``[rows, order]``)."""
    for row in range(1, len(words)):
        for i in range(words.shape[1]):
            if words[row, i] != words[row - 1, i]:
                if words[row, i] < words[row - 1, i]:
                    return False
                break
    return True


@kernel
def _minimise(suffix: np.ndarray, matters: np.ndarray) -> np.ndarray:
    """int32: the state each node stands for: itself, or its nearest suffix that matters.

    matters: bool, whether an n-gram extends the node or backing off from it is charged.
    """
    state = np.zeros(len(suffix), dtype=np.int32)
    for node in range(1, len(suffix)):  # a suffix is shorter, so its node comes first
        state[node] = node if matters[node] else state[suffix[node]]
    return state
