"""Fixtures of all tests of the stage."""

import pytest

from neural_smt.corpus import fetching


@pytest.fixture(autouse=True)
def no_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed download is not tried again, unless a test says so."""
    monkeypatch.setattr(fetching, "RETRIES", 0)
