"""How networks score target words: one interface for search, lattices, n-best lists and beam search.

A kind of network that scores words has a module of the same name here. Its function ``load_scorer`` gives the network
of a system that reranks with it (see ``interface``); ``feature_of``, where it can take part in a search, that of a
searched system as a stateful feature (``decoding/batches.py``). Modules are found by name: what is done with another
kind, or without a network, does not depend on them.
"""

import importlib
from collections.abc import Callable
from typing import Any

from neural_smt.decoding.batches import StatefulFeature
from neural_smt.decoding.model import TranslationModel
from neural_smt.errors import UserError
from neural_smt.experiment.system_folder import System


def loader(system: System, name: str) -> Callable[..., Any]:
    """The function of this name that the kind of a system's network has."""
    kind = system.of_network("kind")
    module = f"{__name__}.{kind}"
    # PyTorch takes a second to load, and most systems need none of it.
    try:
        return getattr(importlib.import_module(module), name)
    except (ModuleNotFoundError, AttributeError) as error:
        if error.name not in (module, name):  # a fault of the kind's own module
            raise
        use = "in a search" if name == "feature_of" else "of translations"
        raise UserError(f"{system.file}: a network of kind {kind!r} scores no words {use}; name another one") from None


def load_feature(system: System, model: TranslationModel, device: str) -> StatefulFeature | None:
    """The feature of the network that a system is searched with; None for a system without one."""
    return loader(system, "feature_of")(system, model, device) if system.content.get("network") else None
