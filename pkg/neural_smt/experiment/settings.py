"""Settings: defaults, ranges and types from the schema, and the objects that code reads them from."""

import difflib
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import deepcopy
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from neural_smt.errors import LONGEST, UserError
from neural_smt.io.files import MAKE_AGAIN, read_object, read_yaml


class Settings(SimpleNamespace):
    """A complete section of the configuration: ``settings.rate``. Nothing is checked here, the schema has done so."""

    def __init__(self, values: Mapping[str, Any]):
        super().__init__(**values)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"there is no setting {name!r} among {', '.join(vars(self))}")

    def __reduce__(self) -> tuple[type["Settings"], tuple[dict[str, Any]]]:
        return Settings, (self.as_dict(),)  # a namespace would be copied without values

    def as_dict(self) -> dict[str, Any]:
        """The settings as plain values."""
        return dict(vars(self))

    def replace(self, **changes: Any) -> "Settings":
        """The same settings but for some, or with further ones."""
        return Settings(vars(self) | changes)


@cache
def load_schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of an experiment, which describes every setting, with its default and range."""
    return read_yaml(Path(__file__).with_name("schema.yaml"))


def section_settings(section: str, values: Mapping[str, Any]) -> Settings:
    """The settings of a section of the configuration, those left out by their defaults.

    section: its place, as ``corpus.cleaning``; ``*`` stands for any name. ``UserError`` names the first fault.
    """
    root = load_schema()
    schema: Mapping[str, Any] = root
    for part in section.split("."):
        schema = _resolve(schema["additionalProperties"] if part == "*" else schema["properties"][part], root)
    return complete_settings(values, schema, section.removesuffix(".*"))


def network_settings(kind: str, values: Mapping[str, Any]) -> Settings:
    """Settings of training a network, those left out by their defaults; ``UserError`` names the first fault."""
    kinds = load_schema()["$defs"]
    if kind not in kinds:
        raise UserError(f"there is no kind '{kind}' of network; use one that the schema describes")
    return complete_settings(values, kinds[kind], "settings")


IN_CONFIGURATION = "correct it in the configuration"


def complete_settings(
    values: Mapping[str, Any], schema: Mapping[str, Any], where: str | Path, advice: str = IN_CONFIGURATION
) -> Settings:
    """Settings that a part of the schema describes; where: how messages call them; advice: what to do about a fault."""
    root, section = load_schema(), deepcopy(dict(values))
    fill_defaults(section, schema, root)
    check_section(section, {**schema, "$defs": root["$defs"]}, where, advice)
    return Settings(section)


def base_chain(entries: Mapping[str, Mapping[str, Any]], name: str, section: str, noun: str) -> list[str]:
    """An entry of a section and all its bases, the nearest first; ``UserError`` for a circle or an unknown base."""
    chain = [name]
    while base := entries[chain[-1]].get("base"):
        if base in chain:
            raise UserError(f"{section}.{name}: its bases go in a circle ({' -> '.join([*chain, base])}); break it")
        if base not in list(entries):  # a list, say, has no hash
            raise UserError(f"{section}.{chain[-1]}.base: there is no {noun} '{base}'; define it or name another")
        chain.append(base)
    return chain


def fill_defaults(value: dict[str, Any], schema: Mapping[str, Any], root: Mapping[str, Any]) -> None:
    """Add to a section, in place, the defaults of what it leaves out; root: where references lead."""
    for key, sub in schema.get("properties", {}).items():
        sub = _resolve(sub, root)
        if key not in value and "default" in sub:
            value[key] = deepcopy(sub["default"])
        if isinstance(value.get(key), dict):
            fill_defaults(value[key], sub, root)
        if key in value:  # in the order of the schema: Snakemake compares what jobs are given as text
            value[key] = value.pop(key)
    extra = schema.get("additionalProperties")
    if isinstance(extra, Mapping):
        for key, item in value.items():
            if key not in schema.get("properties", {}) and isinstance(item, dict):
                fill_defaults(item, _resolve(extra, root), root)


def _resolve(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Replace a ``$ref`` by what it names; keywords beside it (``default``, ``description``) stay."""
    while "$ref" in schema:
        target: Any = root
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
    return schema


