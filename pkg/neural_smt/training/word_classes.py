"""Word classes: words sorted by count and cut, by the RNNLM toolkit's rule or as cheaply as can be; and by exchange.

The cost of predicting a word is C + sum_c P(c) |c|: the softmax over C classes and that over the words of the class, in
outputs. P(c) is the class's share of the running words. Exchange maximises the class bigram likelihood of a text of N
predictions with a term for the time that a softmax takes, in nats:

    sum_{a, b} h(n(a, b)) - sum_a h(n(a, .)) - sum_b h(n(., b)) - speed sum_c n(., c) |c|,   h(n) = n ln n,

the logarithm of the likelihood of a class bigram model but for what does not depend on the classes (Kneser and Ney
1993), less ``speed`` nats for every output that is computed for a word within its class. The idea of the second term is
that of Zweig and Makarychev (2013); how they wrote it is not known, the term and its weight are ours. The number of
classes stays, so that their outputs need not be counted.
"""

import math
from typing import NamedTuple

import numpy as np

from neural_smt.errors import UserError
from neural_smt.experiment.settings import Settings
from neural_smt.io.ragged import Ragged
from neural_smt.jit import kernel
from neural_smt.networks.recurrent.configuration import WordClasses
from neural_smt.vocabulary import BOS, EOS


def predicted_counts(sentences: Ragged, words: int) -> np.ndarray:
    """int64 ``[words]``: how often each word is predicted, ``UNK`` and the end of a sentence included."""
    counts = np.bincount(sentences.values, minlength=words).astype(np.int64)
    counts[EOS] += len(sentences)
    return counts


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


PASSES = 12
"""Over all words, at most."""


class Bigrams(NamedTuple):
    """Bigrams of words, sentence boundaries included, by their first word and by their second.

    next_words, next_counts: int32 and int64, those of word w at ``next_offsets[w]:next_offsets[w + 1]``; the same for
    the words before; repeats: int64 ``[V]``, how often a word follows itself (these bigrams stand nowhere else).
    """

    next_offsets: np.ndarray
    next_words: np.ndarray
    next_counts: np.ndarray
    before_offsets: np.ndarray
    before_words: np.ndarray
    before_counts: np.ndarray
    repeats: np.ndarray


class ClassCounts(NamedTuple):
    """Counts of class bigrams, ``[C + 1, C + 1]``, with the start of a sentence as class C, and their margins; sizes
    of classes; class of each word. All int64, changed in place.
    """

    pairs: np.ndarray
    first: np.ndarray
    second: np.ndarray
    sizes: np.ndarray
    numbers: np.ndarray


def count_bigrams(sentences: Ragged, words: int) -> Bigrams:
    """Those of sentences of ids without boundaries."""
    lengths = sentences.lengths + 1
    ends = np.cumsum(lengths) - 1
    second = np.empty(lengths.sum(), dtype=np.int64)
    inside = np.ones(len(second), dtype=bool)
    inside[ends] = False
    second[inside], second[ends] = sentences.values, EOS
    first = np.empty_like(second)
    first[1:] = second[:-1]
    first[ends - lengths + 1] = BOS
    keys, counts = np.unique(first * words + second, return_counts=True)
    first, second = np.divmod(keys, words)
    repeats = np.zeros(words, dtype=np.int64)
    same = first == second
    repeats[first[same]] = counts[same]
    first, second, counts = first[~same], second[~same], counts[~same].astype(np.int64)
    order = np.argsort(second, kind="stable")
    sides = []
    for words_of, others, numbers in ((first, second, counts), (second[order], first[order], counts[order])):
        sides += [np.searchsorted(words_of, np.arange(words + 1)), others.astype(np.int32), numbers]
    return Bigrams(*sides, repeats)


def count_classes(bigrams: Bigrams, classes: WordClasses) -> ClassCounts:
    """The counts that ``move_words`` keeps up to date."""
    count = len(classes)
    numbers = classes.class_of_word.astype(np.int64)
    numbers[BOS] = count
    words = np.arange(len(numbers))
    first = np.repeat(words, np.diff(bigrams.next_offsets))
    pairs = np.zeros((count + 1, count + 1), dtype=np.int64)
    np.add.at(pairs, (numbers[first], numbers[bigrams.next_words]), bigrams.next_counts)
    np.add.at(pairs, (numbers, numbers), bigrams.repeats)
    sizes = np.append(np.diff(classes.offsets), 1)
    return ClassCounts(pairs, pairs.sum(axis=1), pairs.sum(axis=0), sizes, numbers)


