"""A translation model: phrase table, language models, score columns and vocabularies of one system."""

from dataclasses import dataclass

import numpy as np

from neural_smt.decoding.features import FeatureSet, build_feature_set, column_name, is_column
from neural_smt.errors import UserError
from neural_smt.experiment.system_folder import System
from neural_smt.language_model.model import NgramModel
from neural_smt.phrases.table import PhraseTable, load_column
from neural_smt.vocabulary import Vocabulary


@dataclass(frozen=True)
class TranslationModel:
    """All that translation needs but weights and search settings.

    columns: feature name -> float32 ``[E]``, natural log, row-aligned with the phrase table.
    """

    phrase_table: PhraseTable
    language_models: tuple[NgramModel, ...]
    columns: dict[str, np.ndarray]
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    feature_set: FeatureSet

    @classmethod
    def load(cls, system: System) -> "TranslationModel":
        """Map the files of a searched system into memory.

        Raises ``UserError`` when files do not belong together (see ``load_column``).
        """
        files = (system[key] for key in ("phrase_table", "source_vocabulary", "target_vocabulary"))
        table, vocabularies = PhraseTable.load_checked(*files)
        models = tuple(NgramModel.load(path, vocabularies[1]) for path in system["language_models"])
        feature_set = build_feature_set(system.features, len(models), table.scores.shape[1])
        columns = {}
        for group in filter(is_column, system.features):
            if group not in system["columns"]:
                raise UserError(f"{system.file}: names no column for the feature {group}, nor a network; add it")
            columns[column_name(group)] = load_column(system["columns"][group], table)
        return cls(table, models, columns, *vocabularies, feature_set)
