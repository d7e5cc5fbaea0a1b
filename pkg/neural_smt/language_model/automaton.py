"""From tables of n-grams to the automaton that is queried.

Every n-gram below the highest order is a node; node 0 is the empty context. Nodes are linked to the longest of their
proper suffixes that the model holds, as in a matching automaton of Aho and Corasick (1975), so a missing suffix (as
pruned SRILM models have) costs nothing. A node that no n-gram extends and whose back-off weight is 1 tells the future
nothing, so states point past it (the state minimisation of Li and Khudanpur 2008).
"""

from collections.abc import Sequence

import numpy as np

from neural_smt.errors import UserError
from neural_smt.jit import kernel, mix
from neural_smt.language_model.ngrams import NgramTable
from neural_smt.language_model.primitives import ARC, EMPTY, Automaton, CodedArcs, arc_key, find_arc
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


def _nothing(kind: type, dimensions: int = 1) -> np.ndarray:
    """An empty array, read-only as all arrays of a model are."""
    array = np.zeros((0,) * dimensions, dtype=kind)
    array.flags.writeable = False
    return array


NOT_CODED = CodedArcs(
    *map(_nothing, (np.int32, np.uint32, np.uint8, np.uint8, np.int32, np.int64)),
    *(_nothing(np.float32, 2) for _ in range(2)),
)
"""What stands for the coded arcs in an exact model."""


class NgramError(UserError):
    """An n-gram that spoils a model; ngram: its word ids; reason: what is wrong with it."""

    def __init__(self, ngram: Sequence[int], reason: str):
        super().__init__(
            f"language model: the {len(ngram)}-gram of word ids {ngram} {reason}; "
            "the model is damaged, estimate it again"
        )
        self.ngram = ngram
        self.reason = reason


def build_automaton(tables: Sequence[NgramTable], vocabulary_size: int) -> Automaton:
    """Link n-grams of orders 1, 2, ... into an automaton over word ids below ``vocabulary_size``.

    Every n-gram's context (all its words but the last) must be a row of the order below. Raises ``NgramError``
    where it is not, and where an n-gram stands twice.
    """
    tables = [with_unknown(tables[0]), *tables[1:]]
    contexts = tables[:-1] if len(tables) > 1 else tables
    first = np.cumsum([1, *(len(table) for table in contexts)])
    backoff = np.concatenate([np.zeros(1, np.float32), *(table.backoff for table in contexts)])
    suffix = np.zeros(first[-1], dtype=np.int32)
    extended = np.zeros(first[-1], dtype=np.bool_)
    node_of = unigram_nodes(tables[0], vocabulary_size)
    arcs = np.zeros(_slots(sum(len(table) for table in tables[1:])), dtype=ARC)
    arcs["key"] = EMPTY
    for table in tables[1:]:
        highest = table is tables[-1]
        start = -1 if highest else first[table.order - 1]
        fault, row = _link(np.ascontiguousarray(table.words), table.log10_prob, start, node_of, arcs, suffix, extended)
        if fault != LINKED:
            raise NgramError(table.words[row].tolist(), FAULTS[fault])
    extended |= backoff != 0
    state = minimise(suffix, extended)
    arcs["next_state"] = state[arcs["next_state"]]
    return assemble(tables[0], node_of, state, arcs=arcs, backoff=backoff, suffix=state[suffix], coded=NOT_CODED)


def unigram_nodes(unigrams: NgramTable, vocabulary_size: int) -> np.ndarray:
    """int32 ``[vocabulary_size]``: the node of each word, numbered from 1 by its row, or -1; ``NgramError`` for two."""
    words = unigrams.words[:, 0]
    repeated = np.flatnonzero(np.bincount(words, minlength=vocabulary_size) > 1)
    if len(repeated):
        raise NgramError(repeated[:1].tolist(), FAULTS[TWICE])
    node_of = np.full(vocabulary_size, -1, dtype=np.int32)
    node_of[words] = np.arange(1, len(words) + 1)
    return node_of


