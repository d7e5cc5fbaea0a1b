"""A representation as one folder: its settings, its arrays, and the vocabulary that these refer to."""

from dataclasses import asdict
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from neural_smt.errors import UserError
from neural_smt.io.files import atomic, read_json, write_json
from neural_smt.representations.representation import Representation, SentenceRepresentation, WordRepresentation
from neural_smt.representations.settings import SENTENCE_KINDS, RepresentationSettings
from neural_smt.vocabulary import Vocabulary

CONFIG, ARRAYS, VOCABULARY = "config.json", "vectors.safetensors", "vocabulary.tsv"

_ADVICE = "build the representation again"


def save_representation(folder: Path, representation: Representation) -> None:
    """Write the folder, all or nothing."""
    with atomic(folder, directory=True) as temporary:
        save_file(_arrays(representation), temporary / ARRAYS)
        representation.vocabulary.save(temporary / VOCABULARY)
        description = {"settings": asdict(representation.settings), "vocabulary": representation.vocabulary.digest}
        write_json(temporary / CONFIG, description)


def _arrays(representation: Representation) -> dict[str, np.ndarray]:
    names = ("weights", "features") if isinstance(representation, SentenceRepresentation) else ("table",)
    arrays = {name: getattr(representation, name) for name in names}
    return {name: np.ascontiguousarray(array) for name, array in arrays.items() if array is not None}


def load_representation(folder: Path) -> Representation:
    """Read what ``save_representation`` wrote.

    Raises ``UserError`` when a file is missing or broken, the vocabulary is another one, or the arrays do not fit.
    """
    folder = Path(folder)
    description = read_json(folder / CONFIG)
    try:
        settings = RepresentationSettings.read(description["settings"])
        digest = description["vocabulary"]
    except (KeyError, TypeError, AttributeError, UserError) as error:
        raise UserError(f"{folder / CONFIG}: not the settings of a representation ({error}); {_ADVICE}") from None
    vocabulary = Vocabulary.load(folder / VOCABULARY)
    if vocabulary.digest != digest:
        raise UserError(f"{folder / VOCABULARY}: not the vocabulary that the representation was made with; {_ADVICE}")
    path = folder / ARRAYS
    try:
        arrays = load_file(path)
    except (OSError, SafetensorError) as error:
        raise UserError(f"{path}: cannot be loaded ({str(error).splitlines()[0]}); {_ADVICE}") from None
    representation = _assembled(settings, vocabulary, arrays)
    if representation is None:
        raise UserError(f"{path}: does not hold the vectors of a representation of kind {settings.kind}; {_ADVICE}")
    return representation


def _assembled(
    settings: RepresentationSettings, vocabulary: Vocabulary, arrays: dict[str, np.ndarray]
) -> Representation | None:
    """The representation, or None when the arrays do not fit to its settings and its vocabulary."""
    if settings.kind == "learned":
        return None if arrays else WordRepresentation(settings, vocabulary, None)
    table, features = arrays.get("weights" if settings.kind in SENTENCE_KINDS else "table"), arrays.get("features")
    if table is None or table.ndim != 2 or table.dtype != np.float32 or not np.isfinite(table).all():
        return None
    if settings.kind == "projected_lsa":
        if features is None or features.dtype != np.int32 or features.shape != (len(table),):
            return None
        return SentenceRepresentation(settings, vocabulary, table, features)
    if settings.kind in SENTENCE_KINDS:
        return SentenceRepresentation(settings, vocabulary, table) if len(table) == len(vocabulary) else None
    return WordRepresentation(settings, vocabulary, table) if len(table) == len(vocabulary) + 1 else None
