"""Loading what a system is searched with."""

from pathlib import Path

from neural_smt.decoding.batches import StatefulFeature
from neural_smt.decoding.features import Weights
from neural_smt.decoding.model import TranslationModel
from neural_smt.decoding.scorers import loader
from neural_smt.decoding.search import Decoder, SearchSettings
from neural_smt.experiment.system_folder import System


def load_feature(system: System, model: TranslationModel, device: str) -> StatefulFeature | None:
    """The feature of the network that a system is searched with; None for a system without one."""
    return loader(system, "feature_of")(system, model, device) if system.content.get("network") else None


def load_decoder(system: System, weights: Path, threads: int = 1, device: str = "cpu") -> Decoder:
    """A searched system with tuned weights, ready to translate."""
    model = TranslationModel.load(system)
    feature = load_feature(system, model, device)
    settings = SearchSettings(**system.search)
    return Decoder(model, settings, Weights.load(weights), threads, feature)
