"""Kernels of inference with a recurrent model: hidden layers, classes and words of one batch of prefix trees.

A root may have several *slots*, states that stand side by side; so has all that hangs on it, in neighbouring rows.
"""

from typing import NamedTuple

import numpy as np

from neural_smt.jit import enlarged, kernel, leaf, longest
from neural_smt.networks.primitives import ANY_ORDER, CLASSES, direct_places, exponential
from neural_smt.networks.recurrent.tries import Tries

_ONE = np.float32(1)


class Rows(NamedTuple):
    """What is known of prefix trees so far, a row per slot.

    slots: int32 ``[G]``, of each root; prefix_row, pair_row, entry_row: int64, the first row of each part (in sums,
    hidden and totals). hidden: float32 ``[N, H]``, h of the pairs; history: int32 ``[N, order - 1]``, the words before
    each, the last one first; totals: float64, ln p of the words from the root up to each entry.
    """

    slots: np.ndarray
    prefix_row: np.ndarray
    pair_row: np.ndarray
    entry_row: np.ndarray
    hidden: np.ndarray
    history: np.ndarray
    totals: np.ndarray


class Output(NamedTuple):
    """The output layer. word_hidden: V for units, float32 ``[V - 1, H]``; direct: float32, the table of direct features
    (empty without); offsets: int64 ``[C + 1]``, where the units of each class begin; unit_of_word: the unit of each
    word; direct_order: words that the longest features have, the predicted one among them.
    """

    word_hidden: np.ndarray
    direct: np.ndarray
    offsets: np.ndarray
    unit_of_word: np.ndarray
    direct_order: int


class InputLayer(NamedTuple):
    """What N inputs f add: hidden (F f): float32 ``[N, H]``; classes (G f): ``[N, C]``; words: float32, G f of the
    words of one class after the other; query_words: int64 ``[Q]``, where those of each query start (-1: f is empty).
    """

    hidden: np.ndarray
    classes: np.ndarray
    words: np.ndarray
    query_words: np.ndarray


@kernel
def place_rows(
    tries: Tries, rows: Rows, pairs: tuple[int, int], entries: tuple[int, int], used: tuple[int, int]
) -> tuple[int, int]:
    """Give rows to the pairs and entries in two ranges, from ``used`` on; return what is used then."""
    pair_row, entry_row = used
    for pair in range(*pairs):
        rows.pair_row[pair] = pair_row
        pair_row += rows.slots[tries.pair_root[pair]]
    for entry in range(*entries):
        rows.entry_row[entry] = entry_row
        entry_row += rows.slots[tries.pair_root[tries.query_pair[tries.entry_query[entry]]]]
    return pair_row, entry_row


@kernel(**ANY_ORDER)
def hidden_layers(
    tries: Tries, rows: Rows, pairs: tuple[int, int], sums: np.ndarray, history: np.ndarray, inputs: InputLayer
) -> None:
    """h = s(r + F f) of a range of pairs; sums, history: r and the last words of the prefixes, a row per slot."""
    for pair in range(*pairs):
        added = inputs.hidden[tries.pair_input[pair]]
        for slot in range(rows.slots[tries.pair_root[pair]]):
            source, row = rows.prefix_row[tries.pair_prefix[pair]] + slot, rows.pair_row[pair] + slot
            for i in range(len(added)):
                rows.hidden[row, i] = _ONE / (_ONE + exponential(-(sums[source, i] + added[i])))
            for i in range(history.shape[1]):
                rows.history[row, i] = history[source, i]


@leaf(**ANY_ORDER)
def _log_sum(logits: np.ndarray, count: int) -> np.float32:
    """ln of the sum of the exponentials of the first ``count`` logits."""
    largest = logits[0]
    for i in range(count):
        largest = max(largest, logits[i])
    total = np.float32(0)
    for i in range(count):
        total += exponential(logits[i] - largest)
    return largest + np.log(total)


@leaf(**ANY_ORDER)
def _add_direct(
    output: Output, history: np.ndarray, number: int, logits: np.ndarray, count: int, places: np.ndarray
) -> None:
    """Add the direct features of ``count`` outputs (the words of class ``number``, or the classes)."""
    size = len(output.direct)
    if size > 0:
        known = direct_places(history, output.direct_order, number, count, size, places)
        for place in places[:known]:
            for i in range(count):
                logits[i] += output.direct[place + i]


@kernel(**ANY_ORDER)
def class_scores(
    tries: Tries, rows: Rows, pairs: tuple[int, int], inputs: InputLayer, output: Output, logits: np.ndarray,
    normalisers: np.ndarray,
) -> None:  # fmt: skip
    """Complete the class logits (V h, float32 ``[n, C]``, a row per slot of the pairs); write ln of their sums."""
    places = np.empty(output.direct_order, np.int64)
    for pair in range(*pairs):
        added = inputs.classes[tries.pair_input[pair]]
        for slot in range(rows.slots[tries.pair_root[pair]]):
            row = rows.pair_row[pair] + slot
            line = logits[row - rows.pair_row[pairs[0]]]
            for i in range(len(line)):
                line[i] += added[i]
            _add_direct(output, rows.history[row], CLASSES, line, len(line), places)
            normalisers[row - rows.pair_row[pairs[0]]] = _log_sum(line, len(line))


