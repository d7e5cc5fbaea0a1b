"""Finding a step and calling it with loosely typed arguments, in the same way from a rule and the command line."""

import importlib
import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any


def find_step(name: str) -> Callable[..., Any]:
    """The function ``module:name``, the module below ``neural_smt``."""
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(f"neural_smt.{module}"), function)


def parameters(step: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The parameters of a step, with annotations resolved to types."""
    hints = typing.get_type_hints(step)
    return {
        name: parameter.replace(annotation=hints.get(name, str))
        for name, parameter in inspect.signature(step).parameters.items()
    }


def optional(annotation: Any) -> Any:
    """``X`` of an annotation ``X | None``; any other annotation as it is."""
    if typing.get_origin(annotation) not in (types.UnionType, typing.Union):
        return annotation
    rest = [part for part in typing.get_args(annotation) if part is not types.NoneType]
    return rest[0] if len(rest) == 1 else annotation


def is_path(annotation: Any) -> bool:
    """Whether an annotation is ``Path``, alone or as one of a union."""
    return annotation is Path or (not is_list(annotation) and Path in typing.get_args(annotation))


def is_list(annotation: Any) -> bool:
    """Whether an annotation is ``list[...]`` or ``Sequence[...]``, alone or with ``None``."""
    return typing.get_origin(optional(annotation)) in (list, Sequence)


def invoke(step: Callable[..., Any], arguments: Mapping[str, Any], ambient: Mapping[str, Any] | None = None) -> Any:
    """Call ``step`` with ``arguments``, turning strings into ``Path`` where the step is annotated so.

    ``ambient`` holds further arguments, used by steps that take them. An empty list given for a single path becomes
    ``None``. Any other unknown or missing argument raises ``TypeError``.
    """
    known = parameters(step)
    values = {name: value for name, value in (ambient or {}).items() if name in known} | dict(arguments)
    for name, parameter in known.items():
        value = values.get(name)
        if value is None:
            continue
        if is_path(parameter.annotation):
            if not isinstance(value, str | Path):
                value = next(iter(value), None)
            values[name] = value and Path(str(value))
        elif is_list(parameter.annotation) and typing.get_args(optional(parameter.annotation)) == (Path,):
            values[name] = [Path(str(item)) for item in ([value] if isinstance(value, str | Path) else value)]
    return step(**values)
