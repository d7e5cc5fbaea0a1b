"""Fixtures of all tests of the stage."""

from pathlib import Path

import pytest
from vocabularies_world import load_world

from neural_smt.vocabulary_selection.building import Sources


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    """The small world's tables, and a network that knows all words."""
    return load_world(tmp_path)
