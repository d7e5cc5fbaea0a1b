"""Trained networks of any kind as scorers of target words."""

import importlib
from pathlib import Path

from neural_smt.decoding.scorers.interface import TargetNetwork
from neural_smt.errors import UserError
from neural_smt.experiment.system_folder import System
from neural_smt.io.files import read_object
from neural_smt.vocabulary import Vocabulary


def load_network(
    system: System,
    *,
    lines: list[str] | None = None,
    text: Path | None = None,
    candidates: Path | None = None,
    device: str = "cpu",
) -> TargetNetwork:
    """The network that a system reranks with, whatever its kind; a kind that is not known here has a ``load_scorer`` of
    its own.

    lines, text: the tokenised sentences that the network reads, and where they are from; candidates: their target
    vocabularies for an attention network. Raises ``UserError`` where what the network needs is missing or does not fit.
    """
    model = system.of_network("model")
    kind = read_object(model / "config.json").get("network")
    # PyTorch takes a second to load; each kind loads what it needs.
    if kind == "recurrent":
        from neural_smt.decoding.scorers.recurrent import RecurrentScoring

        return RecurrentScoring.load(model, system["network"].get("representation"))
    if kind == "attention":
        from neural_smt.decoding.scorers.attention import AttentionScoring
        from neural_smt.networks.attention.network import AttentionNetwork
        from neural_smt.networks.device import select_device
        from neural_smt.networks.folder import Trained
        from neural_smt.vocabulary_selection.candidates import read_sets

        loaded = Trained.load(model, AttentionNetwork, select_device(device))
        if candidates is not None and (lines is None or text is None):
            raise UserError(f"{candidates}: target vocabularies of sentences; give the text that they belong to")
        sets = None if candidates is None else read_sets(candidates, loaded.target, lines or [], Path(text or ""))
        return AttentionScoring(loaded, sets, system["network"].get("precision", "fp32"))
    if kind == "cslm":
        from neural_smt.decoding.scorers.cslm import CslmFeature, CslmScoring
        from neural_smt.language_model.model import NgramModel

        vocabulary = Vocabulary.load(system.base["target_vocabulary"])
        beside = NgramModel.load(system.of_network("language_model"), vocabulary)
        settings = system.of_network("settings")
        return CslmScoring(CslmFeature.load(model, beside, vocabulary, settings, device), vocabulary)
    try:
        further = importlib.import_module(f"neural_smt.training.{kind}").load_scorer
    except (ImportError, AttributeError):
        message = f"{model}: a network of kind {kind!r} scores no target sentences; name one of another kind"
        raise UserError(message) from None
    return further(model)