def read_described(path: Path, name: str, advice: str = MAKE_AGAIN) -> dict[str, Any]:
    """The object of a file of JSON, as the schema describes it among its ``$defs``; ``UserError`` for another."""
    content, kinds = read_object(path, advice), load_schema()["$defs"]
    check_section(content, {**kinds[name], "$defs": kinds}, Path(path), advice)
    return content


def check_section(
    section: Mapping[str, Any], schema: Mapping[str, Any], where: str | Path = "", advice: str = IN_CONFIGURATION
) -> None:
    """Raise ``UserError`` for the first fault of a section: an unknown key (with the nearest known one), a wrong type,
    a value out of range. where: how the section is called, or its file; advice: what to do about a wrong value.
    """
    from jsonschema.exceptions import best_match  # a tenth of a second that most steps do without

    errors = _validator()(schema).iter_errors(section)
    if errors := sorted(errors, key=lambda error: [str(part) for part in error.absolute_path]):
        raise UserError(_sentence(best_match(errors), where, advice))


READERS: dict[str, Callable[[str], Any]] = {
    "integer": int,
    "number": float,
    "boolean": {"true": True, "false": False}.__getitem__,
}


def read_texts(section: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    """Put numbers and truth values in the places of texts that say them, as in ``--config 'tuning={runs: 4}'``."""
    for error in list(_validator()(schema).iter_errors(section)):
        reader, path = READERS.get(str(error.validator_value)), list(error.absolute_path)
        if error.validator == "type" and reader and isinstance(error.instance, str) and path:
            place: Any = section
            for part in path[:-1]:
                place = place[part]
            with suppress(ValueError, KeyError):
                place[path[-1]] = reader(error.instance)


@cache
def _validator() -> type:
    """The validator of all sections: numbers are finite; an ``index`` is an integer of 0 or more, and not 2.0."""
    from jsonschema import Draft202012Validator, validators

    types = {"number": _is_finite, "index": lambda _, value: type(value) is int and value >= 0}
    checker = Draft202012Validator.TYPE_CHECKER.redefine_many(types)
    return validators.extend(Draft202012Validator, type_checker=checker)


def _is_finite(checker: Any, value: Any) -> bool:
    return math.isfinite(value) if isinstance(value, float) else isinstance(value, int) and not isinstance(value, bool)


def _sentence(error: Any, where: str | Path, advice: str) -> str:
    parts, glue = [str(where), ".".join(map(str, error.absolute_path))], ": " if isinstance(where, Path) else "."
    place = glue.join(filter(None, parts)) or "configuration"
    if error.validator == "additionalProperties":
        sections = error.schema.get("properties", {})
        known = list(sections)
        unknown = next(key for key in error.instance if key not in known)
        near = difflib.get_close_matches(str(unknown), known, n=1, cutoff=0.7)
        inside = [f"{key}.{unknown}" for key in known if unknown in sections[key].get("properties", {})]
        others = f"known here: {', '.join(known)}"
        if near or inside:
            others = f"did you mean '{[*near, *inside][0]}'?"
        elif len(others) > LONGEST // 2:
            others = f"known here: {', '.join(known[:10])} and {len(known) - 10} more, which schema.yaml describes"
        return f"{place}: unknown key '{unknown}'; {others}"
    if error.validator == "required":
        missing = next(key for key in error.validator_value if key not in error.instance)
        choices = error.schema.get("properties", {}).get(missing, {}).get("enum")
        wanted = f"give one of {', '.join(map(str, choices))}" if choices else "give it"
        return f"{place}: has no '{missing}'; {advice if isinstance(where, Path) else wanted}"
    if error.validator == "type":
        wanted = error.validator_value
        expected = wanted if isinstance(wanted, str) else " or ".join(wanted)
        return f"{place}: expected {expected}, found {error.instance!r}; {advice}"
    if error.validator in ("not", "pattern") and "description" in error.schema:
        fault = "does not match" if error.validator == "pattern" else "is not allowed by"
        return f"{place}: {error.instance!r} {fault} the description: {error.schema['description'].removesuffix('.')}"
    return f"{place}: {error.message}; {advice}"
