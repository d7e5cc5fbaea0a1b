"""Extraction against a literal reading of its definition, orientations by hand, numbering of phrases."""

import numpy as np
import pytest
from aligned_texts import CASES, random_text, slow_pairs, spelt
from alignments import alignments_of
from refusals import check_refused

from neural_smt.io.ragged import Ragged
from neural_smt.io.sorting import sort_pairs
from neural_smt.phrases import extraction
from neural_smt.phrases.extraction import extract_pairs, run_ranges, split_evenly
from neural_smt.phrases.interning import gather_phrases, intern_phrases
from neural_smt.phrases.primitives import LENGTH_BITS


@pytest.mark.parametrize("longest", [1, 3, 7, 8])
def test_extraction_finds_every_consistent_pair_once(longest: int) -> None:
    source, target, links = random_text(seed=longest, sentences=100, words=9)
    pairs = extract_pairs(source, target, alignments_of(links), longest)
    expected = []
    for i, own in enumerate(links):
        expected += slow_pairs(source[i].tolist(), target[i].tolist(), own, longest)
    assert len(expected) > 60
    assert sorted(spelt(pairs)) == sorted(expected)


@pytest.mark.parametrize("case", CASES["orientations"], ids=str)
def test_orientation_by_hand(case: dict[str, list]) -> None:
    sentence = Ragged.from_lists([[0, 1, 2]])
    pairs = spelt(extract_pairs(sentence, sentence, alignments_of([case["links"]]), 7))
    found = [pair[3:] for pair in pairs if [*map(list, pair[:2])] == case["pair"]]
    assert found == [tuple(getattr(extraction, name.upper()) for name in case["oriented"])]


@pytest.mark.parametrize("longest", [0, 9])
def test_no_sentences_give_no_pairs_and_impossible_lengths_are_refused(longest: int) -> None:
    empty = Ragged.from_lists([])
    pairs = extract_pairs(empty, empty, alignments_of([]), 7)
    assert len(pairs) == len(pairs.source_phrases) == 0
    check_refused(["max_length", longest], extract_pairs, empty, empty, alignments_of([]), longest)


def test_phrases_are_numbered_in_shortlex_order() -> None:
    rng = np.random.default_rng(3)
    phrases = [tuple(rng.integers(0, 4, size=rng.integers(1, 6)).tolist()) for _ in range(500)]
    distinct, numbers = intern_phrases(Ragged.from_lists(phrases))
    expected = sorted(set(phrases), key=lambda phrase: (len(phrase), phrase))
    assert [tuple(phrase.tolist()) for phrase in distinct] == expected
    assert [expected[number] for number in numbers] == phrases


def test_numbering_survives_growth_and_the_longest_phrases() -> None:
    """More distinct phrases than the trie first has room for, and ids near the largest int32."""
    largest = np.iinfo(np.int32).max
    phrases = [[largest - n, n] for n in range(9000)] + [list(range((1 << LENGTH_BITS) - 1))]
    distinct, numbers = intern_phrases(Ragged.from_lists(phrases))
    assert len(distinct) == 9001
    assert [distinct[int(number)].tolist() for number in numbers] == phrases


def test_pairs_are_sorted_stably() -> None:
    rng = np.random.default_rng(4)
    first, second = rng.integers(0, 5, 200).astype(np.int32), rng.integers(0, 7, 200).astype(np.int32)
    order, offsets = sort_pairs(first, second, 6, 7)
    np.testing.assert_array_equal(order, np.lexsort((second, first)))
    np.testing.assert_array_equal(offsets, np.searchsorted(first[order], np.arange(7)))


@pytest.mark.parametrize("values", [np.arange(3, dtype=np.int32), np.arange(6, dtype=np.uint8).reshape(3, 2)])
def test_gathered_phrases_are_those_taken(values: np.ndarray) -> None:
    phrases, rows = Ragged(values, np.array([0, 2, 2, 3])), np.array([2, 0, 0, 1])
    gathered, taken = gather_phrases(phrases, rows), phrases.take(rows)
    np.testing.assert_array_equal(gathered.values, taken.values, strict=True)
    np.testing.assert_array_equal(gathered.offsets, taken.offsets)


def test_ranges_cover_everything_once_and_pass_errors_on() -> None:
    offsets = np.array([0, 0, 500, 501, 502, 502, 503])
    ranges = split_evenly(offsets, 2)
    assert [n for first, end in ranges for n in range(first, end)] == list(range(6))
    assert split_evenly(np.zeros(1, dtype=np.int64), 2) == []

    def fail(part: tuple[int, int]) -> None:
        raise ValueError(part)

    with pytest.raises(ValueError, match="0"):
        run_ranges(fail, offsets, 2)
