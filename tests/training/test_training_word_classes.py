"""Word classes: the toolkit's rule, the cheapest partition against all partitions, exchange against its objective."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

from neural_smt.io.ragged import Ragged
from neural_smt.networks.recurrent.configuration import WordClasses
from neural_smt.training import word_classes
from neural_smt.training.word_classes import cheapest, exchange, expected_cost, predicted_counts


def partitions(items: list[int]) -> Iterator[list[list[int]]]:
    """All ways of splitting the items into classes."""
    if not items:
        yield []
        return
    first, *rest = items
    for smaller in partitions(rest):
        yield [[first], *smaller]
        for number in range(len(smaller)):
            yield [*smaller[:number], [first, *smaller[number]], *smaller[number + 1 :]]


def cost_of(partition: list[list[int]], counts: np.ndarray) -> float:
    total = sum(counts[word] for group in partition for word in group)
    return len(partition) + sum(len(group) * sum(counts[word] for word in group) / total for group in partition)


@pytest.mark.parametrize("seed", range(6))
def test_no_partition_is_cheaper(seed: int) -> None:
    random = np.random.default_rng(seed)
    counts = random.integers(0, 30, 8) ** random.integers(1, 4)
    counts[3] += 1
    words = [0, *range(2, 8)]
    all_of_them = [(len(partition), cost_of(partition, counts)) for partition in partitions(words)]
    assert len(all_of_them) == 877
    assert expected_cost(cheapest(counts), counts) == pytest.approx(min(cost for _, cost in all_of_them), rel=1e-12)
    for count in range(1, 8):
        classes = cheapest(counts, count)
        assert len(classes) == count
        best = min(cost for size, cost in all_of_them if size == count)
        assert expected_cost(classes, counts) == pytest.approx(best, rel=1e-12)


def test_any_number_of_classes_is_as_good_as_the_best_number() -> None:
    counts = (1e6 / np.arange(1, 402)).astype(np.int64)
    costs = [expected_cost(cheapest(counts, count), counts) for count in range(1, 60)]
    assert expected_cost(cheapest(counts), counts) == pytest.approx(min(costs), rel=1e-12)


def test_expected_cost_of_given_classes() -> None:
    """Of five words predicted 4, 3, 2, 1 and 0 times, the first alone and the others together: 2 + .4 + .6 * 4."""
    classes = WordClasses(np.array([0, 2, 3, 4, 5], dtype=np.int32), np.array([0, 1, 5]))
    assert expected_cost(classes, np.array([4, 99, 3, 2, 1, 0])) == pytest.approx(2 + 0.4 + 0.6 * 4)


def test_the_toolkits_classes() -> None:
    """Roots of the shares 16, 9, 4, 1, 1 of 31: 4, 3, 2, 1, 1 of 11; a class ends with the word that exceeds c / 3."""
    counts = np.array([4, 7, 16, 1, 9, 1])
    classes = word_classes.by_frequency(counts, 3)
    assert classes.units.tolist() == [2, 4, 0, 3, 5] and classes.offsets.tolist() == [0, 1, 3, 5]
    assert len(word_classes.by_frequency(np.arange(102))) <= 10


def test_impossible_numbers_of_classes_are_refused() -> None:
    with pytest.raises(ValueError, match="6 classes of 5 words"):
        cheapest(np.array([4, 0, 3, 2, 1, 1]), 6)


WORDS = 15


def random_sentences(seed: int) -> Ragged:
    """Words 3 to 8 and 9 to 14 take turns, with repetitions and unknown words in between."""
    random = np.random.default_rng(seed)
    lists = []
    for length in random.integers(0, 9, 60):
        turns = (np.arange(length) + random.integers(2)) % 2
        words = 3 + 6 * turns + random.zipf(1.5, length) % 6
        words[random.random(length) < 0.1] = 0
        lists.append(words.tolist())
    return Ragged.from_lists(lists)


def objective_from_scratch(sentences: Ragged, numbers: np.ndarray, speed: float) -> float:
    """That of the docstring of the module, from the text itself."""

    def h(count: int) -> float:
        return count * np.log(count) if count else 0.0

    tokens = [[-1, *(int(numbers[word]) for word in words), int(numbers[2])] for words in sentences]
    bigrams = [pair for sentence in tokens for pair in pairwise(sentence)]
    first, second = ([pair[side] for pair in bigrams] for side in (0, 1))
    total = sum(h(bigrams.count(pair)) for pair in set(bigrams))
    total -= sum(h(first.count(number)) for number in set(first))
    total -= sum(h(second.count(number)) for number in set(second))
    sizes = np.bincount(numbers[[0, *range(2, WORDS)]])
    return total - speed * sum(second.count(number) * sizes[number] for number in set(second))


@pytest.mark.parametrize("speed", [0.0, 0.05, 3.0])
def test_every_exchange_raises_the_objective_and_keeps_the_counts(speed: float) -> None:
    sentences = random_sentences(1)
    start = cheapest(np.bincount(sentences.values, minlength=WORDS), 4)
    bigrams = word_classes.count_bigrams(sentences, WORDS)
    counts = word_classes.count_classes(bigrams, start)
    reached = objective_from_scratch(sentences, counts.numbers, speed)
    moves = 0
    for word in [0, *range(2, WORDS)] * 3:
        before = counts.numbers.copy()
        moved = word_classes.move_words(bigrams, counts, np.array([word]), speed)
        assert (before != counts.numbers).sum() == moved
        found = objective_from_scratch(sentences, counts.numbers, speed)
        assert found > reached if moved else found == reached
        # no other class would have been better for this word
        if counts.sizes[before[word]] > 1 or moved:
            for number in range(4):
                other = counts.numbers.copy()
                other[word] = number
                assert objective_from_scratch(sentences, other, speed) <= found + 1e-6
        moves, reached = moves + moved, found
    assert moves > 0
    # the counts that were kept up to date are those of the classes
    pairs = np.zeros((5, 5), dtype=np.int64)
    for words in sentences:
        numbers = counts.numbers[[1, *words, 2]]
        np.add.at(pairs, (numbers[:-1], numbers[1:]), 1)
    for kept, recounted in zip(counts[:3], (pairs, pairs.sum(axis=1), pairs.sum(axis=0)), strict=True):
        np.testing.assert_array_equal(kept, recounted)


def test_exchange_finds_words_that_take_turns() -> None:
    sentences = random_sentences(3)
    counts = predicted_counts(sentences, WORDS)
    start = cheapest(counts, 4)
    found = exchange(sentences, WORDS, start, 0.0)
    assert len(found) == 4
    number = found.class_of_word
    assert not {number[word] for word in range(3, 9)} & {number[word] for word in range(9, 15)}
    # a term that outweighs everything leaves only what the softmax costs
    slow = expected_cost(found, counts)
    fast = expected_cost(exchange(sentences, WORDS, start, 1e6), counts)
    assert fast == pytest.approx(expected_cost(start, counts)) and fast < slow
