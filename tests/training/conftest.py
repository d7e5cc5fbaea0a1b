"""What networks of all kinds are trained on here, made once."""

import numpy as np
import pytest
from training_runs import Inputs, write_ngrams, write_pairs, write_table, write_text


@pytest.fixture(scope="session")
def all_inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Inputs]:
    """By kind of network; ``candidates``: what an attention network takes besides."""
    folders = {name: tmp_path_factory.mktemp(name) for name in ("phrases", "ngrams", "text", "pairs")}
    random = np.random.default_rng(0)
    phrases = sorted({tuple(random.integers(0, 12, random.integers(1, 4)).tolist()) for _ in range(500)})
    pairs, candidates = write_pairs(folders["pairs"])
    return {
        "encoder_decoder": write_table(folders["phrases"], phrases),
        "cslm": write_ngrams(folders["ngrams"]),
        "recurrent": write_text(folders["text"]),
        "attention": pairs,
        "candidates": candidates,
    }


@pytest.fixture
def inputs(all_inputs: dict[str, Inputs], request: pytest.FixtureRequest) -> Inputs:
    """Of the kind of network that the test's module is about."""
    return all_inputs[request.module.KIND]


@pytest.fixture
def candidates(all_inputs: dict[str, Inputs]) -> Inputs:
    """Target vocabularies of the sentences that attention networks are trained on."""
    return all_inputs["candidates"]
