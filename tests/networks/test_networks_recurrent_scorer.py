"""Fast inference with the recurrent model, beside its equations in float64."""

import numpy as np
import pytest
from recurrent_reference import random_weights, reference_scores

from neural_smt.io.ragged import Ragged
from neural_smt.networks.recurrent.configuration import AuxiliaryInputs, RecurrentConfig, RecurrentWeights, WordClasses
from neural_smt.networks.recurrent.scorer import RecurrentScorer, score_sequences
from neural_smt.networks.recurrent.tries import build_tries
from neural_smt.vocabulary import EOS, UNK

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
    scorer = RecurrentScorer(RecurrentWeights.of(config, classes, weights))
    text = random_text(2)
    words = Ragged.from_lists([[*sentence, EOS] for sentence in text])
    inputs = random_inputs(3, slots, dimensions) if slots else None
    numbers = np.random.default_rng(4).integers(0, 5, len(words.values))
    expected = []
    for i, sentence in enumerate(text):
        of_sentence = numbers[words.offsets[i] : words.offsets[i + 1]]
        known = inputs.vectors(of_sentence) if slots else np.zeros((len(sentence) + 1, 0))
        expected.append(reference_scores(config, classes, weights, sentence, known).sum())
    found, evaluations = score_sequences(scorer, words, inputs, numbers, shared=shared)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert evaluations == len(words.values) if not shared else evaluations < len(words.values)


def test_vectors_that_the_network_learned_are_read_from_its_table():
    config, classes, weights = random_model(5, slots=2, dimensions=3)
    given = random_inputs(6, 2, 3)
    words, numbers = Ragged.from_lists([[3, 4, EOS]]), np.array([1, 0, 2])
    arrays = RecurrentWeights.of(config, classes, weights)
    expected, _ = score_sequences(RecurrentScorer(arrays), words, given, numbers)
    learned = RecurrentScorer(arrays, given.table)
    found, _ = score_sequences(learned, words, AuxiliaryInputs(given.rows, None), numbers)
    assert found.tolist() == expected.tolist()


def test_all_words_that_may_follow_have_probabilities_that_sum_to_1():
    config, classes, weights = random_model(7, slots=1, dimensions=2)
    scorer = RecurrentScorer(RecurrentWeights.of(config, classes, weights))
    following = [word for word in range(WORDS) if word != 1]
    words = Ragged.from_lists([[3, UNK], *([3, UNK, word] for word in following)])
    inputs = random_inputs(8, 1, 2)
    scores, _ = score_sequences(scorer, words, inputs, np.zeros(len(words.values), dtype=np.int64))
    np.testing.assert_allclose(np.exp(scores[1:] - scores[0]).sum(), 1, rtol=1e-5)


def test_groups_do_not_share_and_their_order_does_not_matter():
    config, classes, weights = random_model(9)
    scorer = RecurrentScorer(RecurrentWeights.of(config, classes, weights))
    words = Ragged.from_lists([[3, 4, EOS], [3, 4, 5, EOS], [], [3, EOS]])
    alone, computed = score_sequences(scorer, words, first=np.array([0, 1, 2, 3, 4]))
    together, shared = score_sequences(scorer, words)
    assert alone[2] == together[2] == 0 and (computed, shared) == (3 + 4 + 0 + 2, 4)
    np.testing.assert_allclose(alone, together, atol=1e-5)
    turned, _ = score_sequences(scorer, words.take(np.array([3, 2, 1, 0])))
    np.testing.assert_allclose(turned[::-1], together, atol=1e-5)


def test_long_texts_are_scored_in_parts(monkeypatch):
    config, classes, weights = random_model(10)
    scorer = RecurrentScorer(RecurrentWeights.of(config, classes, weights))
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
