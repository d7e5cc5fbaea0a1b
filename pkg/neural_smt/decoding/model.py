"""A translation model: phrase table, language models, score columns and vocabularies of one system."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neural_smt.decoding.features import FeatureSet, build_feature_set, column_name, is_column
from neural_smt.errors import UserError
from neural_smt.language_model.model import NgramModel
from neural_smt.phrases.columns import load_column
from neural_smt.phrases.table import PhraseTable
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
    def load(
        cls,
        *,
        phrase_table: Path,
        language_models: list[Path],
        columns: dict[str, Path],
        source_vocabulary: Path,
        target_vocabulary: Path,
        features: list[str],
    ) -> "TranslationModel":
        """Map the files of a system into memory.

        features: its feature groups; columns: group -> file for the groups that are score columns (others are
        not read). Raises ``UserError`` when files do not belong together (see ``load_column``).
        """
        vocabularies = Vocabulary.load(source_vocabulary), Vocabulary.load(target_vocabulary)
        table = PhraseTable.load(phrase_table)
        table.check_vocabularies(*vocabularies)
        feature_set = build_feature_set(features, len(language_models), table.scores.shape[1])
        read = {}
        for group in features:
            if not is_column(group):
                continue
            if group not in columns:
                raise UserError(f"the system uses the feature {group}, but no column of that name was given; give it")
            read[column_name(group)] = load_column(Path(columns[group]), table)
        models = tuple(NgramModel.load(path, vocabularies[1]) for path in language_models)
        return cls(table, models, read, *vocabularies, feature_set)
