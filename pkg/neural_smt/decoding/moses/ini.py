"""What a ``moses.ini`` asks for; whatever this decoder would do otherwise than Moses is refused by file and line."""

import os
from dataclasses import dataclass
from pathlib import Path

from neural_smt.decoding.features import REORDERING, UNKNOWN_WORD
from neural_smt.decoding.moses.paths import find_file, find_language_model
from neural_smt.decoding.moses.sections import (
    FeatureLine,
    Line,
    Sections,
    read_features,
    read_sections,
    read_weights,
    single_value,
)
from neural_smt.decoding.moses.support import ARGUMENTS, SEARCH, SIMPLE, check_feature, check_sections
from neural_smt.decoding.search import SearchSettings
from neural_smt.decoding.weights import Weights
from neural_smt.errors import UserError

TRANSLATION = "TranslationModel0"

STATEFUL = ("LexicalReordering", "Distortion", "KENLM")

ALGORITHMS = {0: "stack", 1: "cube"}

LONGEST_SOURCE_PHRASE = 20
"""Moses' own ``max-phrase-length``."""


@dataclass(frozen=True)
class MosesIni:
    """A model and a search, as a ``moses.ini`` names them.

    phrase_scores: N, how many scores a phrase pair has; weights: under the names features have here; names: name here
    -> name in the ini, of the features it has, stateful ones first, otherwise in its order (that of Moses' n-best
    lists); max_phrase_length: in source words; threads: None where the ini does not say.
    """

    path: Path
    phrase_table: Path
    reordering_table: Path | None
    language_models: list[Path]
    phrase_scores: int
    weights: Weights
    names: dict[str, str]
    settings: SearchSettings
    max_phrase_length: int
    threads: int | None

    @property
    def distortion_limit(self) -> int:
        """In words; -1 when there is none."""
        return self.settings.distortion_limit

    @property
    def groups(self) -> list[str]:
        """The feature groups that it uses."""
        return ["phrase", "language_model", *(["reordering"] if self.reordering_table else [])]


def read_moses_ini(path: Path) -> MosesIni:
    """Read ``moses.ini``; ``UserError`` names the line of whatever would not have the effect it has in Moses."""
    path = Path(path)
    sections = read_sections(path)
    check_sections(sections)
    features = read_features(sections.get("feature", []))
    for feature in features:
        check_feature(feature)
    of_kind = {kind: [f for f in features if f.kind == kind] for kind in ARGUMENTS}
    for kind, found in of_kind.items():
        if kind != "KENLM" and len(found) > 1:
            raise found[1].fail(f"a second {kind} is not supported; remove one")
    if not of_kind["PhraseDictionaryMemory"] or not of_kind["KENLM"]:
        raise UserError(f"{path}: expected one PhraseDictionaryMemory and a KENLM under [feature]; add what is missing")
    table, reordering = of_kind["PhraseDictionaryMemory"][0], next(iter(of_kind["LexicalReordering"]), None)
    names = _names(features)
    scores = _positive(table, "num-features")
    return MosesIni(
        path=path,
        phrase_table=find_file(table),
        reordering_table=find_file(reordering) if reordering else None,
        language_models=[find_language_model(feature) for feature in of_kind["KENLM"]],
        phrase_scores=scores,
        weights=_weights(path, sections.get("weight", []), names, scores, reordering is not None),
        names=names,
        settings=_settings(path, sections, table),
        max_phrase_length=_number(sections, "max-phrase-length", LONGEST_SOURCE_PHRASE, least=1),
        threads=_threads(sections),
    )


def _names(features: list[FeatureLine]) -> dict[str, str]:
    """Name here -> name in the ini."""
    named = {}
    for feature in sorted(features, key=lambda feature: feature.kind not in STATEFUL):
        models = sum(name.startswith("LM") for name in named)
        files = {"PhraseDictionaryMemory": TRANSLATION, "LexicalReordering": REORDERING, "KENLM": f"LM{models}"}
        named[(files | SIMPLE)[feature.kind]] = feature.name
    return named


def _weights(path: Path, lines: list[Line], names: dict[str, str], scores: int, reordering: bool) -> Weights:
    """The weights by the names used here; a feature that the ini does without has weight 0."""
    given = read_weights(lines)
    for name, (line, _) in given.items():
        if name not in names.values():
            raise line.fail(f"there is no feature {name} under [feature]; remove the weight or add the feature")
    weights = dict.fromkeys(SIMPLE.values(), (0.0,))
    sizes = {TRANSLATION: scores, REORDERING: 6}
    for name, own in names.items():
        size = sizes.get(name, 1)
        if own not in given and name == UNKNOWN_WORD:
            weights[name] = (1.0,)  # cannot be tuned, so Moses does not insist
            continue
        if own not in given:
            raise UserError(f"{path}: [weight] has no line for {own}; add '{own}=' and its {size} numbers")
        line, values = given[own]
        if len(values) != size:
            raise line.fail(f"{own} has {size} scores but {len(values)} weights; correct the line")
        weights[name] = values
    return Weights(weights)


def _settings(path: Path, sections: Sections, table: FeatureLine) -> SearchSettings:
    """The search; what the ini does not say is as in Moses."""
    chosen = {name: single_value(sections[key], kind) for key, (name, kind) in SEARCH.items() if sections.get(key)}
    chosen = {"distortion_limit": -1} | chosen
    if "table-limit" in table.arguments:
        limit = _positive(table, "table-limit", least=0)
        if chosen.setdefault("table_limit", limit) != limit:
            raise table.fail(f"table-limit={limit} contradicts [ttable-limit]; keep one")
    if sections.get("search-algorithm"):
        number = single_value(sections["search-algorithm"], int)
        if number not in ALGORITHMS:
            line = sections["search-algorithm"][0]
            raise line.fail(f"search algorithm {number} is not supported; choose 0 (stacks) or 1 (cube pruning)")
        chosen["algorithm"] = ALGORITHMS[number]
    try:
        return SearchSettings(**chosen)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def _positive(feature: FeatureLine, key: str, least: int = 1) -> int:
    text = feature.arguments.get(key, "")
    if not text.isdecimal() or int(text) < least:
        raise feature.fail(f"{feature.kind} needs {key}= with a whole number of at least {least}; correct it")
    return int(text)


def _number(sections: Sections, name: str, default: int, least: int) -> int:
    if not sections.get(name):
        return default
    value = single_value(sections[name], int)
    if value < least:
        raise sections[name][0].fail(f"[{name}] must be at least {least}; correct it")
    return value


def _threads(sections: Sections) -> int | None:
    lines = sections.get("threads")
    if lines and lines[0].text == "all":
        return os.cpu_count()
    return _number(sections, "threads", 0, least=1) or None
