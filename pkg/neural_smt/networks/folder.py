"""A trained model as one folder: weights, configuration, and the vocabularies its ids refer to."""

from pathlib import Path
from typing import NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from neural_smt.errors import UserError
from neural_smt.files import atomic, read_json, write_json
from neural_smt.networks.configuration import EncoderDecoderConfig
from neural_smt.networks.encoder_decoder import EncoderDecoder
from neural_smt.vocabulary import Vocabulary

WEIGHTS, CONFIG = "weights.safetensors", "config.json"
VOCABULARIES = {"source": "vocabulary.source", "target": "vocabulary.target"}


class TrainedModel(NamedTuple):
    """An encoder-decoder and the shortlists of both its sides."""

    network: EncoderDecoder
    source: Vocabulary
    target: Vocabulary


def save_model(folder: Path, model: TrainedModel) -> None:
    """Write the model folder, all or nothing."""
    with atomic(folder, directory=True) as temporary:
        weights = {name: tensor.contiguous().cpu() for name, tensor in model.network.state_dict().items()}
        save_file(weights, temporary / WEIGHTS)
        sides = {"source": model.source, "target": model.target}
        for side, vocabulary in sides.items():
            vocabulary.save(temporary / VOCABULARIES[side])
        description = {
            "network": "encoder_decoder",
            "config": model.network.config.to_json(),
            "vocabularies": {side: vocabulary.digest for side, vocabulary in sides.items()},
        }
        write_json(temporary / CONFIG, description)


def load_model(folder: Path, device: torch.device) -> TrainedModel:
    """Read what ``save_model`` wrote.

    Raises ``UserError`` when a vocabulary is not the one the model was trained with, or a file is missing or broken.
    """
    folder = Path(folder)
    description = read_json(folder / CONFIG)
    vocabularies = {side: Vocabulary.load(folder / name) for side, name in VOCABULARIES.items()}
    try:
        config = EncoderDecoderConfig.from_json(description["config"])
        digests = {side: description["vocabularies"][side] for side in VOCABULARIES}
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"{folder / CONFIG}: not an encoder-decoder's configuration ({error}); train it again"
        ) from None
    for side, vocabulary in vocabularies.items():
        if vocabulary.digest != digests[side]:
            raise UserError(
                f"{folder / VOCABULARIES[side]}: not the vocabulary that the model was trained with; "
                "put the original file back or train the model again"
            )
    network = EncoderDecoder(config)
    try:
        network.load_state_dict(load_file(folder / WEIGHTS))
    except (OSError, SafetensorError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"{folder / WEIGHTS}: cannot be loaded ({reason}); train the model again") from None
    return TrainedModel(network.to(device).eval(), vocabularies["source"], vocabularies["target"])
