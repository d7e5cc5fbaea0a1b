"""A translation model: phrase table, language models, score columns and vocabularies of one system."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neural_smt.decoding.features import FeatureSet, build_feature_set, column_name, is_column
from neural_smt.errors import UserError
from neural_smt.experiment.system_folder import System
from neural_smt.language_model.model import NgramModel
from neural_smt.phrases.compact import CompactTable, Table, open_table
from neural_smt.phrases.table import PhraseTable, load_column
from neural_smt.vocabulary import Vocabulary


@dataclass(frozen=True)
class TranslationModel:
    """All that translation needs but weights and search settings.

    columns: feature name -> float32 ``[E]``, natural log, row-aligned with the phrase table; a compact one has its own.
    """

    phrase_table: Table
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
        vocabularies = Vocabulary.load(system["source_vocabulary"]), Vocabulary.load(system["target_vocabulary"])
        table = open_table(system["phrase_table"], vocabularies)
        models = tuple(NgramModel.load(path, vocabularies[1]) for path in system["language_models"])
        feature_set = build_feature_set(system.features, len(models), table.score_count)
        columns = {}
        for group in filter(is_column, system.features):
            if isinstance(table, CompactTable):
                if column_name(group) not in table.columns:
                    raise UserError(
                        f"{system.file}: its compact table has no column for {group}; pack the system again"
                    )
                continue
            if group not in system["columns"]:
                raise UserError(f"{system.file}: names no column for the feature {group}, nor a network; add it")
            columns[column_name(group)] = load_column(system["columns"][group], table)
        return cls(table, models, columns, *vocabularies, feature_set)


def write_compact(system: System, folder: Path) -> None:
    """Write the phrase table of a searched system, and its columns, as a ``CompactTable``."""
    model = TranslationModel.load(system)
    table, words = model.phrase_table, (len(model.source_vocabulary), len(model.target_vocabulary))
    (CompactTable.of(table, model.columns, words) if isinstance(table, PhraseTable) else table).save(folder)
