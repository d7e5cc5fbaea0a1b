"""Fast inference with the recurrent model beside its equations in float64; the parts it shares with training."""

import itertools

import numpy as np
import pytest
from recurrent_reference import random_weights, reference_scores

from neural_smt.errors import UserError
from neural_smt.io.ragged import Ragged
from neural_smt.networks.primitives import CLASSES, direct_places
from neural_smt.networks.recurrent.configuration import AuxiliaryInputs, RecurrentConfig, WordClasses
from neural_smt.networks.recurrent.scorer import RecurrentScorer, score_sequences
from neural_smt.networks.recurrent.tries import build_tries
from neural_smt.vocabulary import BOS, EOS, UNK

WORDS, HIDDEN = 12, 6
OFFSETS = np.array([0, 1, 4, 8, WORDS - 1])


def random_model(seed, slots=0, dimensions=0, direct_size=64, direct_order=3, hidden=HIDDEN):
    """Configuration, classes and weights; a class of one word is among the classes."""
    config = RecurrentConfig(WORDS, len(OFFSETS) - 1, hidden, slots, dimensions, 0, direct_size, direct_order)
    units = np.random.default_rng(seed).permutation(np.delete(np.arange(WORDS), 1)).astype(np.int32)
    return config, WordClasses(units, OFFSETS), random_weights(config, seed)


def random_text(seed, count=30):
    """Sentences of few words, so that many begin alike; some are empty, some hold unknown words."""
    generator = np.random.default_rng(seed)
    return [generator.choice([UNK, 3, 4, 5], generator.integers(0, 6)).tolist() for _ in range(count)]


def random_inputs(seed, slots, dimensions, count=5):
    generator = np.random.default_rng(seed)
    rows = generator.integers(0, 4, (count, slots)).astype(np.int32)
    return AuxiliaryInputs(rows, generator.normal(size=(4, dimensions)).astype(np.float32))


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(
    ("slots", "dimensions", "direct_size", "direct_order"),
    [(0, 0, 64, 3), (0, 0, 0, 3), (2, 3, 64, 3), (1, 4, 0, 3), (3, 2, 64, 1), (2, 3, 128, 5)],
)
def test_scores_are_those_of_the_equations(slots, dimensions, direct_size, direct_order, shared):
    config, classes, weights = random_model(1, slots, dimensions, direct_size, direct_order)
    scorer = RecurrentScorer(config, classes, weights)
    text = random_text(2)
    words = Ragged.from_lists([[*sentence, EOS] for sentence in text])
    inputs = random_inputs(3, slots, dimensions) if slots else None
    numbers = np.random.default_rng(4).integers(0, 5, len(words.values))
    expected = []
    for i, sentence in enumerate(text):
        of_sentence = numbers[words.offsets[i] : words.offsets[i + 1]]
        known = inputs.table[inputs.rows[of_sentence]] if slots else np.zeros((len(sentence) + 1, 0))
        expected.append(reference_scores(config, classes, weights, sentence, known.reshape(len(known), -1)).sum())
    found, evaluations = score_sequences(scorer, words, inputs, numbers, shared=shared)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert evaluations == len(words.values) if not shared else evaluations < len(words.values)


def test_vectors_that_the_network_learned_are_read_from_its_table():
    config, classes, weights = random_model(5, slots=2, dimensions=3)
    given = random_inputs(6, 2, 3)
    words, numbers = Ragged.from_lists([[3, 4, EOS]]), np.array([1, 0, 2])
    expected, _ = score_sequences(RecurrentScorer(config, classes, weights), words, given, numbers)
    learned = RecurrentScorer(config, classes, weights | {"input_table": given.table})
    found, _ = score_sequences(learned, words, AuxiliaryInputs(given.rows, None), numbers)
    assert found.tolist() == expected.tolist()


def test_groups_do_not_share_and_their_order_does_not_matter():
    config, classes, weights = random_model(9)
    scorer = RecurrentScorer(config, classes, weights)
    words = Ragged.from_lists([[3, 4, EOS], [3, 4, 5, EOS], [], [3, EOS]])
    alone, computed = score_sequences(scorer, words, first=np.array([0, 1, 2, 3, 4]))
    together, shared = score_sequences(scorer, words)
    assert alone[2] == together[2] == 0 and (computed, shared) == (3 + 4 + 0 + 2, 4)
    np.testing.assert_allclose(alone, together, atol=1e-5)
    turned, _ = score_sequences(scorer, words.take(np.array([3, 2, 1, 0])))
    np.testing.assert_allclose(turned[::-1], together, atol=1e-5)


