"""The parts that all of the recurrent model share: classes, places of direct features, inputs, and the reference."""

import itertools

import numpy as np
import pytest
from recurrent_reference import random_weights, reference_scores

from neural_smt.errors import UserError
from neural_smt.networks.primitives import CLASSES, direct_places
from neural_smt.networks.recurrent.configuration import AuxiliaryInputs, RecurrentConfig, RecurrentWeights, WordClasses
from neural_smt.vocabulary import BOS, EOS, UNK

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


def test_inputs_are_rows_of_a_table_side_by_side() -> None:
    table = np.arange(8, dtype=np.float32).reshape(4, 2)
    inputs = AuxiliaryInputs(np.array([[0, 3], [2, 2]], dtype=np.int32), table)
    assert inputs.vectors(np.array([1, 0])).tolist() == [[4, 5, 4, 5], [0, 1, 6, 7]]
    learned = AuxiliaryInputs(inputs.rows, None)
    assert learned.vectors(np.array([0]), -table).tolist() == [[0, -1, -6, -7]]
    with pytest.raises(ValueError, match="no table"):
        learned.vectors(np.array([0]))


def test_sizes_that_cannot_be_are_refused() -> None:
    with pytest.raises(UserError, match="hidden is 0"):
        RecurrentConfig(7, 3, hidden=0)
    with pytest.raises(UserError, match="2 slots of 0 dimensions"):
        RecurrentConfig(7, 3, slots=2)
    with pytest.raises(UserError, match="power of 2"):
        RecurrentConfig(7, 3, direct_size=100)
    with pytest.raises(UserError, match="four times the 7 words"):
        RecurrentConfig(7, 3, direct_size=16)


def test_weights_that_a_model_does_without_are_empty() -> None:
    config = RecurrentConfig(7, 3, hidden=5, direct_size=0)
    weights = RecurrentWeights.of(config, CLASSES_OF_SEVEN, random_weights(config, 1))
    assert weights.input_hidden.shape == (5, 0) and weights.direct.shape == (0,)
    assert weights.class_output.shape == (3, 5) and weights.word_output.shape == (6, 5)
    assert all(array.dtype == np.float32 for array in weights[:6])
