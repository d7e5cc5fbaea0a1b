"""What tests of the planner share."""

from typing import Any

import pytest

from neural_smt.experiment.configuration import complete


@pytest.fixture
def declared() -> dict[str, Any]:
    """An experiment whose texts are elsewhere."""
    side = {"url": "https://example.org/text.gz"}
    size = {"sentences": 1000, "words": 20_000}
    text = {"en": side, "fr": side, "size": size}
    return complete(
        {
            "experiment": "far",
            "languages": {"source": "en", "target": "fr"},
            "corpus": {
                "sources": {name: dict(text) for name in ("pool", "news", "dev", "test")},
                "train": ["pool"],
                "in_domain": ["news"],
                "dev": "dev",
                "test": ["test"],
            },
            "selection": {"method": "axelrod"},
            "plan": {"selected_pairs": 0.25},
            "systems": {"baseline": {"features": ["phrase", "language_model", "reordering"]}},
        }
    )