def assemble(
    unigrams: NgramTable,
    node_of: np.ndarray,
    state: np.ndarray,
    *,
    arcs: np.ndarray,
    backoff: np.ndarray,
    suffix: np.ndarray,
    coded: CodedArcs,
) -> Automaton:
    """The automaton of linked arcs. node_of: what ``unigram_nodes`` says; state: int32, the state of each node."""
    known = np.where(node_of < 0, UNK, np.arange(len(node_of))).astype(np.int32)
    known[BOS] = UNK
    unigram_log10 = np.zeros(len(node_of), dtype=np.float32)
    unigram_log10[unigrams.words[:, 0]] = unigrams.log10_prob
    return Automaton(
        arcs=arcs,
        lexicon=known,
        unigram_log10=unigram_log10[known],
        unigram_state=state[node_of[known]],
        backoff=backoff,
        suffix=suffix,
        begin=state[node_of[BOS]] if node_of[BOS] >= 0 else np.int32(0),
        coded=coded,
    )


def with_unknown(unigrams: NgramTable) -> NgramTable:
    """The table with a row for ``<unk>``, added when missing."""
    if (unigrams.words[:, 0] == UNK).any():
        return unigrams
    return NgramTable(
        np.concatenate([np.full((1, 1), UNK, np.int32), unigrams.words]),
        np.concatenate([np.float32([MISSING_UNKNOWN]), unigrams.log10_prob]),
        np.concatenate([np.float32([0.0]), unigrams.backoff]),
    )


def _slots(arcs: int) -> int:
    """The power of two that holds ``arcs`` with at least one slot free."""
    return 1 << max(1, int(np.ceil(np.log2((arcs + 1) / LOAD))))


@kernel
def _link(
    words: np.ndarray,
    log10_prob: np.ndarray,
    first_node: int,
    node_of: np.ndarray,
    arcs: np.ndarray,
    suffix: np.ndarray,
    extended: np.ndarray,
) -> tuple[int, int]:
    """Insert the arcs of one order.

    ``next_state`` is for now the node of the n-gram, or at the highest order the node of its suffix.
    """
    rows, order = words.shape
    mask = np.uint64(len(arcs) - 1)
    context = np.int64(0)
    for row in range(rows):
        same = row > 0
        for i in range(order - 1):
            same = same and words[row, i] == words[row - 1, i]
        if not same:
            context = np.int64(node_of[words[row, 0]])
            for i in range(1, order - 1):
                slot = find_arc(arcs, context, words[row, i]) if context >= 0 else np.int64(-1)
                context = np.int64(arcs[slot].next_state) if slot >= 0 else np.int64(-1)
            if context < 0:
                return NO_CONTEXT, row
            extended[context] = True
        word = words[row, order - 1]
        if node_of[word] < 0:
            return NO_UNIGRAM, row

        link = np.int64(suffix[context])
        while link != 0:
            slot = find_arc(arcs, link, word)
            if slot >= 0:
                break
            link = np.int64(suffix[link])
        link = np.int64(arcs[slot].next_state) if link != 0 else np.int64(node_of[word])

        key = arc_key(context, word)
        place = mix(key) & mask
        while arcs[place].key != EMPTY:
            if arcs[place].key == key:
                return TWICE, row
            place = (place + np.uint64(1)) & mask
        node = np.int64(first_node) + row if first_node >= 0 else link
        if first_node >= 0:
            suffix[node] = link
        arcs[place].key = key
        arcs[place].log10_prob = log10_prob[row]
        arcs[place].next_state = node
    return LINKED, 0


@kernel
def minimise(suffix: np.ndarray, matters: np.ndarray) -> np.ndarray:
    """int32: the state each node stands for: itself, or its nearest suffix that matters.

    matters: bool, whether an n-gram extends the node or backing off from it is charged.
    """
    state = np.zeros(len(suffix), dtype=np.int32)
    for node in range(1, len(suffix)):  # a suffix is shorter, so its node comes first
        state[node] = node if matters[node] else state[suffix[node]]
    return state
