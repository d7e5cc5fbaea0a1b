"""Which source words a predicted word is aligned to, and windows around them, against plain Python."""

import numpy as np
import pytest
from alignments import alignments_of, link_sets
from hypothesis import given
from hypothesis import strategies as st

from neural_smt.io.ragged import Ragged
from neural_smt.networks.recurrent.configuration import LINKS
from neural_smt.representations import links
from neural_smt.representations.links import Window, parse_window

Pairs = list[tuple[int, int]]
Text = tuple[list[Pairs], list[int]]


def slow_positions(pairs: Pairs, length: int) -> list[list[int]]:
    own = [sorted({i for i, j in pairs if j == word})[:LINKS] for word in range(length)]
    result = []
    for word in range(length):
        candidates = [*range(word, -1, -1), *range(word + 1, length)]
        result.append(next((own[other] for other in candidates if own[other]), []))
    return result


def lists(ragged: Ragged) -> list[list[int]]:
    return [item.tolist() for item in ragged]


@st.composite
def texts(draw: st.DrawFn) -> Text:
    lengths = draw(st.lists(st.integers(0, 6), max_size=5))
    items = [draw(st.lists(st.tuples(st.integers(0, 9), st.integers(0, n - 1)), max_size=14)) if n else []
             for n in lengths]  # fmt: skip
    return items, lengths


def test_the_first_five_links_count_each_once() -> None:
    found = alignments_of([[(i, 0) for i in (9, 4, 4, 7, 2, 0, 8, 3, 2)]])
    alignment = Ragged(found.values.astype(np.uint8), found.offsets)
    assert lists(links.aligned_positions(alignment, np.array([1]))) == [[0, 2, 3, 4, 7]]


@given(texts())
def test_positions_are_those_of_plain_python(text: Text) -> None:
    items, lengths = text
    found = links.aligned_positions(alignments_of(items), np.array(lengths, dtype=np.int64))
    assert found.values.dtype == np.int32 and found.offsets.dtype == np.int64
    expected = [words for pairs, n in zip(items, lengths, strict=True) for words in slow_positions(pairs, n)]
    assert lists(found) == expected


@given(texts(), st.sampled_from([1, 2, links.SENTENCES]))
def test_tokens_have_the_sets_of_their_words_and_ends_empty_ones(text: Text, block: int) -> None:
    items, lengths = text
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(links, "SENTENCES", block)
        sets, numbers = links.training_links(alignments_of(items), np.array(lengths, dtype=np.int64))
    expected = [
        (sentence, tuple(words))
        for sentence, (pairs, n) in enumerate(zip(items, lengths, strict=True))
        for words in [*slow_positions(pairs, n), []]
    ]
    known = list(zip(sets.sentences.tolist(), map(tuple, lists(sets.positions)), strict=True))
    assert [known[number] for number in numbers] == expected
    assert known == list(dict.fromkeys(expected))  # each once, as they come
    assert numbers.dtype == sets.sentences.dtype == np.int32


@given(st.lists(st.tuples(st.integers(0, 3), st.sets(st.integers(0, 4), max_size=LINKS).map(sorted)), max_size=40))
def test_equal_sets_of_a_sentence_share_a_number(predictions: list[tuple[int, list[int]]]) -> None:
    sentences = np.array([sentence for sentence, _ in predictions], dtype=np.int32)
    sets, numbers = links.intern_links(sentences, Ragged.from_lists([positions for _, positions in predictions]))
    known = list(zip(sets.sentences.tolist(), map(tuple, lists(sets.positions)), strict=True))
    expected = [(sentence, tuple(positions)) for sentence, positions in predictions]
    assert [known[number] for number in numbers] == expected
    # by sentence, then in the order in which they come, each once
    assert known == sorted(dict.fromkeys(expected), key=lambda found: found[0])


def test_links_outside_their_sentence_are_refused() -> None:
    for pairs, lengths, fault in (([(0, 2)], [2], "outside"), ([(-1, 0)], [2], "outside"), ([], [2, 2], "1 .* of 2")):
        with pytest.raises(ValueError, match=fault):
            links.aligned_positions(alignments_of([pairs]), np.array(lengths))
    with pytest.raises(ValueError, match="1 sets of positions for 2"):
        links.intern_links(np.array([0, 0]), Ragged.from_lists([[1]]))


def slow_rows(words: list[int], positions: list[int], window: Window) -> list[int]:
    first, last = (positions[0], positions[-1]) if positions else (len(words), len(words))
    wanted = [*range(first - window.previous, first)]
    wanted += (positions + [-1] * window.aligned)[: window.aligned]
    wanted += range(last + 1, last + 1 + window.following)
    return [words[position] + 1 if 0 <= position < len(words) else 0 for position in wanted]


def test_windows_of_the_paper_have_their_names() -> None:
    assert [parse_window(name) for name in ("n5", "p5n5", "p3", "c5")] == [(0, 0, 5), (5, 0, 5), (3, 0, 0), (0, 5, 0)]
    assert parse_window("p2c1n12") == (2, 1, 12)
    assert parse_window("p5n5").slots == 10


@given(st.data(), st.lists(st.lists(st.integers(0, 9), max_size=7), min_size=1, max_size=3))
def test_rows_are_those_of_plain_python(data: st.DataObject, sentences: list[list[int]]) -> None:
    window = Window(*data.draw(st.tuples(st.integers(0, 9), st.integers(0, LINKS), st.integers(0, 9))))
    sets = []
    for sentence, words in enumerate(sentences):
        positions = st.sets(st.integers(0, max(len(words) - 1, 0)), max_size=min(LINKS, len(words))).map(sorted)
        sets += [(sentence, found) for found in data.draw(st.lists(positions, max_size=3))]
    rows = links.window_rows(Ragged.from_lists(sentences), link_sets(*sets), window)
    assert rows.dtype == np.int32 and rows.shape == (len(sets), window.slots)
    assert rows.tolist() == [slow_rows(sentences[sentence], positions, window) for sentence, positions in sets]


@pytest.mark.parametrize("sets", [[(0, [2])], [(1, [])], [(-1, [])], [(0, [-1])]])
def test_links_outside_the_text_are_refused(sets: list[tuple[int, list[int]]]) -> None:
    with pytest.raises(ValueError, match=r"links? "):
        links.window_rows(Ragged.from_lists([[5, 6]]), link_sets(*sets), parse_window("n1"))
