"""Sections of the configuration as dataclasses."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar, get_type_hints

from neural_smt.errors import UserError

Settings = TypeVar("Settings")


def read_settings(kind: type[Settings], values: Mapping[str, Any], where: str) -> Settings:
    """An instance of the dataclass ``kind``; what ``values`` leave out has its default.

    ``where`` names the section in the message of the ``UserError`` that an unknown key gets.
    """
    known = [field.name for field in fields(kind)]
    for key in values:
        if key not in known:
            raise UserError(f"setting {where}.{key} is unknown; use one of {', '.join(known)}")
    hints = get_type_hints(kind)
    for key, value in values.items():
        if not _fits(value, hints[key]):
            raise UserError(f"setting {where}.{key} is {value!r}; set it to {_KINDS[hints[key]]}")
    return kind(**values)


_KINDS = {int: "a whole number", float: "a number", str: "a word", bool: "true or false"}


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value is of a type of ``_KINDS``; others are left to the section itself."""
    if kind not in _KINDS or isinstance(value, bool):
        return kind is bool or kind not in _KINDS
    if kind is int:
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return isinstance(value, int | float if kind is float else kind)
