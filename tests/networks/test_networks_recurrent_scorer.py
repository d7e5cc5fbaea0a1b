"""Fast inference with the recurrent model beside its equations in float64; the parts it shares with training."""

import itertools

import numpy as np
import pytest
from network_cases import CLASSES as CLASSES_OF_NINE
from network_cases import INPUTS, RECURRENT, Case
from references import in_numpy
from torch import nn

from neural_smt.io.ragged import Ragged
from neural_smt.networks.primitives import CLASSES, direct_places
from neural_smt.networks.recurrent.configuration import AuxiliaryInputs, WordClasses
from neural_smt.networks.recurrent.scorer import RecurrentScorer, score_sequences
from neural_smt.networks.recurrent.tries import build_tries
from neural_smt.vocabulary import BOS, EOS, UNK


def scorer_of(network: nn.Module) -> RecurrentScorer:
    return RecurrentScorer(network.config, CLASSES_OF_NINE, network.float().arrays())


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("case", RECURRENT.values(), ids=RECURRENT)
def test_scores_are_those_of_the_equations(case: Case, shared: bool) -> None:
    network, examples = case.random(), case.examples(60, 2)
    expected = [case.score(in_numpy(network), example, np) for example in examples]
    words = Ragged.from_lists([[*sentence, EOS] for sentence, _ in examples])
    rows = np.unique(np.concatenate([rows for _, rows in examples]), axis=0, return_inverse=True)
    table = None if network.config.input_rows else INPUTS.astype(np.float32)
    inputs = AuxiliaryInputs(rows[0].astype(np.int32), table) if network.config.slots else None
    found, evaluations = score_sequences(scorer_of(network), words, inputs, rows[1].ravel(), shared=shared)
    np.testing.assert_allclose(found, expected, atol=2e-5)
    assert evaluations == len(words.values) if not shared else evaluations < len(words.values)


def test_groups_do_not_share_and_their_order_does_not_matter() -> None:
    scorer = scorer_of(RECURRENT["direct"].random())
    words = Ragged.from_lists([[3, 4, EOS], [3, 4, 5, EOS], [], [3, EOS]])
    alone, computed = score_sequences(scorer, words, first=np.array([0, 1, 2, 3, 4]))
    together, shared = score_sequences(scorer, words)
    assert alone[2] == together[2] == 0 and (computed, shared) == (3 + 4 + 0 + 2, 4)
    np.testing.assert_allclose(alone, together, atol=1e-5)
    turned, _ = score_sequences(scorer, words.take(np.array([3, 2, 1, 0])))
    np.testing.assert_allclose(turned[::-1], together, atol=1e-5)


def test_long_texts_are_scored_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    case = RECURRENT["direct"]
    scorer = scorer_of(case.random())
    words = Ragged.from_lists([[*sentence, EOS] for sentence, _ in case.examples(30, 11)])
    first = np.arange(0, 31, 3)
    whole, _ = score_sequences(scorer, words, first=first)
    monkeypatch.setattr("neural_smt.networks.recurrent.scorer.ROWS", 20)
    parts, _ = score_sequences(scorer, words, first=first)
    np.testing.assert_allclose(parts, whole, atol=1e-5)


def test_a_prefix_tree_holds_what_is_distinct() -> None:
    # Two sequences begin alike, with the same input; a third has another input at its first word.
    words, inputs = Ragged.from_lists([[3, 4], [3, 5], [3]]), np.array([0, 1, 0, 1, 2], np.int32)
    class_of_word = np.array([0, -1, 0, 1, 2, 2], np.int32)
    tries = build_tries(np.zeros(1, np.int32), np.array([0, 3]), words, inputs, class_of_word)
    assert sorted(tries.pair_input.tolist()) == [0, 1, 2]  # after the root 0 and 2, after the first word 1
    assert sorted(tries.entry_word.tolist()) == [3, 3, 4, 5] and len(tries.query_class) == 3
    assert tries.entry_word[tries.sequence_entry].tolist() == [4, 5, 3]
    plain = build_tries(np.zeros(1, np.int32), np.array([0, 3]), words, inputs, class_of_word, shared=False)
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
