"""Alignment error rate: values worked by hand."""

import numpy as np
import pandas as pd
import pytest
from alignments import CASES, alignments_of

from neural_smt.alignment.error_rate_steps import count_errors, error_rates

RATES = ["precision", "recall", "aer"]


@pytest.mark.parametrize(("links", "gold", "sure", "counts", "rates"), CASES["error_rates"])
def test_worked_by_hand(links: list, gold: list, sure: list[int], counts: list[int], rates: list[float]) -> None:
    found = count_errors(alignments_of([links]), alignments_of([gold]), np.array(sure, dtype=bool))
    assert found == dict(zip(("links", "sure", "links_possible", "links_sure"), counts, strict=True))
    assert error_rates(pd.DataFrame([found]))[RATES].iloc[0].tolist() == pytest.approx(rates)


def test_links_belong_to_their_sentence() -> None:
    found, gold = alignments_of([[], [(0, 0)]]), alignments_of([[(0, 0)], []])
    assert count_errors(found, gold, np.array([True]))["links_possible"] == 0
