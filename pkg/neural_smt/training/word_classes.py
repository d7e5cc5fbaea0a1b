"""Words sorted by count and cut into classes: by the RNNLM toolkit's rule, and as cheaply as can be.

The cost of predicting a word is C + sum_c P(c) |c|: the softmax over C classes and that over the words of the class, in
outputs. P(c) is the class's share of the running words.
"""

import math

import numpy as np

from neural_smt.errors import UserError
from neural_smt.experiment.settings import Settings
from neural_smt.io.ragged import Ragged
from neural_smt.jit import kernel
from neural_smt.networks.recurrent.configuration import WordClasses
from neural_smt.training.joint_text import predicted_counts
from neural_smt.training.word_exchange import exchange
from neural_smt.vocabulary import BOS


def expected_cost(classes: WordClasses, counts: np.ndarray) -> float:
    """C + sum_c P(c) |c|; counts: int64 ``[V]``, how often each word is predicted (not all 0; ``BOS`` is left out)."""
    sums = np.add.reduceat(counts[classes.units], classes.offsets[:-1])
    return len(classes) + float((sums * np.diff(classes.offsets)).sum() / sums.sum())


def by_frequency(counts: np.ndarray, count: int = 0) -> WordClasses:
    """The RNNLM toolkit's classes: each has about the same sum of the square roots of its words' shares.

    counts: int64 ``[V]``, how often each word is predicted; count: C, at most (0: the square root of V, rounded).
    """
    units = _by_count(counts)
    count = count or round(math.sqrt(len(units)))
    shares = np.sqrt(np.maximum(counts[units], 0) / max(counts[units].sum(), 1))
    running = np.cumsum(shares) / max(shares.sum(), 1e-300)
    # a word whose running sum exceeds (c + 1) / C is the last of class c
    numbers = np.zeros(len(units), dtype=np.int64)
    number = 0
    for position, value in enumerate(running.tolist()):
        numbers[position] = number
        if value > (number + 1) / count and number < count - 1:
            number += 1
    return _cut(units, np.flatnonzero(np.diff(numbers)) + 1)


def cheapest(counts: np.ndarray, count: int = 0) -> WordClasses:
    """The classes with the smallest expected cost of all there are, with ``count`` classes or (0) with any number.

    For given sizes of classes, words that are more frequent belong into smaller ones (else exchanging two words
    lowers the cost), so the best classes are runs of the words sorted by count. The best end of the last but one class
    never falls as words are added (the cost of a run has the quadrangle inequality), so dynamic programming need not
    try every pair of ends: it takes time V log V for any number of classes and C V log V for a given one.
    """
    units = _by_count(counts)
    if not 0 <= count <= len(units):
        raise ValueError(f"{count} classes of {len(units)} words")
    running = np.concatenate([[0], np.cumsum(counts[units])]).astype(np.float64)
    running /= max(running[-1], 1)
    ends = _best_ends(running) if count == 0 else _best_ends_of(running, count)
    return _cut(units, ends)


def _by_count(counts: np.ndarray) -> np.ndarray:
    """int32 ``[V - 1]``: all words but ``BOS``, the most frequent first."""
    words = np.delete(np.arange(len(counts), dtype=np.int32), BOS)
    return words[np.argsort(-counts[words], kind="stable")]


def _cut(units: np.ndarray, ends: np.ndarray) -> WordClasses:
    return WordClasses(units, np.concatenate([[0], ends, [len(units)]]).astype(np.int64))


@kernel
def _best_ends(running: np.ndarray) -> np.ndarray:
    """Where classes end (but the last), for D[j] = min_i D[i] + 1 + (j - i) (F_j - F_i).

    A queue holds the starts i that are best for some later j, in order, and from which j on each of them is.
    """
    count = len(running) - 1
    costs, before = np.zeros(count + 1), np.zeros(count + 1, dtype=np.int64)
    starts, since = np.zeros(count + 1, dtype=np.int64), np.ones(count + 1, dtype=np.int64)
    head, tail = 0, 1
    for j in range(1, count + 1):
        while head + 1 < tail and since[head + 1] <= j:
            head += 1
        i = starts[head]
        costs[j], before[j] = costs[i] + 1 + (j - i) * (running[j] - running[i]), i
        # from where on is a class that starts after word j better than what the queue holds?
        first = count + 1
        while tail > head:
            other = starts[tail - 1]
            low = max(since[tail - 1], j + 1)
            if low <= count and _of(costs, running, j, low) <= _of(costs, running, other, low):
                first = low
                if since[tail - 1] >= j + 1:
                    tail -= 1
                    continue
                break
            high = first
            low += 1
            while low < high:
                middle = (low + high) // 2
                if _of(costs, running, j, middle) <= _of(costs, running, other, middle):
                    high = middle
                else:
                    low = middle + 1
            first = min(low, first)
            break
        if first <= count:
            if tail == head:
                head = tail = 0
            starts[tail], since[tail] = j, first
            tail += 1
    return _trace(before, count)


@kernel
def _of(costs: np.ndarray, running: np.ndarray, start: int, end: int) -> float:
    return costs[start] + 1 + (end - start) * (running[end] - running[start])


@kernel
def _trace(before: np.ndarray, count: int) -> np.ndarray:
    ends = np.empty(count, dtype=np.int64)
    found, end = 0, before[count]
    while end > 0:
        ends[found] = end
        found += 1
        end = before[end]
    return ends[:found][::-1].copy()


@kernel
def _best_ends_of(running: np.ndarray, classes: int) -> np.ndarray:
    """``_best_ends`` for so many classes; each layer by divide and conquer over its ends, with a stack of ranges."""
    count = len(running) - 1
    costs = np.empty(count + 1)
    before = np.zeros((classes + 1, count + 1), dtype=np.int32)
    for j in range(count + 1):
        costs[j] = j * running[j]
    stack = np.empty((64, 4), dtype=np.int64)
    for layer in range(2, classes + 1):
        better = np.full(count + 1, np.inf)
        stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = layer, count, layer - 1, count - 1
        filled = 1
        while filled > 0:
            filled -= 1
            low, high, first, last = stack[filled]
            if low > high:
                continue
            j = (low + high) // 2
            best = first
            for i in range(first, min(last, j - 1) + 1):
                cost = costs[i] + (j - i) * (running[j] - running[i])
                if cost < better[j]:
                    better[j], best = cost, i
            before[layer, j] = best
            stack[filled, 0], stack[filled, 1], stack[filled, 2], stack[filled, 3] = low, j - 1, first, best
            stack[filled + 1, 0], stack[filled + 1, 1], stack[filled + 1, 2], stack[filled + 1, 3] = (
                j + 1,
                high,
                best,
                last,
            )
            filled += 2
        costs = better
    ends = np.empty(classes - 1, dtype=np.int64)
    end = count
    for layer in range(classes, 1, -1):
        end = before[layer, end]
        ends[layer - 2] = end
    return ends


def choose_classes(settings: Settings, sentences: Ragged, words: int) -> WordClasses:
    """Classes of so many words (``BOS`` among them), counted in training sentences of ids."""
    if settings.count > words - 1:
        raise UserError(
            f"training: classes.count is {settings.count}, but the text has {words - 1} words to predict; lower it"
        )
    counts = predicted_counts(sentences, words)
    if settings.method == "frequency":
        return by_frequency(counts, settings.count)
    classes = cheapest(counts, settings.count)
    return exchange(sentences, words, classes, settings.speed) if settings.method == "exchange" else classes
