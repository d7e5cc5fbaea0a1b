"""Word classes by exchange: the class bigram likelihood of a text with a term for the time that a softmax takes.

The objective of classes c of a text of N predictions, in nats:

    sum_{a, b} h(n(a, b)) - sum_a h(n(a, .)) - sum_b h(n(., b)) - speed sum_c n(., c) |c|,   h(n) = n ln n,

the logarithm of the likelihood of a class bigram model but for what does not depend on the classes (Kneser and Ney
1993), less ``speed`` nats for every output that is computed for a word within its class. The idea of the second term is
that of Zweig and Makarychev (2013); how they wrote it is not known, the term and its weight are ours. The number of
classes stays, so that their outputs need not be counted.
"""

import math
from typing import NamedTuple

import numpy as np

from neural_smt.io.ragged import Ragged
from neural_smt.jit import kernel
from neural_smt.networks.recurrent.configuration import WordClasses
from neural_smt.vocabulary import BOS, EOS

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
