"""Reading a Moses model: ``moses.ini`` and the text files it names."""

from dataclasses import dataclass
from pathlib import Path

from neural_smt.decoding.features import build_feature_set
from neural_smt.decoding.model import TranslationModel
from neural_smt.decoding.weights import Weights
from neural_smt.errors import UserError
from neural_smt.files import read_lines
from neural_smt.language_model.arpa import read_arpa
from neural_smt.language_model.model import NgramModel
from neural_smt.phrases.moses_format import moses_vocabularies, read_moses
from neural_smt.vocabulary import Vocabulary

WITHOUT_FILES = ("UnknownWordPenalty", "WordPenalty", "PhrasePenalty", "Distortion")


@dataclass(frozen=True)
class MosesIni:
    """What a ``moses.ini`` names: files (absolute or relative to its folder), distortion limit and weights."""

    phrase_table: Path
    reordering_table: Path | None
    language_models: list[Path]
    distortion_limit: int
    weights: Weights

    @property
    def groups(self) -> list[str]:
        """The feature groups that it uses."""
        return ["phrase", "language_model", *(["reordering"] if self.reordering_table else [])]


def read_moses_ini(path: Path) -> MosesIni:
    """Read ``moses.ini``; ``UserError`` names a feature that this decoder does not have."""
    sections = _sections(path)
    tables, reorderings, models = [], [], []
    for number, line in sections.get("feature", []):
        kind, *settings = line.split()
        values = dict(item.split("=", 1) for item in settings if "=" in item)
        where = path.parent / values.get("path", "")
        if kind == "PhraseDictionaryMemory" and values.get("num-features") == "4":
            tables.append(where)
        elif kind == "LexicalReordering" and values.get("type", "").startswith("wbe-msd-bidirectional-fe"):
            reorderings.append(where)
        elif kind in ("KENLM", "SRILM"):
            models.append(where)
        elif kind not in WITHOUT_FILES:
            raise UserError(f"{path}, line {number}: the feature '{line.strip()}' is not supported; remove it")
    if len(tables) != 1 or not models or len(reorderings) > 1:
        raise UserError(f"{path}: expected one phrase table, at most one reordering table, and a language model")
    limit = int(sections["distortion-limit"][0][1]) if "distortion-limit" in sections else -1
    weights = {}
    for number, line in sections.get("weight", []):
        name, equals, values = line.partition("=")
        try:
            weights[name.strip()] = tuple(float(value) for value in values.split())
        except ValueError:
            equals = ""
        if not equals:
            raise UserError(f"{path}, line {number}: expected 'Name= numbers'; correct the weight")
    return MosesIni(tables[0], reorderings[0] if reorderings else None, models, limit, Weights(weights))


def _sections(path: Path) -> dict[str, list[tuple[int, str]]]:
    """Section name -> its numbered lines, without comments and blank lines."""
    sections: dict[str, list[tuple[int, str]]] = {}
    current: list[tuple[int, str]] = []
    for number, line in enumerate(read_lines(path), start=1):
        text = line.split("#")[0].strip()
        if text.startswith("["):
            current = sections.setdefault(text.strip("[]"), [])
        elif text:
            current.append((number, text))
    return sections


def load_moses_model(ini: MosesIni) -> TranslationModel:
    """Read the tables and language models that ``moses.ini`` names into memory.

    The target vocabulary holds the words of the phrase table and, after them, those of the language models: a word
    that is only copied can still be known to a language model.
    """
    source, target = moses_vocabularies(ini.phrase_table)
    words = dict.fromkeys(target.words)
    for path in ini.language_models:
        words |= dict.fromkeys(read_arpa(path)[1].words)
    target = Vocabulary(list(words), [0] * len(words))
    table = read_moses(ini.phrase_table, ini.reordering_table, source, target)
    models = tuple(NgramModel.from_tables(read_arpa(path, target)[0], target) for path in ini.language_models)
    return TranslationModel(table, models, {}, source, target, build_feature_set(ini.groups, len(models)))
