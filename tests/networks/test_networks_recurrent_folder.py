"""The folder of a recurrent model."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from neural_smt.errors import UserError
from neural_smt.io.files import read_json, write_json
from neural_smt.networks.cslm import load_cslm
from neural_smt.networks.recurrent.configuration import RecurrentConfig, WordClasses
from neural_smt.networks.recurrent.network import RecurrentNetwork, TrainedRecurrent, load_recurrent, save_recurrent
from neural_smt.vocabulary import Vocabulary

CPU = torch.device("cpu")
UNITS, OFFSETS = [3, 5, 0, 2, 4], [0, 2, 5]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    classes = WordClasses(np.array(UNITS, dtype=np.int32), np.array(OFFSETS))
    config = RecurrentConfig(6, 2, hidden=3, slots=2, dimensions=4, input_rows=7, direct_size=32)
    network = RecurrentNetwork(config, classes, seed=5)
    save_recurrent(tmp_path / "model", TrainedRecurrent(network, Vocabulary.from_sentences(["x y z"])))
    return tmp_path / "model"


def test_a_saved_recurrent_model_comes_back(folder: Path) -> None:
    network, vocabulary = load_recurrent(folder, CPU)
    assert vocabulary.words[3:] == ["x", "y", "z"]
    assert network.classes.units.tolist() == UNITS and network.classes.offsets.tolist() == OFFSETS
    expected = RecurrentNetwork(network.config, network.classes, seed=5)
    assert network.config.input_rows == 7
    for (name, one), other in zip(network.named_parameters(), expected.parameters(), strict=True):
        assert torch.equal(one, other), name
    assert network.arrays().unit_of_word.tolist() == [2, -1, 3, 0, 4, 1]


def test_folders_of_others_and_broken_ones_are_refused(folder: Path) -> None:
    with pytest.raises(UserError, match=r"config\.json: not a CSLM's configuration"):
        load_cslm(folder, CPU)
    description = read_json(folder / "config.json")
    write_json(folder / "config.json", {**description, "config": {**description["config"], "hidden": 4}})
    with pytest.raises(UserError, match=r"weights\.safetensors: cannot be loaded"):
        load_recurrent(folder, CPU)
    write_json(folder / "config.json", description)
    Vocabulary.from_sentences(["x y w"]).save(folder / "vocabulary.target")
    with pytest.raises(UserError, match=r"vocabulary\.target: not the vocabulary"):
        load_recurrent(folder, CPU)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"classes.units": [3, 5, 0, 2, 2]}, "all words but BOS"),
        ({"classes.offsets": [0, 5]}, "not those of the configuration"),
        ({"classes.offsets": None}, "classes.offsets"),
    ],
)
def test_word_classes_that_do_not_fit_are_refused(
    folder: Path, change: dict[str, list[int] | None], reason: str
) -> None:
    weights = load_file(folder / "weights.safetensors")
    for name, value in change.items():
        if value is None:
            del weights[name]
        else:
            weights[name] = torch.tensor(value)
    save_file(weights, folder / "weights.safetensors")
    with pytest.raises(UserError, match=rf"its word classes cannot be used \(.*{reason}"):
        load_recurrent(folder, CPU)
