"""The hook that a system's feature groups ask for."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neural_smt.decoding.features import HOOKS
from neural_smt.decoding.model import TranslationModel
from neural_smt.errors import UserError

if TYPE_CHECKING:
    from neural_smt.decoding.cslm import CslmHook
    from neural_smt.decoding.recurrent.search import RecurrentHook


def load_hook(
    features: Sequence[str],
    model: TranslationModel,
    cslm: Path | None,
    settings: Mapping[str, Any],
    device: str,
    recurrent: Path | None = None,
    representation: Path | None = None,
) -> "CslmHook | RecurrentHook | None":
    """The CSLM or the recurrent model for a system whose feature groups name it, else None.

    cslm, settings: its model folder and ``CslmSettings``; recurrent, representation: the recurrent model's folder and
    that of what it reads.
    """
    asked = [group for group in features if group in HOOKS]
    if not asked:
        return None
    if len(asked) > 1:
        raise UserError(f"a search has one hook, but the system names {' and '.join(asked)}; rescore with the other")
    folder = {"cslm": cslm, "recurrent": recurrent}[asked[0]]
    if folder is None:
        network = {"cslm": "a CSLM", "recurrent": "a recurrent model"}[asked[0]]
        raise UserError(f"the system uses the feature {asked[0]}, but no model folder of {network} was given; give it")
    # PyTorch takes a second to load, and most systems need none of it.
    if asked[0] == "recurrent":
        from neural_smt.decoding.recurrent.search import RecurrentHook

        return RecurrentHook.load(folder, model, representation)
    from neural_smt.decoding.cslm import CslmHook

    phrases = model.phrase_table.target
    return CslmHook.load(folder, model.language_models[0], model.target_vocabulary, settings, device, phrases)