@leaf(**ANY_ORDER)
def _products(matrix: np.ndarray, first: int, count: int, vector: np.ndarray, result: np.ndarray) -> None:
    """Products of ``count`` rows of a matrix from ``first`` on with a vector; four rows share what is read of it."""
    whole = count - count % 4
    for i in range(0, whole, 4):
        a = b = c = d = np.float32(0)
        row = first + i
        for j in range(len(vector)):
            value = vector[j]
            a += matrix[row, j] * value
            b += matrix[row + 1, j] * value
            c += matrix[row + 2, j] * value
            d += matrix[row + 3, j] * value
        result[i], result[i + 1], result[i + 2], result[i + 3] = a, b, c, d
    for i in range(whole, count):
        a = np.float32(0)
        for j in range(len(vector)):
            a += matrix[first + i, j] * vector[j]
        result[i] = a


@kernel(**ANY_ORDER)
def word_scores(
    tries: Tries, rows: Rows, queries: tuple[int, int], first_row: int, inputs: InputLayer, output: Output,
    class_logits: np.ndarray, normalisers: np.ndarray,
) -> None:  # fmt: skip
    """ln p of all entries of a range of queries; class_logits, normalisers: as ``class_scores`` left them, whose first
    row is ``first_row`` of the pairs.
    """
    places = np.empty(output.direct_order, np.int64)
    logits = np.empty(longest(output.offsets), np.float32)
    for query in range(*queries):
        pair, number = tries.query_pair[query], tries.query_class[query]
        first, count = output.offsets[number], output.offsets[number + 1] - output.offsets[number]
        added = inputs.query_words[query]
        parent = tries.prefix_entry[tries.pair_prefix[pair]]
        for slot in range(rows.slots[tries.pair_root[pair]]):
            row = rows.pair_row[pair] + slot
            before = rows.totals[rows.entry_row[parent] + slot] if parent >= 0 else 0.0
            before += class_logits[row - first_row, number] - normalisers[row - first_row]
            if count > 1:
                _products(output.word_hidden, first, count, rows.hidden[row], logits)
                if added >= 0:
                    for i in range(count):
                        logits[i] += inputs.words[added + i]
                _add_direct(output, rows.history[row], number, logits, count, places)
                before -= _log_sum(logits, count)
            else:
                logits[0] = 0
            for entry in range(tries.entry_offsets[query], tries.entry_offsets[query + 1]):
                unit = output.unit_of_word[tries.entry_word[entry]] - first
                rows.totals[rows.entry_row[entry] + slot] = before + logits[unit]


@kernel
def list_prefixes(tries: Tries, rows: Rows, prefixes: tuple[int, int], used: int) -> tuple[np.ndarray, np.ndarray]:
    """For a range of prefixes that are no roots: the row of h before the last word (int64) and that word (int32), a row
    per slot. Their own rows start at 0; used: a guess at how many rows there are, at least 1.
    """
    sources, words = np.empty(used, np.int64), np.empty(used, np.int32)
    count = 0
    for prefix in range(*prefixes):
        entry = tries.prefix_entry[prefix]
        pair = tries.query_pair[tries.entry_query[entry]]
        rows.prefix_row[prefix] = count
        for slot in range(rows.slots[tries.pair_root[pair]]):
            if count == len(sources):
                sources, words = enlarged(sources, 2 * count), enlarged(words, 2 * count)
            sources[count] = rows.pair_row[pair] + slot
            words[count] = tries.entry_word[entry]
            count += 1
    return sources[:count], words[:count]


@kernel
def gather_hidden(rows: Rows, sources: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """h (float32 ``[n, H]``) and the last words (int32 ``[n, order - 1]``) of rows ``sources`` (int64)."""
    hidden = np.empty((len(sources), rows.hidden.shape[1]), np.float32)
    history = np.empty((len(sources), rows.history.shape[1]), np.int32)
    for i in range(len(sources)):
        for j in range(hidden.shape[1]):
            hidden[i, j] = rows.hidden[sources[i], j]
        for j in range(history.shape[1]):
            history[i, j] = rows.history[sources[i], j]
    return hidden, history


@kernel
def add_words(sums: np.ndarray, history: np.ndarray, embedding: np.ndarray, words: np.ndarray) -> None:
    """Turn W h into r = U w + W h (float32 ``[n, H]``), and the history before the words w into that after them."""
    for i in range(len(words)):
        for j in range(sums.shape[1]):
            sums[i, j] += embedding[words[i], j]
        for j in range(history.shape[1] - 1, 0, -1):
            history[i, j] = history[i, j - 1]
        if history.shape[1] > 0:
            history[i, 0] = words[i]
