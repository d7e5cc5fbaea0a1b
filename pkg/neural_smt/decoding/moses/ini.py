"""Reading a ``moses.ini``; whatever would not have the effect it has in Moses is refused by file and line."""

import math
import os
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from neural_smt.decoding.features import REORDERING, UNKNOWN_WORD, Weights
from neural_smt.decoding.search import SearchSettings
from neural_smt.errors import UserError
from neural_smt.io.files import read_lines, read_yaml

TRANSLATION = "TranslationModel0"

STATEFUL = ("LexicalReordering", "Distortion", "KENLM")

SUPPORTED = read_yaml(Path(__file__).with_name("supported.yaml"))

ALGORITHMS: dict[int, str] = SUPPORTED["algorithms"]
"""Search algorithms by their numbers in Moses."""

LONGEST_SOURCE_PHRASE = 20
"""Moses' own ``max-phrase-length``."""

NAMES = {kind: f"{kind}0" for kind in SUPPORTED["features"]} | {"PhraseDictionaryMemory": TRANSLATION}
"""Kind in the ini -> name here, but for language models, which are ``LM0``, ``LM1`` and so on."""


@dataclass(frozen=True)
class Line:
    """A line of an ini file, without its comment."""

    path: Path
    number: int
    text: str

    def fail(self, reason: str) -> UserError:
        """The error that names this line."""
        return UserError(f"{self.path}, line {self.number}: {reason}")


@dataclass(frozen=True)
class FeatureLine(Line):
    """``Kind name=... key=value ...``. name: as given, or ``Kind`` and its number among those without a name."""

    kind: str
    name: str
    arguments: dict[str, str]


Sections = dict[str, list[Line]]
"""Section name -> its lines; also where a section is empty or comes in several pieces. Order of first appearance."""


