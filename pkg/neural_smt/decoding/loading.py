"""The hook that a system's feature groups ask for."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neural_smt.decoding.features import HOOKS
from neural_smt.decoding.model import TranslationModel
from neural_smt.errors import UserError

if TYPE_CHECKING:
    from neural_smt.decoding.cslm import CslmHook


def load_hook(
    features: Sequence[str], model: TranslationModel, cslm: Path | None, settings: Mapping[str, Any], device: str
) -> "CslmHook | None":
    """The CSLM for a system whose feature groups name it, else None; settings: see ``CslmSettings``."""
    if not any(group in HOOKS for group in features):
        return None
    if cslm is None:
        raise UserError("the system uses the feature cslm, but no model folder of a CSLM was given")
    # PyTorch takes a second to load, and most systems need none of it.
    from neural_smt.decoding.cslm import CslmHook

    phrases = model.phrase_table.target
    return CslmHook.load(cslm, model.language_models[0], model.target_vocabulary, settings, device, phrases)
