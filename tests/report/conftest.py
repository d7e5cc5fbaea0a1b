"""Fixtures of the report's tests."""

from pathlib import Path

import pytest


@pytest.fixture
def outputs(tmp_path: Path) -> dict[str, Path]:
    """Where a table is written."""
    return {"csv_output": tmp_path / "out.csv", "markdown_output": tmp_path / "out.md"}


@pytest.fixture
def plotted(outputs: dict[str, Path], tmp_path: Path) -> dict[str, Path]:
    """The same, and where its figure is drawn."""
    return outputs | {"plot": tmp_path / "out.png"}
