"""What tests of the planner share."""

from pathlib import Path
from typing import Any

import pytest

from neural_smt.experiment.configuration import complete
from neural_smt.io.files import read_yaml


@pytest.fixture
def declared() -> dict[str, Any]:
    """An experiment whose texts are elsewhere."""
    return complete(read_yaml(Path(__file__).with_name("far.yaml")))
