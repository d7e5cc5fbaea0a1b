"""Model folders of all kinds, and devices."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from network_cases import CASES, CPU
from refusals import check_refused

from neural_smt.io.arrays import read_arrays, write_arrays
from neural_smt.io.files import read_json, read_yaml, write_json
from neural_smt.networks.device import precision_context, select_device
from neural_smt.networks.encoder_decoder import EncoderDecoderConfig
from neural_smt.networks.folder import Trained, read_training
from neural_smt.networks.recurrent.configuration import RecurrentConfig, WordClasses
from neural_smt.networks.recurrent.network import RecurrentNetwork
from neural_smt.vocabulary import Vocabulary

SOURCE, TARGET = Vocabulary.from_sentences(["a b"]), Vocabulary.from_sentences(["x y z"])
UNITS, OFFSETS = [3, 5, 0, 2, 4], [0, 2, 5]
CLASSES = WordClasses(np.array(UNITS, dtype=np.int32), np.array(OFFSETS))
CHANGES = read_yaml(Path(__file__).with_name("bad_configurations.yaml"))

JOINT = RecurrentConfig(6, 2, hidden=3, slots=2, dimensions=4, input_rows=7, direct_size=32)
MODELS = {
    "encoder_decoder": Trained(CASES["reset"].make(source_words=5, target_words=6), SOURCE, TARGET),
    "attention": Trained(CASES["no word in scorer"].make(source_words=5, target_words=6), SOURCE, TARGET),
    "cslm": Trained(CASES["cslm"].make(words=6), TARGET),
    "recurrent": Trained(RecurrentNetwork(JOINT, CLASSES, 7), TARGET),
}
EVERY = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def saved(model: Trained, tmp_path: Path) -> Path:
    model.save(tmp_path / "model")
    return tmp_path / "model"


def load(folder: Path, model: Trained) -> Trained:
    return Trained.load(folder, type(model.network), CPU)


@EVERY
def test_a_saved_model_comes_back(model: Trained, tmp_path: Path) -> None:
    found = load(saved(model, tmp_path), model)
    assert [vocabulary.words for vocabulary in found.vocabularies] == [own.words for own in model.vocabularies]
    assert found.network.config == model.network.config
    torch.testing.assert_close(found.network.state_dict(), model.network.state_dict(), rtol=0, atol=0)
    assert read_training(tmp_path / "model") == {}


def test_the_classes_of_a_recurrent_model_come_back(tmp_path: Path) -> None:
    network = load(saved(MODELS["recurrent"], tmp_path), MODELS["recurrent"]).network
    assert network.classes.units.tolist() == UNITS and network.classes.offsets.tolist() == OFFSETS
    assert network.classes.unit_of_word.tolist() == [2, -1, 3, 0, 4, 1]


@EVERY
@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")
def test_folders_of_others_and_broken_ones_are_refused(model: Trained, tmp_path: Path) -> None:
    folder, title = saved(model, tmp_path), model.network.config.title
    for other in MODELS.values():
        if other is not model:
            check_refused(["config.json", other.network.config.title], load, folder, other)
    description = read_json(folder / "config.json")
    config, vocabularies = description["config"], description["vocabularies"]
    pieces = {"unlike": ["config.json", title], "unfit": ["weights.safetensors", "cannot be loaded"]}
    others = {"config": {}}, {"config": 7}, {"vocabularies": {"source": vocabularies.get("source")}}
    changes = [(change, "unlike") for change in others]
    for kind, bad in CHANGES[model.network.config.kind].items():
        changes += [({"config": config | values}, kind) for values in bad]
    for change, kind in changes:
        write_json(folder / "config.json", description | change)
        check_refused(pieces[kind], load, folder, model)
    write_json(folder / "config.json", description)
    weights = (folder / "weights.safetensors").read_bytes()
    (folder / "weights.safetensors").write_bytes(b"short")
    check_refused(["weights.safetensors", "damaged"], load, folder, model)
    (folder / "weights.safetensors").write_bytes(weights)
    Vocabulary.from_sentences(["x y w"]).save(folder / "vocabulary.target")
    check_refused(["vocabulary.target", "not the vocabulary"], load, folder, model)


@pytest.mark.parametrize(("change", "reason"), CHANGES["word classes"])
def test_word_classes_that_do_not_fit_are_refused(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    folder = saved(MODELS["recurrent"], tmp_path)
    weights = read_arrays(folder / "weights.safetensors")
    weights |= {name: np.array(value or []) for name, value in change.items()}
    kept = {name: values for name, values in weights.items() if change.get(name, 1) is not None}
    write_arrays(folder / "weights.safetensors", kept)
    check_refused(["weights.safetensors", "cannot be loaded", reason], load, folder, MODELS["recurrent"])


def test_what_an_encoder_decoder_cannot_be() -> None:
    config = MODELS["encoder_decoder"].network.config
    values = asdict(config)
    check_refused(["tanh", "reset"], EncoderDecoderConfig.from_json, values | {"unit": "tanh"})
    # as older folders have it
    del values["unit"], values["direction"]
    assert EncoderDecoderConfig.from_json(values) == config


def test_attention_networks_of_older_folders_read_the_state_before(tmp_path: Path) -> None:
    folder = saved(MODELS["attention"], tmp_path)
    assert load(folder, MODELS["attention"]).network.config.readout == "current"
    description = read_json(folder / "config.json")
    del description["config"]["readout"]
    write_json(folder / "config.json", description)
    assert load(folder, MODELS["attention"]).network.config.readout == "previous"


def test_a_missing_gpu_is_refused_only_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert select_device("auto").type == "cpu"
    assert select_device("cpu").type == "cpu"
    check_refused(["device", "cuda"], select_device, "cuda")
    check_refused(["precision", "'fp16'"], precision_context, CPU, "fp16")