def test_long_texts_are_scored_in_parts(monkeypatch):
    config, classes, weights = random_model(10)
    scorer = RecurrentScorer(config, classes, weights)
    words = Ragged.from_lists([[*sentence, EOS] for sentence in random_text(11)])
    first = np.arange(0, 31, 3)
    whole, _ = score_sequences(scorer, words, first=first)
    monkeypatch.setattr("neural_smt.networks.recurrent.scorer.ROWS", 20)
    parts, _ = score_sequences(scorer, words, first=first)
    np.testing.assert_allclose(parts, whole, atol=1e-5)


def test_a_prefix_tree_holds_what_is_distinct():
    # Two sequences begin alike, with the same input; a third has another input at its first word.
    words, inputs = np.array([3, 4, 3, 5, 3], np.int32), np.array([0, 1, 0, 1, 2], np.int32)
    class_of_word = np.array([0, -1, 0, 1, 2, 2], np.int32)
    offsets = np.array([0, 2, 4, 5])
    tries = build_tries(np.zeros(1, np.int32), np.array([0, 3]), offsets, words, inputs, class_of_word)
    assert sorted(tries.pair_input.tolist()) == [0, 1, 2]  # after the root 0 and 2, after the first word 1
    assert sorted(tries.entry_word.tolist()) == [3, 3, 4, 5] and len(tries.query_class) == 3
    assert tries.entry_word[tries.sequence_entry].tolist() == [4, 5, 3]
    plain = build_tries(np.zeros(1, np.int32), np.array([0, 3]), offsets, words, inputs, class_of_word, shared=False)
    assert len(plain.pair_input) == len(plain.entry_word) == 5


CLASSES_OF_SEVEN = WordClasses(np.array([3, 5, 0, 2, 6, 4], dtype=np.int32), np.array([0, 2, 3, 6]))


def places_of(history: list[int], number: int, span: int, size: int = 64) -> list[int]:
    places = np.empty(len(history) + 1, dtype=np.int64)
    count = direct_places(np.array(history, dtype=np.int32), len(history) + 1, number, span, size, places)
    return places[:count].tolist()


def test_every_word_but_the_start_is_a_unit_of_one_class() -> None:
    assert CLASSES_OF_SEVEN.unit_of_word.tolist() == [2, -1, 3, 0, 5, 1, 4]
    assert CLASSES_OF_SEVEN.class_of_word.tolist() == [1, -1, 2, 0, 2, 0, 2]
    with pytest.raises(ValueError, match="all words but BOS"):
        WordClasses(np.array([0, 1, 2]), np.array([0, 3]))
    with pytest.raises(ValueError, match="rise from 0"):
        WordClasses(np.array([0, 2, 3]), np.array([0, 3, 3]))


def test_direct_features_lie_in_their_half_and_fit_into_it() -> None:
    for word, number in itertools.product(range(3, 60), (CLASSES, 0, 4)):
        places = places_of([word, word + 1], number, span=9)
        first = 0 if number == CLASSES else 32
        assert len(places) == 3 and all(first <= place <= first + 32 - 9 for place in places)


def test_direct_features_depend_on_class_history_and_its_order() -> None:
    size = 1 << 30
    keys = [places_of([3, 4], CLASSES, 5, size), places_of([4, 3], CLASSES, 5, size), places_of([3, 4], 0, 5, size)]
    assert len({places[2] for places in keys}) == 3
    assert keys[0][0] == keys[1][0] and keys[0][1] == places_of([3, 9], CLASSES, 5, size)[1]


def test_an_unknown_word_ends_the_history() -> None:
    assert len(places_of([UNK, 4], CLASSES, 5)) == 1
    assert len(places_of([4, UNK], CLASSES, 5)) == 2
    assert len(places_of([BOS, BOS], CLASSES, 5)) == 3


@pytest.mark.parametrize("inputs", [0, 4])
def test_the_reference_is_a_distribution_over_sentences(inputs: int) -> None:
    config = RecurrentConfig(7, 3, hidden=5, slots=min(inputs, 2), dimensions=inputs // 2, direct_size=64)
    weights = random_weights(config, 1)
    vectors = np.random.default_rng(2).normal(size=(3, inputs))
    first = [word for word in range(7) if word not in (BOS, EOS)]
    total = 0.0
    for words in itertools.chain([[]], ([a] for a in first), ([a, b] for a in first for b in first)):
        scores = reference_scores(config, CLASSES_OF_SEVEN, weights, words, vectors[: len(words) + 1])
        # sentences of up to one word end there; of those with two only the words count, whatever follows
        total += np.exp(scores.sum() if len(words) < 2 else scores[:2].sum())
    assert total == pytest.approx(1, abs=1e-12)


def test_sizes_that_cannot_be_are_refused() -> None:
    with pytest.raises(UserError, match="2 slots of 0 dimensions"):
        RecurrentConfig(7, 3, slots=2)
    with pytest.raises(UserError, match="power of 2"):
        RecurrentConfig(7, 3, direct_size=100)
    with pytest.raises(UserError, match="four times the 7 words"):
        RecurrentConfig(7, 3, direct_size=16)
