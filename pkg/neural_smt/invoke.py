"""Calling a step with loosely typed arguments, the same way from a rule and from the command line."""

import inspect
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def parameters(step: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The parameters of a step, with annotations resolved to types."""
    hints = typing.get_type_hints(step)
    return {
        name: parameter.replace(annotation=hints.get(name, str))
        for name, parameter in inspect.signature(step).parameters.items()
    }


def is_path(annotation: Any) -> bool:
    """Whether an annotation is ``Path``, alone or as one of a union."""
    return annotation is Path or Path in typing.get_args(annotation)


def invoke(step: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """Call ``step`` with ``arguments``, turning strings into ``Path`` where the step is annotated so.

    ``threads`` is dropped for steps that do not take it; any other unknown or missing argument raises ``TypeError``.
    """
    known = parameters(step)
    values = {name: value for name, value in arguments.items() if name in known or name != "threads"}
    for name, parameter in known.items():
        if name not in values or values[name] is None:
            continue
        if is_path(parameter.annotation):
            values[name] = Path(str(values[name]))
        elif typing.get_args(parameter.annotation) == (Path,):
            value = values[name]
            values[name] = [Path(value)] if isinstance(value, str) else [Path(str(item)) for item in value]
    return step(**values)
