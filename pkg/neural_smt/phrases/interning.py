"""Numbering phrases: equal word sequences get equal numbers, in shortlex order.

The phrases are the nodes of a trie. An edge (parent node, word) is one exact 64-bit key, so nothing is ever taken
for equal that only hashes alike.
"""

import math
from collections.abc import Iterable

import numpy as np

from neural_smt.io.lookup_primitives import empty_slots, find_key
from neural_smt.io.ragged import Lists, Ragged, offsets_of
from neural_smt.jit import enlarged, kernel, longest
from neural_smt.phrases.primitives import LENGTH_BITS


@kernel
def _grow(edges: np.ndarray, nodes: int, needed: int) -> tuple[np.ndarray, np.ndarray]:
    """Copy ``edges`` into room for at least ``needed`` nodes, with a fresh hash table of twice as many slots."""
    capacity = len(edges)
    while capacity < needed:
        capacity *= 2
    larger, slots = enlarged(edges, capacity), empty_slots(capacity)
    for node in range(nodes):
        slots[find_key(slots, larger, larger[node])] = node
    return larger, slots


@kernel
def _extend_trie(
    edges: np.ndarray, slots: np.ndarray, nodes: int, text: Lists, located: Lists, max_length: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """Replace every span (``located``) by its trie node, in place; return the trie with the nodes of these spans.

    ``edges`` has (parent + 1) << 32 | word of each node, ``slots`` is a hash table over them, ``nodes`` their number.
    Parents come before their children. Within a sentence the nodes of a start position are remembered, so that a
    word sequence costs one probe however many phrase pairs use it.
    """
    words, sentence_offsets = text
    spans, span_offsets = located
    sentences = len(sentence_offsets) - 1
    known_nodes = np.empty((longest(sentence_offsets), max_length), dtype=np.int32)
    for sentence in range(sentences):
        if span_offsets[sentence] == span_offsets[sentence + 1]:
            continue
        begin = sentence_offsets[sentence]
        length = sentence_offsets[sentence + 1] - begin
        if nodes + length * max_length > len(edges):
            edges, slots = _grow(edges, nodes, nodes + length * max_length)
        known_nodes[:length] = -1
        for number in range(span_offsets[sentence], span_offsets[sentence + 1]):
            start = spans[number] >> LENGTH_BITS
            span_length = spans[number] & ((1 << LENGTH_BITS) - 1)
            depth = span_length
            while depth > 0 and known_nodes[start, depth - 1] < 0:
                depth -= 1
            node = np.int32(-1) if depth == 0 else known_nodes[start, depth - 1]
            while depth < span_length:
                edge = (np.uint64(node + 1) << np.uint64(32)) | np.uint64(words[begin + start + depth])
                slot = find_key(slots, edges, edge)
                if slots[slot] < 0:
                    slots[slot] = nodes
                    edges[nodes] = edge
                    nodes += 1
                node = slots[slot]
                known_nodes[start, depth] = node
                depth += 1
            spans[number] = node
    return edges, slots, nodes


@kernel
def _node_depths(parents: np.ndarray) -> np.ndarray:
    """uint8 number of words of each node; ``parents`` (int32) holds -1 for one-word nodes."""
    depths = np.empty(len(parents), dtype=np.uint8)
    for node in range(len(parents)):
        depths[node] = 1 if parents[node] < 0 else depths[parents[node]] + 1
    return depths


@kernel
def _spell(nodes: np.ndarray, parents: np.ndarray, last_words: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """The words of the phrases that ``nodes`` stand for, int32 values to ``offsets``."""
    values = np.empty(offsets[-1], dtype=np.int32)
    for phrase in range(len(nodes)):
        node = nodes[phrase]
        for position in range(offsets[phrase + 1] - 1, offsets[phrase] - 1, -1):
            values[position] = last_words[node]
            node = parents[node]
    return values


@kernel
def _renumber(numbers: np.ndarray, mapping: np.ndarray) -> None:
    for index in range(len(numbers)):
        numbers[index] = mapping[numbers[index]]


def _shortlex_order(parents: np.ndarray, last_words: np.ndarray, depths: np.ndarray) -> np.ndarray:
    """The nodes ordered by depth, then word by word: each level is sorted by (rank of the parent, last word)."""
    rank = np.zeros(len(parents), dtype=np.int64)
    levels = []
    for depth in range(1, int(depths.max(initial=0)) + 1):
        level = np.flatnonzero(depths == depth)
        key = last_words[level].astype(np.int64)
        if depth > 1:
            key |= rank[parents[level]] << 32
        level = level[np.argsort(key, kind="stable")]
        rank[level] = np.arange(len(level))
        levels.append(level)
    return np.concatenate(levels) if levels else np.zeros(0, dtype=np.int64)


def intern_parts(parts: Iterable[tuple[Ragged, Ragged]], max_length: int) -> Ragged:
    """Number the distinct phrases under the spans of texts and replace each span by its number, in place.

    parts: int32 word ids of sentences, needed no longer than their turn; and int32 ``Ragged``, for each sentence its
    spans (``pack_span``), none longer than ``max_length``. Returns the distinct phrases of all as int32 ``Ragged`` in
    shortlex order of ids; number ``p`` is row ``p``.
    """
    capacity = 1 << 12
    edges, slots = np.empty(capacity, dtype=np.uint64), empty_slots(capacity)
    nodes = 0
    numbers = []
    for text, spans in parts:
        edges, slots, nodes = _extend_trie(edges, slots, nodes, text.arrays, spans.arrays, max_length)
        numbers.append(spans.values)
    del slots
    parents = (edges[:nodes] >> np.uint64(32)).astype(np.int32) - np.int32(1)
    last_words = (edges[:nodes] & np.uint64(0xFFFFFFFF)).astype(np.int32)
    del edges
    depths = _node_depths(parents)
    used = np.zeros(nodes, dtype=bool)
    for own in numbers:
        used[own] = True
    order = _shortlex_order(parents, last_words, depths)
    order = order[used[order]]
    number = np.empty(nodes, dtype=np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    for own in numbers:
        _renumber(own, number)
    offsets = offsets_of(depths[order])
    return Ragged(_spell(order, parents, last_words, offsets), offsets)


def intern_phrases(phrases: Ragged) -> tuple[Ragged, np.ndarray]:
    """Number the distinct phrases among ``phrases`` (int32 ids, 1 to 255 words each).

    Returns the distinct phrases in shortlex order of ids, and int32 ``[n]``: which of them each phrase is.
    """
    numbers = phrases.lengths.astype(np.int32)
    spans = Ragged(numbers, np.arange(len(phrases) + 1, dtype=np.int64))
    return intern_parts([(phrases, spans)], int(numbers.max(initial=0))), numbers


@kernel
def _copy_lists(values: np.ndarray, offsets: np.ndarray, rows: np.ndarray, out_offsets: np.ndarray) -> np.ndarray:
    out = np.empty(out_offsets[-1], dtype=values.dtype)
    for index in range(len(rows)):
        begin, shift = out_offsets[index], offsets[rows[index]]
        for position in range(out_offsets[index + 1] - begin):
            out[begin + position] = values[shift + position]
    return out


def gather_phrases(phrases: Ragged, rows: np.ndarray) -> Ragged:
    """``phrases.take(rows)`` without temporary index arrays, for tables of many millions of rows.

    Each value, or row of values, has 1, 2, 4 or 8 bytes and is copied as one number.
    """
    offsets, row = offsets_of(phrases.lengths[rows]), phrases.values.shape[1:]
    values = np.ascontiguousarray(phrases.values).view(f"u{phrases.values.itemsize * math.prod(row)}").ravel()
    copied = _copy_lists(values, phrases.offsets, rows, offsets)
    return Ragged(copied.view(phrases.values.dtype).reshape(-1, *row), offsets)
