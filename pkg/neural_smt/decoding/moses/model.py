"""The model that a ``moses.ini`` names, read from its text files."""

from neural_smt.decoding.features import build_feature_set
from neural_smt.decoding.model import TranslationModel
from neural_smt.decoding.moses.ini import MosesIni
from neural_smt.errors import UserError
from neural_smt.language_model.arpa import read_arpa
from neural_smt.language_model.arpa_model import arpa_model
from neural_smt.language_model.model import NgramModel
from neural_smt.phrases.moses_format import read_moses_text
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
    arpas = [(path, *read_arpa(path)) for path in ini.language_models]
    for _, _, own in arpas:
        words |= dict.fromkeys(own.words)
    target = Vocabulary(list(words), [0] * len(words))
    table = text.table(source, target)
    models = tuple(arpa_model(*arpa, target) for arpa in arpas)
    return assemble(ini, table, models, source, target)


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
