"""The model that a ``moses.ini`` names, read from its text files."""

from pathlib import Path

from neural_smt.decoding.features import build_feature_set
from neural_smt.decoding.model import TranslationModel
from neural_smt.decoding.moses.ini import MosesIni
from neural_smt.errors import UserError
from neural_smt.language_model.arpa import read_arpa
from neural_smt.language_model.model import NgramModel
from neural_smt.phrases.moses_reading import read_moses_text
from neural_smt.phrases.table import PhraseTable
from neural_smt.vocabulary import Vocabulary


def read_text_model(ini: MosesIni) -> TranslationModel:
    """Read the tables and language models that ``moses.ini`` names into memory.

    The target vocabulary holds the words of the phrase table and, after them, those of the language models: a word
    that is only copied can still be known to a language model.
    """
    text = read_moses_text(ini.phrase_table, ini.reordering_table)
    source, target = text.vocabularies
    words = dict.fromkeys(target.words)
    for path in ini.language_models:
        words |= dict.fromkeys(read_arpa(path)[1].words)
    target = Vocabulary(list(words), [0] * len(words))
    table = text.table(source, target)
    models = tuple(_read_language_model(path, target) for path in ini.language_models)
    return assemble(ini, table, models, source, target)


def _read_language_model(path: Path, vocabulary: Vocabulary) -> NgramModel:
    model = NgramModel.from_tables(read_arpa(path, vocabulary)[0], vocabulary)
    if not model.finite:
        raise UserError(f"{path}: a probability or back-off weight is not a finite number; make the ARPA file again")
    return model


def assemble(
    ini: MosesIni, table: PhraseTable, models: tuple[NgramModel, ...], source: Vocabulary, target: Vocabulary
) -> TranslationModel:
    """The parts as a model with the features of the ini; ``UserError`` when the table has other scores than it says."""
    size = table.scores.shape[1]
    if size != ini.phrase_scores:
        raise UserError(
            f"{ini.phrase_table}: has {size} scores but {ini.path} says num-features={ini.phrase_scores}; correct it"
        )
    features = build_feature_set(ini.groups, len(models), phrase_scores=size)
    return TranslationModel(table, models, {}, source, target, features)