def objective(counts: ClassCounts, speed: float) -> float:
    """What ``move_words`` increases, from the counts of pairs of classes."""

    def total(numbers: np.ndarray) -> float:
        found = numbers[numbers > 0].astype(np.float64)
        return math.fsum((found * np.log(found)).ravel())

    likelihood = total(counts.pairs) - total(counts.first) - total(counts.second)
    return likelihood - speed * float((counts.second * counts.sizes).sum())


def exchange(sentences: Ragged, words: int, classes: WordClasses, speed: float, passes: int = PASSES) -> WordClasses:
    """Move one word at a time, the most frequent first, to the class that raises the objective most, until no word
    moves or for so many passes; no class becomes empty.
    """
    bigrams = count_bigrams(sentences, words)
    counts = count_classes(bigrams, classes)
    order = np.delete(np.arange(words), BOS)
    predicted = np.bincount(bigrams.next_words, weights=bigrams.next_counts, minlength=words) + bigrams.repeats
    order = order[np.argsort(-predicted[order], kind="stable")]
    for _ in range(passes):
        if move_words(bigrams, counts, order, speed) == 0:
            break
    # within a class, the most frequent words first
    units = order[np.argsort(counts.numbers[order], kind="stable")].astype(np.int32)
    offsets = np.concatenate([[0], np.cumsum(counts.sizes[:-1])])
    return WordClasses(units, offsets)


@kernel
def _h(count: int) -> float:
    return count * math.log(count) if count > 1 else 0.0


@kernel
def _add(bigrams: Bigrams, counts: ClassCounts, word: int, number: int, sign: int) -> None:
    """Put a word into a class (sign 1), or take it out (-1); ``numbers`` stays as it is.

    The margins of other classes do not change: their words are still followed and preceded as often.
    """
    pairs, first, second, sizes, numbers = counts
    for i in range(bigrams.next_offsets[word], bigrams.next_offsets[word + 1]):
        other, count = numbers[bigrams.next_words[i]], sign * bigrams.next_counts[i]
        pairs[number, other] += count
        first[number] += count
    for i in range(bigrams.before_offsets[word], bigrams.before_offsets[word + 1]):
        other, count = numbers[bigrams.before_words[i]], sign * bigrams.before_counts[i]
        pairs[other, number] += count
        second[number] += count
    count = sign * bigrams.repeats[word]
    pairs[number, number] += count
    first[number] += count
    second[number] += count
    sizes[number] += sign


@kernel
def _sum_by_class(
    offsets: np.ndarray, words: np.ndarray, counts: np.ndarray, word: int, numbers: np.ndarray, sums: np.ndarray
) -> int:
    """Add up the neighbours of a word by class; returns how many there are in all."""
    sums[:] = 0
    total = 0
    for i in range(offsets[word], offsets[word + 1]):
        sums[numbers[words[i]]] += counts[i]
        total += counts[i]
    return total


@kernel
def move_words(bigrams: Bigrams, counts: ClassCounts, words: np.ndarray, speed: float) -> int:
    """Give each of ``words`` (int64, in this order) its best class; returns how many moved. ``counts`` change."""
    pairs, first, second, sizes, numbers = counts
    classes = len(sizes) - 1
    after = np.empty(classes + 1, dtype=np.int64)
    before = np.empty(classes + 1, dtype=np.int64)
    moved = 0
    for word in words:
        old = numbers[word]
        if sizes[old] == 1:
            continue
        _add(bigrams, counts, word, old, -1)
        repeats = bigrams.repeats[word]
        follow = (
            _sum_by_class(bigrams.next_offsets, bigrams.next_words, bigrams.next_counts, word, numbers, after) + repeats
        )
        precede = (
            _sum_by_class(bigrams.before_offsets, bigrams.before_words, bigrams.before_counts, word, numbers, before)
            + repeats
        )
        nexts, befores = np.flatnonzero(after), np.flatnonzero(before)
        best, best_gain, old_gain = old, -np.inf, 0.0
        for number in range(classes):
            corner = pairs[number, number]
            gain = _h(corner + after[number] + before[number] + repeats) - _h(corner)
            for other in nexts:
                if other != number:
                    gain += _h(pairs[number, other] + after[other]) - _h(pairs[number, other])
            for other in befores:
                if other != number:
                    gain += _h(pairs[other, number] + before[other]) - _h(pairs[other, number])
            gain -= _h(first[number] + follow) - _h(first[number])
            gain -= _h(second[number] + precede) - _h(second[number])
            gain -= speed * ((second[number] + precede) * (sizes[number] + 1) - second[number] * sizes[number])
            if number == old:
                old_gain = gain
            if gain > best_gain:
                best, best_gain = number, gain
        # what rounding could have made is no gain
        if best_gain <= old_gain + 1e-7 * (1 + abs(old_gain)):
            best = old
        _add(bigrams, counts, word, best, 1)
        if best != old:
            numbers[word] = best
            moved += 1
    return moved
