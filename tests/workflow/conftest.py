"""A checkout, and one in which the tiny experiment has run: made once for all tests of the workflow."""

from pathlib import Path

import pytest
from checkouts import TINY, copy_checkout, copy_results, run
from filelock import FileLock


@pytest.fixture(scope="session")
def checkout(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_checkout(repository, tmp_path_factory.mktemp("checkout"))


@pytest.fixture(scope="session")
def finished(repository: Path, tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A checkout of its own, in which the tiny experiment has run to its table: once for all processes of the tests."""
    folder = tmp_path_factory.mktemp("finished")
    if worker_id == "master":
        return finish(repository, folder)
    first = tmp_path_factory.getbasetemp().parent / "finished"
    with FileLock(f"{first}.lock"):
        if not (first / "results/tiny/report/table1.csv").exists():
            finish(repository, first)
    return copy_results(first, folder / "checkout")


def finish(repository: Path, folder: Path) -> Path:
    """Copy a checkout and run the tiny experiment in it."""
    checkout = copy_checkout(repository, folder)
    run(checkout, "--configfile", TINY)
    return checkout
