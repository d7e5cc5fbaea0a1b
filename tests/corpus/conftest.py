"""Fixtures of all tests of the stage."""

from collections.abc import Iterator
from pathlib import Path

import published_archives
import pytest

from neural_smt.corpus import fetching


@pytest.fixture(autouse=True)
def no_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed download is not tried again, unless a test says so."""
    monkeypatch.setattr(fetching, "ATTEMPTS", 1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of published archives and texts."""
    return published_archives.publish(tmp_path / "published")


@pytest.fixture
def server(folder: Path) -> Iterator[published_archives.http.server.ThreadingHTTPServer]:
    """A server of that folder."""
    with published_archives.serve(folder) as running:
        yield running
