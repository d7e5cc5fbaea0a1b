"""Model folders and devices."""

from pathlib import Path

import pytest
import torch

from neural_smt.errors import UserError
from neural_smt.io.files import read_json, write_json
from neural_smt.networks.attention.network import (
    AttentionConfig,
    AttentionNetwork,
    TrainedAttention,
    load_attention,
    read_training,
    save_attention,
)
from neural_smt.networks.device import precision_context, select_device
from neural_smt.networks.encoder_decoder import (
    Conventions,
    EncoderDecoder,
    EncoderDecoderConfig,
    TrainedModel,
    load_model,
    save_model,
)
from neural_smt.vocabulary import Vocabulary

CPU = torch.device("cpu")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    source, target = Vocabulary.from_sentences(["a b"]), Vocabulary.from_sentences(["x y z"])
    config = EncoderDecoderConfig(5, 6, hidden=3, embedding=2, maxout=2, rank=2, conventions=Conventions(reset="paper"))
    save_model(tmp_path / "model", TrainedModel(EncoderDecoder(config, seed=7), source, target))
    return tmp_path / "model"


def test_a_saved_model_comes_back(folder: Path) -> None:
    model = load_model(folder, CPU)
    expected = EncoderDecoder(model.network.config, seed=7).state_dict()
    assert model.network.config.conventions.reset == "paper"
    assert model.source.words[3:] == ["a", "b"]
    assert expected.keys() == model.network.state_dict().keys()
    assert all(torch.equal(tensor, expected[name]) for name, tensor in model.network.state_dict().items())


def test_an_attention_network_comes_back(folder: Path, tmp_path: Path) -> None:
    source, target = Vocabulary.from_sentences(["a b"]), Vocabulary.from_sentences(["x y z"])
    config = AttentionConfig(5, 6, hidden=3, embedding=2, attention=4, maxout=2, rank=2, word_in_scorer=False)
    network = AttentionNetwork(config, seed=7)
    save_attention(tmp_path / "attention", TrainedAttention(network, source, target))
    assert read_training(tmp_path / "attention") == {}
    model = load_attention(tmp_path / "attention", CPU)
    assert model.network.config == config
    assert (model.source.words, model.target.words) == (source.words, target.words)
    found = model.network.state_dict()
    assert all(torch.equal(tensor, found[name]) for name, tensor in network.state_dict().items())
    with pytest.raises(UserError, match="not an attention network's configuration"):
        load_attention(folder, CPU)


def test_another_vocabulary_is_refused(folder: Path) -> None:
    Vocabulary.from_sentences(["x y w"]).save(folder / "vocabulary.target")
    with pytest.raises(UserError, match=r"vocabulary\.target: not the vocabulary that the model was trained with"):
        load_model(folder, CPU)


def test_broken_folders_are_refused(folder: Path) -> None:
    description = read_json(folder / "config.json")
    write_json(folder / "config.json", {**description, "config": {**description["config"], "depth": 2}})
    with pytest.raises(UserError, match=r"config\.json: not an encoder-decoder's configuration"):
        load_model(folder, CPU)
    write_json(folder / "config.json", {**description, "config": {**description["config"], "hidden": 4}})
    with pytest.raises(UserError, match=r"weights\.safetensors: cannot be loaded"):
        load_model(folder, CPU)
    write_json(folder / "config.json", description)
    (folder / "weights.safetensors").write_bytes(b"short")
    with pytest.raises(UserError, match=r"weights\.safetensors: cannot be loaded"):
        load_model(folder, CPU)


def test_a_missing_gpu_is_refused_only_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert select_device("auto").type == "cpu"
    assert select_device("cpu").type == "cpu"
    with pytest.raises(UserError, match="device is cuda, but PyTorch finds no CUDA device"):
        select_device("cuda")
    with pytest.raises(UserError, match="set it to auto, cpu or cuda"):
        select_device("gpu")


def test_unknown_precision_is_refused() -> None:
    with pytest.raises(UserError, match="precision is 'fp16'"):
        precision_context(CPU, "fp16")


@pytest.mark.parametrize("name", ["hidden", "rank"])
def test_sizes_must_be_positive(name: str) -> None:
    with pytest.raises(UserError, match=f"{name} is 0"):
        EncoderDecoderConfig(5, 5, **{name: 0})
