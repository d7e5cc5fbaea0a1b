"""A trained attention network as one folder."""

from pathlib import Path
from typing import NamedTuple

import torch

from neural_smt.networks.attention.configuration import AttentionConfig
from neural_smt.networks.attention.network import AttentionNetwork
from neural_smt.networks.folder import ATTENTION, read_folder, save_folder, with_weights
from neural_smt.vocabulary import Vocabulary


class TrainedAttention(NamedTuple):
    """An attention network and the words that it knows of each side."""

    network: AttentionNetwork
    source: Vocabulary
    target: Vocabulary


def save_attention(folder: Path, model: TrainedAttention) -> None:
    """Write the folder of an attention network, all or nothing."""
    save_folder(folder, ATTENTION, model.network, {"source": model.source, "target": model.target})


def load_attention(folder: Path, device: torch.device) -> TrainedAttention:
    """Read what ``save_attention`` wrote; raises ``UserError`` as ``load_model`` does."""
    config, vocabularies = read_folder(folder, ATTENTION, AttentionConfig.from_json, ("source", "target"))
    return TrainedAttention(with_weights(folder, AttentionNetwork(config), device), **vocabularies)
