"""The text of a ``moses.ini``: sections of lines, feature lines and weight lines, each with its line number."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from neural_smt.errors import UserError
from neural_smt.io.files import read_lines

Value = TypeVar("Value", int, float)


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
class FeatureLine:
    """``Kind name=... key=value ...``. name: as given, or ``Kind`` and its number among those without a name."""

    line: Line
    kind: str
    name: str
    arguments: dict[str, str]

    def fail(self, reason: str) -> UserError:
        """The error that names this line."""
        return self.line.fail(reason)


Sections = dict[str, list[Line]]
"""Section name -> its lines; also where a section is empty or comes in several pieces. Order of first appearance."""


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
        elif line.text and current is None:
            raise line.fail(f"'{line.text}' stands in no section; write a line like [feature] before it")
        elif line.text:
            current.append(line)
    return sections


def single_value(lines: list[Line], kind: Callable[[str], Value]) -> Value:
    """The finite number that a section with one line holds."""
    if len(lines) != 1:
        raise lines[1].fail("this section takes one value; remove the others")
    try:
        value = kind(lines[0].text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        wanted = "a whole number" if kind is int else "a number"
        raise lines[0].fail(f"expected {wanted}, not '{lines[0].text}'; correct it")
    return value


def read_features(lines: list[Line]) -> list[FeatureLine]:
    """The lines of ``[feature]``; ``UserError`` for an argument without a value or given twice, and for equal names."""
    features: list[FeatureLine] = []
    unnamed: Counter[str] = Counter()
    for line in lines:
        kind, *items = line.text.split()
        arguments: dict[str, str] = {}
        for item in items:
            key, equals, value = item.partition("=")
            if not equals or not value or key in arguments:
                raise line.fail(f"expected arguments like name=value, each once, not '{item}'; correct the feature")
            arguments[key] = value
        name = arguments.pop("name", None)
        if name is None:
            name = f"{kind}{unnamed[kind]}"
            unnamed[kind] += 1
        if any(other.name == name for other in features):
            raise line.fail(f"a second feature is named {name}; give each a name= of its own")
        features.append(FeatureLine(line, kind, name, arguments))
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
