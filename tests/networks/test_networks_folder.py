"""Model folders of all kinds, and devices."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

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
from neural_smt.networks.cslm import CslmConfig, CslmNetwork, TrainedCslm, load_cslm, save_cslm
from neural_smt.networks.device import precision_context, select_device
from neural_smt.networks.encoder_decoder import (
    Conventions,
    EncoderDecoder,
    EncoderDecoderConfig,
    TrainedModel,
    load_model,
    save_model,
)
from neural_smt.networks.recurrent.configuration import RecurrentConfig, WordClasses
from neural_smt.networks.recurrent.network import RecurrentNetwork, TrainedRecurrent, load_recurrent, save_recurrent
from neural_smt.vocabulary import Vocabulary

CPU = torch.device("cpu")
SOURCE, TARGET = Vocabulary.from_sentences(["a b"]), Vocabulary.from_sentences(["x y z"])
UNITS, OFFSETS = [3, 5, 0, 2, 4], [0, 2, 5]
CLASSES = WordClasses(np.array(UNITS, dtype=np.int32), np.array(OFFSETS))


class Kind(NamedTuple):
    """title: of the kind; model: what is saved, a network of seed 7 and its vocabularies; save, load: of its folder."""

    title: str
    model: Any
    save: Callable[[Path, Any], None]
    load: Callable[[Path, torch.device], Any]


PHRASES = EncoderDecoderConfig(5, 6, hidden=3, embedding=2, maxout=2, rank=2, conventions=Conventions(reset="paper"))
SENTENCES = AttentionConfig(5, 6, hidden=3, embedding=2, attention=4, maxout=2, rank=2, word_in_scorer=False)
NGRAMS = CslmConfig(6, order=5, projection=4, layers=(7, 6))
JOINT = RecurrentConfig(6, 2, hidden=3, slots=2, dimensions=4, input_rows=7, direct_size=32)
KINDS = {
    "encoder_decoder": Kind(
        "an encoder-decoder", TrainedModel(EncoderDecoder(PHRASES, 7), SOURCE, TARGET), save_model, load_model
    ),
    "attention": Kind(
        "an attention network",
        TrainedAttention(AttentionNetwork(SENTENCES, 7), SOURCE, TARGET),
        save_attention,
        load_attention,
    ),
    "cslm": Kind("a CSLM", TrainedCslm(CslmNetwork(NGRAMS, 7), TARGET), save_cslm, load_cslm),
    "recurrent": Kind(
        "a recurrent model",
        TrainedRecurrent(RecurrentNetwork(JOINT, CLASSES, 7), TARGET),
        save_recurrent,
        load_recurrent,
    ),
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


def saved(kind: Kind, tmp_path: Path) -> Path:
    kind.save(tmp_path / "model", kind.model)
    return tmp_path / "model"


def test_a_saved_model_comes_back(kind: Kind, tmp_path: Path) -> None:
    found = kind.load(saved(kind, tmp_path), CPU)
    assert [vocabulary.words for vocabulary in found[1:]] == [vocabulary.words for vocabulary in kind.model[1:]]
    assert found.network.config == kind.model.network.config
    weights, expected = found.network.state_dict(), kind.model.network.state_dict()
    assert expected.keys() == weights.keys()
    assert all(torch.equal(tensor, expected[name]) for name, tensor in weights.items())
    assert read_training(tmp_path / "model") == {}


def test_the_classes_of_a_recurrent_model_come_back(tmp_path: Path) -> None:
    network = load_recurrent(saved(KINDS["recurrent"], tmp_path), CPU).network
    assert network.classes.units.tolist() == UNITS and network.classes.offsets.tolist() == OFFSETS
    assert network.arrays().unit_of_word.tolist() == [2, -1, 3, 0, 4, 1]


def test_folders_of_others_and_broken_ones_are_refused(kind: Kind, tmp_path: Path) -> None:
    folder = saved(kind, tmp_path)
    for other in KINDS.values():
        if other is not kind:
            with pytest.raises(UserError, match=rf"config\.json: not {other.title}'s configuration|vocabulary.source"):
                other.load(folder, CPU)
    description = read_json(folder / "config.json")
    size = "layers" if "layers" in description["config"] else "hidden"
    changed = [7, 5] if size == "layers" else 4
    for config, message in (
        ({"depth": 2}, rf"config\.json: not {kind.title}'s configuration"),
        ({size: changed}, r"weights\.safetensors: cannot be loaded"),
    ):
        write_json(folder / "config.json", {**description, "config": description["config"] | config})
        with pytest.raises(UserError, match=message):
            kind.load(folder, CPU)
    write_json(folder / "config.json", description)
    weights = (folder / "weights.safetensors").read_bytes()
    (folder / "weights.safetensors").write_bytes(b"short")
    with pytest.raises(UserError, match=r"weights\.safetensors: cannot be loaded"):
        kind.load(folder, CPU)
    (folder / "weights.safetensors").write_bytes(weights)
    Vocabulary.from_sentences(["x y w"]).save(folder / "vocabulary.target")
    with pytest.raises(UserError, match=r"vocabulary\.target: not the vocabulary that the model was trained with"):
        kind.load(folder, CPU)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"classes.units": [3, 5, 0, 2, 2]}, "all words but BOS"),
        ({"classes.offsets": [0, 5]}, "not those of the configuration"),
        ({"classes.offsets": None}, "classes.offsets"),
    ],
)
def test_word_classes_that_do_not_fit_are_refused(
    tmp_path: Path, change: dict[str, list[int] | None], reason: str
) -> None:
    folder = saved(KINDS["recurrent"], tmp_path)
    weights = load_file(folder / "weights.safetensors")
    weights |= {name: torch.tensor(value or []) for name, value in change.items()}
    kept = {name: tensor for name, tensor in weights.items() if change.get(name, 1) is not None}
    save_file(kept, folder / "weights.safetensors")
    with pytest.raises(UserError, match=rf"its word classes cannot be used \(.*{reason}"):
        load_recurrent(folder, CPU)


def test_what_an_encoder_decoder_cannot_be() -> None:
    with pytest.raises(UserError, match="no difference is called 'colour'"):
        Conventions.following({"colour": "code"})
    values = PHRASES.to_json()
    with pytest.raises(UserError, match="tanh units have no reset gate"):
        EncoderDecoderConfig.from_json(values | {"unit": "tanh"})
    # as older folders have it
    del values["unit"], values["direction"]
    assert EncoderDecoderConfig.from_json(values) == PHRASES


def test_a_missing_gpu_is_refused_only_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert select_device("auto").type == "cpu"
    assert select_device("cpu").type == "cpu"
    with pytest.raises(UserError, match="device is cuda, but PyTorch finds no CUDA device"):
        select_device("cuda")
    with pytest.raises(UserError, match="set it to auto, cpu or cuda"):
        select_device("gpu")
    with pytest.raises(UserError, match="precision is 'fp16'"):
        precision_context(CPU, "fp16")
