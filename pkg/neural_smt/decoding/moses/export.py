"""Writing a tuned system as a folder that Moses loads."""

import logging
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from neural_smt.decoding.features import DISTORTION, LOG_FLOOR, REORDERING
from neural_smt.decoding.model import TranslationModel
from neural_smt.decoding.moses.ini import ALGORITHMS, REORDERING_TYPES, SIMPLE, TRANSLATION
from neural_smt.decoding.search import SearchSettings
from neural_smt.decoding.weights import Weights
from neural_smt.errors import UserError
from neural_smt.io.files import atomic, write_lines
from neural_smt.phrases.moses_format import write_moses

log = logging.getLogger(__name__)

INI_NAME = "moses.ini"
PHRASE_TABLE_NAME = "phrase-table.gz"
REORDERING_TABLE_NAME = "reordering-table.wbe-msd-bidirectional-fe.gz"


def write_moses_folder(
    folder: Path, model: TranslationModel, arpas: Sequence[Path], weights: Weights, settings: SearchSettings
) -> None:
    """Write phrase table, reordering table, language models and ``moses.ini`` into a new folder, atomically.

    The score columns of the model follow the scores of the phrase table, as probabilities, and so do their weights; no
    probability counts less than e^-100 in Moses, so a column's lower scores are raised to that. arpas: the language
    models, in their order. Paths in the ini are relative to the folder.
    """
    vector = weights.vector(model.feature_set)
    _check_words(model)
    for name, column in model.columns.items():
        low = int(np.count_nonzero(column < LOG_FLOOR))
        if low:
            log.warning("%d scores of %s are below %g, which Moses does not go below", low, name, LOG_FLOOR)
    with atomic(folder, directory=True) as temporary:
        reordering = temporary / REORDERING_TABLE_NAME if REORDERING in model.feature_set else None
        vocabularies = model.source_vocabulary, model.target_vocabulary
        write_moses(model.phrase_table, vocabularies, temporary / PHRASE_TABLE_NAME, reordering, model.columns)
        names = [f"lm{number}.arpa{'.gz' if path.suffix == '.gz' else ''}" for number, path in enumerate(arpas)]
        for name, path in zip(names, arpas, strict=True):
            _copy(path, temporary / name)
        write_lines(temporary / INI_NAME, _ini(model, names, vector, settings))


def _check_words(model: TranslationModel) -> None:
    """``UserError`` for a word of the phrase table that would fall apart in Moses' files."""
    table = model.phrase_table
    for vocabulary, phrases in ((model.source_vocabulary, table.source), (model.target_vocabulary, table.target)):
        for number in np.unique(phrases.values).tolist():
            word = vocabulary.words[number]
            if "|" in word:
                raise UserError(
                    f"the phrase table has the word {word!r}, but Moses takes | for a separator; "
                    "write &#124; for it in the tokenised text"
                )


def _copy(source: Path, target: Path) -> None:
    try:
        shutil.copyfile(source, target)
    except OSError as error:
        raise UserError(f"{error.filename}: cannot be copied ({error.strerror})") from None


def _ini(
    model: TranslationModel, language_models: list[str], vector: np.ndarray, settings: SearchSettings
) -> list[str]:
    features = model.feature_set
    scores = model.phrase_table.scores.shape[1] + len(model.columns)
    sections = {
        "input-factors": ["0"],
        "mapping": ["0 T 0"],
        "search-algorithm": [str(number) for number, name in ALGORITHMS.items() if name == settings.algorithm],
        "stack": [str(settings.stack_size)],
        "beam-threshold": [repr(settings.beam_threshold)],
        "cube-pruning-pop-limit": [str(settings.pop_limit)],
        "distortion-limit": [str(settings.distortion_limit)],
        "feature": [
            *(kind for kind, name in SIMPLE.items() if name != DISTORTION),
            f"PhraseDictionaryMemory name={TRANSLATION} num-features={scores} table-limit={settings.table_limit} "
            f"path={PHRASE_TABLE_NAME} input-factor=0 output-factor=0",
        ],
    }
    if REORDERING in features:
        sections["feature"].append(
            f"LexicalReordering name={REORDERING} num-features=6 type={REORDERING_TYPES[0]} "
            f"path={REORDERING_TABLE_NAME} input-factor=0 output-factor=0"
        )
    sections["feature"].append("Distortion")
    for number, (name, language_model) in enumerate(zip(language_models, model.language_models, strict=True)):
        sections["feature"].append(f"KENLM name=LM{number} factor=0 path={name} order={language_model.order}")
    sections["weight"] = [
        f"{name}= {' '.join(map(repr, vector[part].tolist()))}" for name, part in _weight_slices(model).items()
    ]
    lines = ["# Paths are relative to this folder: start Moses in it."]
    for name, content in sections.items():
        lines += ["", f"[{name}]", *content]
    return lines


def _weight_slices(model: TranslationModel) -> dict[str, list[int]]:
    """Feature name in the ini -> the positions of its weights among those of the system."""
    positions = {name: list(range(part.start, part.stop)) for name, part in model.feature_set.slices.items()}
    for column in model.columns:
        positions[TRANSLATION] += positions.pop(column)
    return positions
