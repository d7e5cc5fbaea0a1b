"""Alignment error rate: values worked by hand."""

import numpy as np
import pytest

from neural_smt.alignment.error_rate import ErrorCounts, count_errors
from neural_smt.io.ragged import Ragged


def one_pair(*links: tuple[int, int]) -> Ragged:
    return Ragged(np.array(links, dtype=np.int16).reshape(-1, 2), np.array([0, len(links)]))


def test_worked_by_hand() -> None:
    gold, sure = one_pair((0, 0), (1, 1), (2, 2), (2, 3)), np.array([True, True, False, False])
    counts = count_errors(one_pair((0, 0), (2, 2), (5, 5)), gold, sure)
    assert counts == ErrorCounts(links=3, sure=2, links_possible=2, links_sure=1)
    assert counts.precision == pytest.approx(2 / 3)
    assert counts.recall == pytest.approx(1 / 2)
    assert counts.error_rate == pytest.approx(1 - 3 / 5)


def test_sure_links_alone_are_perfect() -> None:
    gold, sure = one_pair((0, 0), (1, 1), (1, 2)), np.array([True, True, False])
    counts = count_errors(one_pair((1, 1), (0, 0), (0, 0)), gold, sure)
    assert (counts.precision, counts.recall, counts.error_rate) == (1.0, 1.0, 0.0)


def test_counts_add_up() -> None:
    total = ErrorCounts(1, 2, 1, 1) + ErrorCounts(3, 2, 1, 0)
    assert total == ErrorCounts(4, 4, 2, 1)
    assert total.error_rate == pytest.approx(1 - 3 / 8)


def test_nothing_to_compare() -> None:
    counts = count_errors(one_pair(), one_pair(), np.zeros(0, dtype=bool))
    assert (counts.precision, counts.recall, counts.error_rate) == (1.0, 1.0, 0.0)


def test_links_belong_to_their_sentence() -> None:
    found = Ragged(np.array([[0, 0]], dtype=np.int16), np.array([0, 0, 1]))
    gold = Ragged(np.array([[0, 0]], dtype=np.int16), np.array([0, 1, 1]))
    assert count_errors(found, gold, np.array([True])).links_possible == 0
