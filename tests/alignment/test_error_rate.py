"""Alignment error rate: values worked by hand."""

import numpy as np
import pandas as pd
import pytest
from alignments import alignments_of

from neural_smt.alignment.error_rate_steps import count_errors, error_rates

RATES = ["precision", "recall", "aer"]


@pytest.mark.parametrize(
    ("links", "gold", "sure", "counts", "rates"),
    [
        ([(0, 0), (2, 2), (5, 5)], [(0, 0), (1, 1), (2, 2), (2, 3)], [1, 1, 0, 0], [3, 2, 2, 1], [2 / 3, 1 / 2, 2 / 5]),
        ([(1, 1), (0, 0), (0, 0)], [(0, 0), (1, 1), (1, 2)], [1, 1, 0], [2, 2, 2, 2], [1, 1, 0]),  # sure links alone
        ([], [], [], [0, 0, 0, 0], [1, 1, 0]),
    ],
)
def test_worked_by_hand(links: list, gold: list, sure: list[int], counts: list[int], rates: list[float]) -> None:
    found = count_errors(alignments_of([links]), alignments_of([gold]), np.array(sure, dtype=bool))
    assert found == dict(zip(("links", "sure", "links_possible", "links_sure"), counts, strict=True))
    assert error_rates(pd.DataFrame([found]))[RATES].iloc[0].tolist() == pytest.approx(rates)


def test_links_belong_to_their_sentence() -> None:
    found, gold = alignments_of([[], [(0, 0)]]), alignments_of([[(0, 0)], []])
    assert count_errors(found, gold, np.array([True]))["links_possible"] == 0
