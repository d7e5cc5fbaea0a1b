"""A trained attention network as one folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch

from neural_smt.io.files import read_json
from neural_smt.networks.attention.configuration import AttentionConfig
from neural_smt.networks.attention.network import AttentionNetwork
from neural_smt.networks.folder import ATTENTION, CONFIG, read_folder, save_folder, with_weights
from neural_smt.vocabulary import Vocabulary


class TrainedAttention(NamedTuple):
    """An attention network and the words that it knows of each side."""

    network: AttentionNetwork
    source: Vocabulary
    target: Vocabulary


def save_attention(folder: Path, model: TrainedAttention, training: Mapping[str, Any] | None = None) -> None:
    """Write the folder of an attention network, all or nothing; training: JSON values for ``read_training``."""
    vocabularies = {"source": model.source, "target": model.target}
    save_folder(folder, ATTENTION, model.network, vocabularies, training=training)


def load_attention(folder: Path, device: torch.device) -> TrainedAttention:
    """Read what ``save_attention`` wrote; raises ``UserError`` as ``load_model`` does."""
    config, vocabularies = read_folder(folder, ATTENTION, AttentionConfig.from_json, ("source", "target"))
    return TrainedAttention(with_weights(folder, AttentionNetwork(config), device), **vocabularies)


def read_training(folder: Path) -> dict[str, Any]:
    """What the folder of an attention network says of its training."""
    return read_json(Path(folder) / CONFIG).get("training", {})
