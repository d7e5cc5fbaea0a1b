"""A trained model as one folder: weights, configuration, and the vocabularies its ids refer to."""

import textwrap
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from neural_smt.errors import UserError
from neural_smt.io.files import atomic, read_json, write_json
from neural_smt.networks.configuration import EncoderDecoderConfig
from neural_smt.networks.cslm_network import CslmConfig, CslmNetwork
from neural_smt.networks.encoder_decoder import EncoderDecoder
from neural_smt.networks.recurrent.configuration import RecurrentConfig, WordClasses
from neural_smt.networks.recurrent.network import RecurrentNetwork
from neural_smt.networks.weights import WEIGHTS
from neural_smt.vocabulary import Vocabulary

CONFIG, VOCABULARY = "config.json", "vocabulary"

ENCODER_DECODER, CSLM, RECURRENT, ATTENTION = "encoder_decoder", "cslm", "recurrent", "attention"
NAMES = {
    ENCODER_DECODER: "an encoder-decoder",
    CSLM: "a CSLM",
    RECURRENT: "a recurrent model",
    ATTENTION: "an attention network",
}
"""What a folder's ``config.json`` calls its network, and what a person does."""

Config = TypeVar("Config")
Network = TypeVar("Network", bound=nn.Module)


class TrainedModel(NamedTuple):
    """An encoder-decoder and the shortlists of both its sides: ``source`` of what it reads, ``target`` of what it
    predicts, whichever language that is (``EncoderDecoderConfig.direction``).
    """

    network: EncoderDecoder
    source: Vocabulary
    target: Vocabulary


class TrainedCslm(NamedTuple):
    """A CSLM's network and its shortlist."""

    network: CslmNetwork
    target: Vocabulary


class TrainedRecurrent(NamedTuple):
    """A recurrent or joint model's network and the words that it knows."""

    network: RecurrentNetwork
    vocabulary: Vocabulary


def save_model(folder: Path, model: TrainedModel) -> None:
    """Write the folder of an encoder-decoder, all or nothing."""
    save_folder(folder, ENCODER_DECODER, model.network, {"source": model.source, "target": model.target})


def load_model(folder: Path, device: torch.device) -> TrainedModel:
    """Read what ``save_model`` wrote.

    Raises ``UserError`` when a vocabulary is not the one the model was trained with, or a file is missing or broken.
    """
    config, vocabularies = read_folder(folder, ENCODER_DECODER, EncoderDecoderConfig.from_json, ("source", "target"))
    network = with_weights(folder, EncoderDecoder(config), device)
    return TrainedModel(network, **vocabularies)


def load_forward_model(folder: Path, device: torch.device) -> TrainedModel:
    """``load_model`` for readers of source phrases: raises ``UserError`` for a network that reads target phrases."""
    model = load_model(folder, device)
    if model.network.config.direction != "forward":
        raise UserError(f"{folder}: this network reads target phrases; name one of direction: forward")
    return model


def save_cslm(folder: Path, model: TrainedCslm) -> None:
    """Write the folder of a CSLM, all or nothing."""
    save_folder(folder, CSLM, model.network, {"target": model.target})


def load_cslm(folder: Path, device: torch.device) -> TrainedCslm:
    """Read what ``save_cslm`` wrote; raises ``UserError`` as ``load_model`` does."""
    config, vocabularies = read_folder(folder, CSLM, CslmConfig.from_json, ("target",))
    network = with_weights(folder, CslmNetwork(config), device)
    return TrainedCslm(network, **vocabularies)


def save_recurrent(folder: Path, trained: TrainedRecurrent) -> None:
    """Write the folder of a recurrent model, all or nothing; its word classes lie beside the weights."""
    classes = trained.network.classes
    tensors = {"classes.units": torch.from_numpy(classes.units), "classes.offsets": torch.from_numpy(classes.offsets)}
    save_folder(folder, RECURRENT, trained.network, {"target": trained.vocabulary}, tensors)


