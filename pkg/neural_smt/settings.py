"""Sections of the configuration as dataclasses."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

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
    return kind(**values)
