"""Trained networks of any kind as scorers of target words."""

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from neural_smt.decoding.scorers.interface import TargetNetwork
from neural_smt.errors import UserError
from neural_smt.io.files import read_object
from neural_smt.vocabulary import Vocabulary


def load_network(
    model: Path,
    *,
    lines: list[str] | None = None,
    text: Path | None = None,
    representation: Path | None = None,
    candidates: Path | None = None,
    language_model: Path | None = None,
    vocabulary: Vocabulary | None = None,
    settings: Mapping[str, Any] | None = None,
    device: str = "cpu",
) -> TargetNetwork:
    """The network in a model folder, whatever its kind; a kind that is not known here has a ``load_scorer`` of its own.

    lines, text: the tokenised source sentences and where they are from; representation: what a joint model reads;
    candidates: target vocabularies of the sentences for an attention network; language_model, vocabulary: of the
    target side of a CSLM's text, for the words outside its shortlist; settings: ``CslmSettings`` for a CSLM,
    ``precision`` for an attention network. Raises ``UserError`` where what the network needs is missing or does not
    fit.
    """
    kind = read_object(Path(model) / "config.json").get("network")
    # PyTorch takes a second to load; each kind loads what it needs.
    if kind == "recurrent":
        from neural_smt.decoding.scorers.recurrent import RecurrentScoring

        return RecurrentScoring.load(model, representation)
    if kind == "attention":
        from neural_smt.decoding.scorers.attention import AttentionScoring
        from neural_smt.networks.attention.network import load_attention
        from neural_smt.networks.device import select_device
        from neural_smt.vocabulary_selection.candidates import read_sets

        loaded = load_attention(model, select_device(device))
        if candidates is not None and (lines is None or text is None):
            raise UserError(f"{candidates}: target vocabularies of sentences; give the text that they belong to")
        sets = None if candidates is None else read_sets(candidates, loaded.target, lines or [], Path(text or ""))
        return AttentionScoring(loaded, sets, (settings or {}).get("precision", "fp32"))
    if kind == "cslm":
        from neural_smt.decoding.scorers.cslm import CslmFeature, CslmScoring
        from neural_smt.language_model.model import NgramModel

        if language_model is None or vocabulary is None:
            raise UserError(
                f"{model}: a CSLM needs the n-gram model beside it; give language_model and target_vocabulary"
            )
        beside = NgramModel.load(language_model, vocabulary)
        return CslmScoring(CslmFeature.load(model, beside, vocabulary, settings or {}, device), vocabulary)
    try:
        further = importlib.import_module(f"neural_smt.training.{kind}").load_scorer
    except (ImportError, AttributeError):
        message = f"{model}: a network of kind {kind!r} scores no target sentences; name one of another kind"
        raise UserError(message) from None
    return further(model)
