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
from scipy import sparse

from neural_smt.errors import UserError
from neural_smt.experiment.settings import Settings
from neural_smt.io.ragged import Ragged
from neural_smt.jit import kernel
from neural_smt.networks.recurrent.configuration import WordClasses
from neural_smt.training.texts import NgramText
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
    numbers, number = np.zeros(len(units), dtype=np.int64), 0
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
    try every pair of ends: of 100,000 words it takes half a second for any number of classes, and time C V log V for a
    given one.
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
    """Where classes end (but the last), for D[j] = min_i D[i] + 1 + (j - i) (F_j - F_i), the last of equal i."""
    count = len(running) - 1
    costs, before = np.zeros(count + 1), np.zeros(count + 1, dtype=np.int64)
    for j in range(1, count + 1):
        costs[j] = np.inf
        for i in range(before[j - 1], j):
            cost = costs[i] + 1 + (j - i) * (running[j] - running[i])
            if cost <= costs[j]:
                costs[j], before[j] = cost, i
    ends = [count]
    while before[ends[-1]] > 0:
        ends.append(before[ends[-1]])
    return np.array(ends[:0:-1])


def _best_ends_of(running: np.ndarray, classes: int) -> np.ndarray:
    """``_best_ends`` for so many classes, one after the other, the first of equal i."""
    count = len(running) - 1
    costs, before = np.arange(count + 1) * running, np.zeros((classes + 1, count + 1), dtype=np.int64)
    for layer in range(2, classes + 1):
        better = np.full(count + 1, np.inf)
        _fill_layer(costs, running, better, before[layer], layer, count, layer - 1, count - 1)
        costs = better
    ends = [count]
    for layer in range(classes, 1, -1):
        ends.append(before[layer, ends[-1]])
    return np.array(ends[:0:-1])


@kernel
def _fill_layer(
    costs: np.ndarray, running: np.ndarray, better: np.ndarray, before: np.ndarray, low: int, high: int, first: int,
    last: int,
) -> None:  # fmt: skip
    """Ends ``low`` to ``high`` of a layer, the middle one first, whose best starts are from ``first`` to ``last``."""
    if low > high:
        return
    j = (low + high) // 2
    before[j] = first
    for i in range(first, min(last, j - 1) + 1):
        cost = costs[i] + (j - i) * (running[j] - running[i])
        if cost < better[j]:
            better[j], before[j] = cost, i
    _fill_layer(costs, running, better, before, low, j - 1, first, before[j])
    _fill_layer(costs, running, better, before, j + 1, high, before[j], last)


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

COUNTED = 1 << 22
"""Predictions that are counted at a time, which bounds memory."""


class Neighbours(NamedTuple):
    """Words beside each word, and how often: those of word w at ``offsets[w]:offsets[w + 1]``."""

    offsets: np.ndarray
    words: np.ndarray
    counts: np.ndarray


class Bigrams(NamedTuple):
    """Bigrams of words, sentence boundaries included, by their first word and by their second.

    repeats: int64 ``[V]``, how often a word follows itself (these bigrams stand nowhere else).
    """

    following: Neighbours
    preceding: Neighbours
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
    by_first = sparse.csr_array((words, words), dtype=np.int64)
    for contexts, predicted in NgramText.of(sentences, 1).pieces(COUNTED):
        ones = np.ones(len(predicted), dtype=np.int64)
        by_first = by_first + sparse.coo_array((ones, (contexts[:, 0], predicted)), shape=(words, words)).tocsr()
    repeats = by_first.diagonal()
    by_first.setdiag(0)
    by_first.eliminate_zeros()
    after, before = (Neighbours(side.indptr, side.indices, side.data) for side in (by_first, by_first.tocsc()))
    return Bigrams(after, before, repeats)


def count_classes(bigrams: Bigrams, classes: WordClasses) -> ClassCounts:
    """The counts that ``move_words`` keeps up to date."""
    count, numbers = len(classes), classes.class_of_word.astype(np.int64)
    numbers[BOS] = count
    following = bigrams.following
    first = np.repeat(np.arange(len(numbers)), np.diff(following.offsets))
    pairs = np.zeros((count + 1, count + 1), dtype=np.int64)
    np.add.at(pairs, (numbers[first], numbers[following.words]), following.counts)
    np.add.at(pairs, (numbers, numbers), bigrams.repeats)
    sizes = np.append(np.diff(classes.offsets), 1)
    return ClassCounts(pairs, pairs.sum(axis=1), pairs.sum(axis=0), sizes, numbers)


def exchange(sentences: Ragged, words: int, classes: WordClasses, speed: float) -> WordClasses:
    """Move one word at a time, the most frequent first, to the class that raises the objective most, until no word
    moves or for ``PASSES``; no class becomes empty.
    """
    bigrams = count_bigrams(sentences, words)
    counts = count_classes(bigrams, classes)
    order = _by_count(predicted_counts(sentences, words))
    for _ in range(PASSES):
        if move_words(bigrams, counts, order, speed) == 0:
            break
    # within a class, the most frequent words first
    units = order[np.argsort(counts.numbers[order], kind="stable")]
    offsets = np.concatenate([[0], np.cumsum(counts.sizes[:-1])])
    return WordClasses(units, offsets)


@kernel
def _h(count: int) -> float:
    return count * math.log(count) if count > 1 else 0.0


@kernel
def _add_side(
    side: Neighbours, numbers: np.ndarray, pairs: np.ndarray, totals: np.ndarray, word: int, number: int, sign: int
) -> None:
    """``_add`` for the words on one side; pairs: by the word's class, then by theirs; totals: by the word's class."""
    for i in range(side.offsets[word], side.offsets[word + 1]):
        count = sign * side.counts[i]
        pairs[number, numbers[side.words[i]]] += count
        totals[number] += count


@kernel
def _add(bigrams: Bigrams, counts: ClassCounts, word: int, number: int, sign: int) -> None:
    """Put a word into a class (sign 1), or take it out (-1); ``numbers`` stays as it is.

    The margins of other classes do not change: their words are still followed and preceded as often.
    """
    pairs, first, second, sizes, numbers = counts
    _add_side(bigrams.following, numbers, pairs, first, word, number, sign)
    _add_side(bigrams.preceding, numbers, pairs.T, second, word, number, sign)
    count = sign * bigrams.repeats[word]
    pairs[number, number] += count
    first[number] += count
    second[number] += count
    sizes[number] += sign


@kernel
def _sum_by_class(side: Neighbours, word: int, numbers: np.ndarray, sums: np.ndarray) -> int:
    """Add up the neighbours of a word by class; returns how many there are in all."""
    sums[:] = 0
    total = 0
    for i in range(side.offsets[word], side.offsets[word + 1]):
        sums[numbers[side.words[i]]] += side.counts[i]
        total += side.counts[i]
    return total


@kernel
def move_words(bigrams: Bigrams, counts: ClassCounts, words: np.ndarray, speed: float) -> int:
    """Give each of ``words`` (int32, in this order) its best class; returns how many moved. ``counts`` change."""
    pairs, first, second, sizes, numbers = counts
    classes = len(sizes) - 1
    after, before = np.empty(classes + 1, dtype=np.int64), np.empty(classes + 1, dtype=np.int64)
    moved = 0
    for word in words:
        old = numbers[word]
        if sizes[old] == 1:
            continue
        _add(bigrams, counts, word, old, -1)
        repeats = bigrams.repeats[word]
        follow = _sum_by_class(bigrams.following, word, numbers, after) + repeats
        precede = _sum_by_class(bigrams.preceding, word, numbers, before) + repeats
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
