"""Loading what a system is searched with."""

from pathlib import Path

from neural_smt.decoding.batches import StatefulFeature
from neural_smt.decoding.features import NETWORK_FEATURES, Weights
from neural_smt.decoding.model import TranslationModel
from neural_smt.decoding.search import Decoder, SearchSettings
from neural_smt.errors import UserError
from neural_smt.experiment.system_folder import System


def load_feature(system: System, model: TranslationModel, device: str) -> StatefulFeature | None:
    """The CSLM or the recurrent model for a system whose feature groups name it, else None."""
    named = [group for group in system.features if group in NETWORK_FEATURES]
    if not named:
        return None
    if len(named) > 1:
        raise UserError(f"a search has one network, but the system names {' and '.join(named)}; rescore with the other")
    network = system.content.get("network")
    if not network:
        kind = {"cslm": "a CSLM", "recurrent": "a recurrent model"}[named[0]]
        raise UserError(f"the system uses the feature {named[0]}, but no model folder of {kind} was given; give it")
    # PyTorch takes a second to load, and most systems need none of it.
    if named[0] == "recurrent":
        from neural_smt.decoding.scorers.recurrent import RecurrentScoring

        return RecurrentScoring.load(network["model"], network.get("representation")).feature_of(model)
    from neural_smt.decoding.scorers.cslm import CslmFeature

    phrases, settings = model.phrase_table.target, network.get("settings", {})
    fallback, vocabulary = model.language_models[0], model.target_vocabulary
    return CslmFeature.load(network["model"], fallback, vocabulary, settings, device, phrases)


def load_decoder(system: System, weights: Path, threads: int = 1, device: str = "cpu") -> Decoder:
    """A searched system with tuned weights, ready to translate."""
    model = TranslationModel.load(system)
    feature = load_feature(system, model, device)
    settings = SearchSettings(**system.search)
    return Decoder(model, settings, Weights.load(weights), threads, feature)