def load_recurrent(folder: Path, device: torch.device) -> TrainedRecurrent:
    """Read what ``save_recurrent`` wrote; raises ``UserError`` as ``load_model`` does."""
    config, vocabularies = read_folder(folder, RECURRENT, RecurrentConfig.from_json, ("target",))
    weights = _read_weights(folder)
    path = Path(folder) / WEIGHTS
    try:
        units, offsets = (weights.pop(f"classes.{name}").numpy() for name in ("units", "offsets"))
        network = RecurrentNetwork(config, WordClasses(units.astype(np.int32), offsets.astype(np.int64)))
    except (KeyError, ValueError, IndexError) as error:
        raise UserError(f"{path}: its word classes cannot be used ({error}); train the model again") from None
    return TrainedRecurrent(with_weights(folder, network, device, weights), vocabularies["target"])


def save_folder(
    folder: Path,
    kind: str,
    network: nn.Module,
    vocabularies: Mapping[str, Vocabulary],
    further: Mapping[str, torch.Tensor] | None = None,
    training: Mapping[str, Any] | None = None,
) -> None:
    """Write a model's folder, all or nothing. kind: of ``NAMES``; further: tensors that are no weights; training: JSON
    values that the configuration says besides.
    """
    with atomic(folder, directory=True) as temporary:
        weights = {name: tensor.contiguous().cpu() for name, tensor in network.state_dict().items()}
        weights |= further or {}
        save_file(weights, temporary / WEIGHTS)
        for side, vocabulary in vocabularies.items():
            vocabulary.save(temporary / f"{VOCABULARY}.{side}")
        description = {
            "network": kind,
            "config": network.config.to_json(),
            "vocabularies": {side: vocabulary.digest for side, vocabulary in vocabularies.items()},
        }
        if training:
            description["training"] = dict(training)
        write_json(temporary / CONFIG, description)


def read_folder(
    folder: Path, kind: str, parse: Callable[[dict[str, Any]], Config], sides: Iterable[str]
) -> tuple[Config, dict[str, Vocabulary]]:
    """The configuration, as ``parse`` makes it of plain values, and the vocabulary of each side.

    Raises ``UserError`` where the folder is of another kind of network or a vocabulary is not the one saved with it.
    """
    folder = Path(folder)
    description = read_json(folder / CONFIG)
    vocabularies = {side: Vocabulary.load(folder / f"{VOCABULARY}.{side}") for side in sides}
    try:
        if description["network"] != kind:
            raise TypeError(f"it is of the network {description['network']!r}")
        config = parse(description["config"])
        digests = {side: description["vocabularies"][side] for side in vocabularies}
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{folder / CONFIG}: not {NAMES[kind]}'s configuration ({error}); train it again") from None
    for side, vocabulary in vocabularies.items():
        if vocabulary.digest != digests[side]:
            raise UserError(
                f"{folder / VOCABULARY}.{side}: not the vocabulary that the model was trained with; "
                "put the original file back or train the model again"
            )
    return config, vocabularies


def _read_weights(folder: Path) -> dict[str, torch.Tensor]:
    path = Path(folder) / WEIGHTS
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise _broken(path, error) from None


def with_weights(
    folder: Path, network: Network, device: torch.device, weights: dict[str, torch.Tensor] | None = None
) -> Network:
    """The network with the folder's weights (read already, if given), on ``device``, ready for use."""
    given = _read_weights(folder) if weights is None else weights
    try:
        network.load_state_dict(given)
    except RuntimeError as error:
        raise _broken(Path(folder) / WEIGHTS, error) from None
    return network.to(device).eval()


def _broken(path: Path, error: Exception) -> UserError:
    # PyTorch's first line only says that there are errors
    first, *further = str(error).splitlines()
    reason = further[0].strip().rstrip(". ") if further and first.endswith(":") else first
    return UserError(f"{path}: cannot be loaded ({textwrap.shorten(reason, 120)}); train the model again")
