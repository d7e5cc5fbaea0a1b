"""Estimation in blocks on disk gives the n-grams of estimation in memory, to the last bit, and keeps to its memory."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ngram_tables import random_text, real_text
from refusals import check_refused

from neural_smt.io.files import read_lines
from neural_smt.io.ragged import Ragged
from neural_smt.language_model import counting
from neural_smt.language_model.counting import Column, count_values, put_rising, take, take_rising
from neural_smt.language_model.estimation import Estimate, estimate, estimate_in_blocks, estimate_within, parse_memory


def assert_same(ours: Estimate, theirs: Estimate) -> None:
    assert ours.discounts.tobytes() == theirs.discounts.tobytes()
    for our, their in zip(ours.tables, theirs.tables, strict=True):
        for name in ("words", "log10_prob", "backoff"):
            one, other = getattr(our, name), getattr(their, name)
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            assert one.tobytes() == other.tobytes(), (our.order, name)


@given(
    sentences=st.lists(st.lists(st.integers(0, 7), max_size=7), min_size=1, max_size=14).filter(any),
    order=st.integers(1, 5),
    prune=st.sampled_from([[], [0, 1], [0, 0, 1], [0, 1, 2]]),
    cut=st.integers(0, 14),
    block=st.integers(1, 30),
)
def test_every_block_size_gives_the_same_bytes(tmp_path_factory, sentences, order, prune, cut, block):
    whole = Ragged.from_lists(sentences)
    parts = [Ragged.from_lists(sentences[:cut]), Ragged.from_lists(sentences[cut:])]
    folder = tmp_path_factory.mktemp("columns")
    found = estimate_in_blocks(parts, order, prune[:order], folder=folder, block=block)
    assert_same(found, estimate(whole, order, prune[:order]))


@pytest.mark.slow
@pytest.mark.parametrize("prune", [[], [0, 0, 1]])
@pytest.mark.parametrize("block", [500, 7000])
def test_real_text_in_blocks_gives_the_same_bytes(shared, tmp_path, prune, block):
    lines, vocabulary = real_text(shared)
    text = vocabulary.encode(lines)
    estimated = estimate_in_blocks([text], 5, prune, len(vocabulary) - 1, folder=tmp_path, block=block)
    assert_same(estimated, estimate(text, 5, prune, len(vocabulary) - 1))


@pytest.mark.slow
def test_memory_depends_on_the_block_and_not_on_the_text(tmp_path):
    text = random_text(12000, words=2000)
    parts, peaks = [text.part(first, first + 500) for first in range(0, 12000, 500)], []
    for folder, block in ((tmp_path, 4000), (None, 1 << 62)):
        tracemalloc.start()
        estimate_in_blocks(parts if folder else [text], 4, folder=folder, block=block)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[0] < 160 * 4000 + 200_000
    assert peaks[0] < peaks[1] / 4


def test_small_texts_are_held_in_memory_and_large_ones_are_not(tmp_path):
    text = random_text(600, shortest=0)
    parts = [text.part(start, start + 100) for start in range(0, 600, 100)]
    tokens = len(text.values) + 2 * len(text)
    expected = estimate(text, 3)
    assert_same(estimate_within(parts, 3, [], 34 * 3 * tokens, tmp_path), expected)
    assert not any(tmp_path.iterdir())
    assert_same(estimate_within(parts, 3, [], 34 * 3 * tokens - 1, tmp_path), expected)
    assert any(tmp_path.iterdir())


@pytest.mark.parametrize("memory", [1, 1 << 30])
def test_text_without_words_is_refused(tmp_path, memory):
    for parts in ([], [Ragged.from_lists([[], []])]):
        check_refused("no words", estimate_within, parts, 3, [], memory, tmp_path)


def test_more_ngrams_than_there_are_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(counting, "_LARGEST", 50)
    check_refused(["50", "2-grams"], estimate_in_blocks, [random_text(200)], 3, folder=tmp_path, block=100)


def test_sizes_of_memory():
    sizes = {"7b": 7, "2K": 2048, "1.5M": 3 << 19, "4G": 1 << 32, "0.5T": 1 << 39}
    assert {size: parse_memory(size) for size in sizes} == sizes
    kilobytes = next(int(line.split()[1]) for line in read_lines("/proc/meminfo") if line.startswith("MemTotal"))
    assert parse_memory("50%") == pytest.approx(512 * kilobytes, rel=1e-3)


@pytest.mark.parametrize("in_files", [False, True])
def test_columns_are_read_and_written_in_windows(tmp_path, in_files):
    column = Column(tmp_path if in_files else None, "numbers", np.int64)
    column.append(np.arange(0, 50, 10))
    column.append(np.arange(50, 70, 10))
    assert len(column) == 7 and column[2:4].tolist() == [20, 30] and column[5:99].tolist() == [50, 60]
    for block in (1, 2, 3, 100):
        assert take(column, np.array([6, 0, 3, 3]), block).tolist() == [60, 0, 30, 30]
        assert take_rising(column, np.array([0, 3, 3, 6]), block).tolist() == [0, 30, 30, 60]
        assert count_values(column, 10, 31, block).nonzero()[0].tolist() == [0, 10, 20]
    for block in (1, 4, 100):
        put_rising(column, np.array([1, 2, 6]), np.array([block, 2, 3]), block)
        assert column[:].tolist() == [0, block, 2, 30, 40, 50, 3]
    assert Column(tmp_path if in_files else None, "none", (np.int32, (2,)))[:].shape == (0, 2)
    rows = Column(tmp_path if in_files else None, "rows", (np.int32, (2,)), length=1)
    rows.append(np.zeros((1, 2)))
    put_rising(rows, np.array([1]), np.array([[7, 8]]), 4)
    assert rows[:].tolist() == [[0, 0], [7, 8]]
