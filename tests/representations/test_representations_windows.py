"""Windows of words around the aligned ones, against plain Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neural_smt.io.ragged import Ragged
from neural_smt.networks.recurrent.configuration import LINKS, LinkSets
from neural_smt.representations.links import Window, parse_window, window_rows


def link_sets(sets: list[tuple[int, list[int]]]) -> LinkSets:
    sentences = np.array([sentence for sentence, _ in sets], dtype=np.int32)
    return LinkSets(sentences, Ragged.from_lists([positions for _, positions in sets]))


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


def test_words_keep_their_order_and_what_is_missing_is_row_0() -> None:
    ids = Ragged.from_lists([[9], [3, 4, 5, 6, 7]])
    links = link_sets([(0, []), (1, [1, 3]), (1, []), (1, [0])])
    assert window_rows(ids, links, parse_window("p3c3n2")).tolist() == [
        [0, 0, 10, 0, 0, 0, 0, 0],
        [0, 0, 4, 5, 7, 0, 8, 0],
        [6, 7, 8, 0, 0, 0, 0, 0],
        [0, 0, 0, 4, 0, 0, 5, 6],
    ]


@settings(max_examples=150)
@given(st.data(), st.lists(st.lists(st.integers(0, 9), max_size=7), min_size=1, max_size=3))
def test_rows_are_those_of_plain_python(data: st.DataObject, sentences: list[list[int]]) -> None:
    window = Window(*data.draw(st.tuples(st.integers(0, 9), st.integers(0, LINKS), st.integers(0, 9))))
    sets = []
    for sentence, words in enumerate(sentences):
        positions = st.sets(st.integers(0, max(len(words) - 1, 0)), max_size=min(LINKS, len(words))).map(sorted)
        sets += [(sentence, found) for found in data.draw(st.lists(positions, max_size=3))]
    rows = window_rows(Ragged.from_lists(sentences), link_sets(sets), window)
    assert rows.dtype == np.int32 and rows.shape == (len(sets), window.slots)
    assert rows.tolist() == [slow_rows(sentences[sentence], positions, window) for sentence, positions in sets]


@pytest.mark.parametrize("sets", [[(0, [2])], [(1, [])], [(-1, [])], [(0, [-1])]])
def test_links_outside_the_text_are_refused(sets: list[tuple[int, list[int]]]) -> None:
    with pytest.raises(ValueError, match=r"links? "):
        window_rows(Ragged.from_lists([[5, 6]]), link_sets(sets), parse_window("n1"))
