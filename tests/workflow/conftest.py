"""A checkout, and one in which the tiny experiment has run: made once for all tests of the workflow."""

from pathlib import Path

import pytest
from checkouts import TINY, copy_checkout, run


@pytest.fixture(scope="session")
def checkout(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_checkout(repository, tmp_path_factory.mktemp("checkout"))


@pytest.fixture(scope="session")
def finished(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout of its own, in which the tiny experiment has run to its table."""
    checkout = copy_checkout(repository, tmp_path_factory.mktemp("finished"))
    run(checkout, "--configfile", TINY)
    return checkout