@dataclass(frozen=True)
class MosesIni:
    """The model and the search that a ``moses.ini`` names.

    phrase_scores: N, how many scores a phrase pair has; weights: under the names features have here; names: name here
    -> name in the ini, of the features it has, stateful ones first, otherwise in its order (that of Moses' n-best
    lists); max_phrase_length: in source words; threads: None where the ini does not set them.
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


def read_moses_ini(path: Path) -> MosesIni:
    """Read ``moses.ini``; ``UserError`` names the line of whatever would not have the effect it has in Moses."""
    path = Path(path)
    sections = read_sections(path)
    _check_sections(sections)
    features = read_features(sections.get("feature", []))
    for feature in features:
        _check_feature(feature)
    of_kind = {kind: [f for f in features if f.kind == kind] for kind in SUPPORTED["features"]}
    for kind, found in of_kind.items():
        if kind != "KENLM" and len(found) > 1:
            raise found[1].fail(f"a second {kind} is not supported; remove one")
    if not of_kind["PhraseDictionaryMemory"] or not of_kind["KENLM"]:
        raise UserError(f"{path}: expected one PhraseDictionaryMemory and a KENLM under [feature]; add what is missing")
    table, reordering = of_kind["PhraseDictionaryMemory"][0], next(iter(of_kind["LexicalReordering"]), None)
    names, scores = _names(features), _positive(table, "num-features")
    every_core = [line.text for line in sections.get("threads", [])][:1] == ["all"]
    return MosesIni(
        path=path,
        phrase_table=_find_file(table),
        reordering_table=_find_file(reordering) if reordering else None,
        language_models=[_find_language_model(feature) for feature in of_kind["KENLM"]],
        phrase_scores=scores,
        weights=_weights(path, sections.get("weight", []), names, scores),
        names=names,
        settings=_settings(path, sections, table),
        max_phrase_length=_number(sections, "max-phrase-length", least=1) or LONGEST_SOURCE_PHRASE,
        threads=os.cpu_count() if every_core else _number(sections, "threads", least=1),
    )


def read_sections(path: Path) -> Sections:
    """The lines of an ini file by section, without comments and blank lines; ``UserError`` for one before any."""
    sections: Sections = {}
    current = None
    for number, raw in enumerate(read_lines(path), start=1):
        line = Line(path, number, raw.split("#", 1)[0].strip())
        if line.text.startswith("["):
            if not line.text.endswith("]"):
                raise line.fail(f"'{line.text}' has no closing bracket; write [section]")
            current = sections.setdefault(line.text[1:-1].strip(), [])
        elif current is not None and line.text:
            current.append(line)
        elif line.text:
            raise line.fail(f"'{line.text}' stands in no section; write a line like [feature] before it")
    return sections


LARGEST = 1_000_000
"""Numbers of sections are at most so large."""


def _number(sections: Sections, name: str, kind: Callable[[str], Any] = int, least: int = -LARGEST) -> Any:
    """The number that a section with one line holds; None where there is no such section, or it is empty."""
    lines = sections.get(name)
    if not lines:
        return None
    if len(lines) != 1:
        raise lines[1].fail("this section takes one value; remove the others")
    try:
        value = kind(lines[0].text)
    except ValueError:
        value = math.nan
    if not least <= value <= LARGEST:
        wanted = f"{'a whole' if kind is int else 'a'} number from {least:,} to {LARGEST:,}"
        raise lines[0].fail(f"expected {wanted}, not '{lines[0].text}'; correct it")
    return value


def read_features(lines: list[Line]) -> list[FeatureLine]:
    """The lines of ``[feature]``; ``UserError`` for an argument without a value or given twice, and for equal names."""
    features: list[FeatureLine] = []
    unnamed: defaultdict[str, count[int]] = defaultdict(count)
    for line in lines:
        kind, *items = line.text.split()
        arguments: dict[str, str] = {}
        for item in items:
            key, equals, value = item.partition("=")
            if not equals or not value or key in arguments:
                raise line.fail(f"expected arguments like name=value, each once, not '{item}'; correct the feature")
            arguments[key] = value
        name = arguments.pop("name", None) or f"{kind}{next(unnamed[kind])}"
        if any(other.name == name for other in features):
            raise line.fail(f"a second feature is named {name}; give each a name= of its own")
        features.append(FeatureLine(line.path, line.number, line.text, kind, name, arguments))
    return features


def read_weights(lines: list[Line]) -> dict[str, tuple[Line, tuple[float, ...]]]:
    """The lines ``Name= numbers`` of ``[weight]`` by name; ``UserError`` for a number that is not finite."""
    weights: dict[str, tuple[Line, tuple[float, ...]]] = {}
    for line in lines:
        name, equals, text = line.text.partition("=")
        name = name.strip()
        try:
            values = tuple(float(value) for value in text.split())
        except ValueError:
            equals, values = "", ()
        if not equals or not values:
            raise line.fail(f"expected 'Name= numbers', not '{line.text}'; correct the weight")
        if not all(map(math.isfinite, values)):
            raise line.fail(f"a weight of {name} is not a finite number; correct it")
        if name in weights:
            raise line.fail(f"the weights of {name} stand here a second time; remove one of the lines")
        weights[name] = line, values
    return weights


def _check_sections(sections: Sections) -> None:
    """``UserError`` for a section whose effect would be missing here."""
    only = SUPPORTED["only"]
    known = {*SUPPORTED["sections"], *SUPPORTED["other"], *only}
    for name, lines in sections.items():
        if name not in known and lines:
            raise lines[0].fail(f"the section [{name}] is not supported; remove it")
    for name, text in only.items():
        for line in sections.get(name, []):
            if " ".join(line.text.split()) != text:
                raise line.fail(f"[{name}] can only be '{text}', not '{line.text}'; use a model of one factor")


def _check_feature(feature: FeatureLine) -> None:
    """``UserError`` for a feature, or an argument of one, that is not supported."""
    known = SUPPORTED["features"].get(feature.kind)
    if known is None:
        advice = SUPPORTED["replacements"].get(feature.kind, "remove it")
        raise feature.fail(f"the feature {feature.kind} is not supported; {advice}")
    for key, value in feature.arguments.items():
        if key not in known and value not in SUPPORTED["harmless"].get(key, ()):
            raise feature.fail(f"the argument {key}={value} of {feature.kind} is not supported; remove it")
    scores = feature.arguments.get("num-features")
    expected = {"LexicalReordering": "6"}.get(feature.kind, "1")
    if scores is not None and feature.kind != "PhraseDictionaryMemory" and scores != expected:
        raise feature.fail(f"num-features={scores} is not supported, {feature.kind} has {expected}; correct it")
    kind, types = feature.arguments.get("type", "(none)"), SUPPORTED["reordering_types"]
    if feature.kind == "LexicalReordering" and kind not in types:
        raise feature.fail(f"the reordering type {kind} is not supported; use a model of type {types[0]}")


def _names(features: list[FeatureLine]) -> dict[str, str]:
    """Name here -> name in the ini."""
    ordered = sorted(features, key=lambda feature: feature.kind not in STATEFUL)
    models = (f"LM{number}" for number in count())
    return {next(models) if feature.kind == "KENLM" else NAMES[feature.kind]: feature.name for feature in ordered}


def _weights(path: Path, lines: list[Line], names: dict[str, str], scores: int) -> Weights:
    """The weights by the names used here; a feature that the ini does without has weight 0."""
    given = read_weights(lines)
    for name, (line, _) in given.items():
        if name not in names.values():
            raise line.fail(f"there is no feature {name} under [feature]; remove the weight or add the feature")
    weights: Any = {NAMES[kind]: (0.0,) for kind, known in SUPPORTED["features"].items() if known == ["num-features"]}
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
    kinds = {"beam-threshold": float}
    given = {setting: _number(sections, name, kinds.get(name, int)) for name, setting in SUPPORTED["sections"].items()}
    chosen = {"distortion_limit": -1} | {setting: value for setting, value in given.items() if value is not None}
    if "table-limit" in table.arguments:
        limit = _positive(table, "table-limit", least=0)
        if chosen.setdefault("table_limit", limit) != limit:
            raise table.fail(f"table-limit={limit} contradicts [ttable-limit]; keep one")
    number = _number(sections, "search-algorithm")
    if number is not None and number not in ALGORITHMS:
        line = sections["search-algorithm"][0]
        raise line.fail(f"search algorithm {number} is not supported; choose 0 (stacks) or 1 (cube pruning)")
    try:
        return SearchSettings(**chosen, **({} if number is None else {"algorithm": ALGORITHMS[number]}))
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def _positive(feature: FeatureLine, key: str, least: int = 1) -> int:
    text = feature.arguments.get(key, "")
    if not text.isdecimal() or len(text) > 9 or int(text) < least:
        raise feature.fail(f"{feature.kind} needs {key}= with a whole number of at least {least}; correct it")
    return int(text)


def _find_file(feature: FeatureLine) -> Path:
    """The file that a feature names.

    As for Moses, a relative path starts at the working directory, and ``.gz`` is added where the plain file is
    missing. What is not there is looked for beside the ini.
    """
    given = feature.arguments.get("path")
    if given is None:
        raise feature.fail(f"{feature.kind} has no path=; add it")
    found = []
    for place in (Path(given), feature.path.parent / given):
        found += [path for path in (place, Path(f"{place}.gz")) if path.is_file()][:1]
    if not found:
        raise feature.fail(f"there is no file {given} (nor {given}.gz); correct the path")
    if len(found) == 2 and not found[0].samefile(found[1]):
        raise feature.fail(f"{given} is both {found[0].resolve()} and {found[1]}; give an absolute path")
    return found[-1]


def _find_language_model(feature: FeatureLine) -> Path:
    """The ARPA file of a language model; ``UserError`` for a binary of KenLM."""
    path = _find_file(feature)
    with open(path, "rb") as stream:
        if stream.read(8) == b"mmap lm ":
            raise feature.fail(f"{path} is a binary of KenLM; give the ARPA file it was made from")
    return path
