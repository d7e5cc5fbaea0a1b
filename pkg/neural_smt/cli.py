"""The command line: ``neural-smt <verb> --option value ...`` or ``neural-smt <stage> <step> --option value ...``.

Every step that a rule calls is also a command; its options are the parameters of the function and its help is the
function's docstring. Dictionaries are given as JSON (or ``@file.yaml``), lists as several values. What people do by
hand has a verb of its own: a function of the same kind, under a shorter name.
"""

import argparse
import ast
import importlib
import inspect
import json
import logging
import math
import os
import pkgutil
import re
import signal
import sys
import typing
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from neural_smt import STAGES, __version__
from neural_smt.errors import Section, UserError, sentence
from neural_smt.io.files import read_yaml
from neural_smt.workflow.invoke import find_step, invoke, is_list, is_path, optional, parameters

COMMANDS = read_yaml(Path(__file__).with_name("commands.yaml"))
"""Verbs with their steps, and what options mean."""

VERBS = COMMANDS["verbs"]


def verb(name: str) -> Callable[..., Any]:
    """The function of a verb."""
    return find_step(VERBS[name]["step"])


def steps(stage: str) -> dict[str, Callable[..., Any]]:
    """The steps of a stage by name: public functions with keyword-only parameters.

    They stand in the stage's module ``steps``, then in those named ``..._steps``; in any module of a stage without one.
    """
    package = importlib.import_module(f"neural_smt.{stage}")
    names = [entry.name for entry in pkgutil.iter_modules(getattr(package, "__path__", ()))]
    if "steps" in names:
        names = ["steps", *(name for name in names if name.endswith("_steps"))]
    found: dict[str, Callable[..., Any]] = {}
    for module in [package, *(importlib.import_module(f"{package.__name__}.{name}") for name in names)]:
        found |= {name: function for name, function in vars(module).items() if _is_step(name, function, module)}
    return found


def _is_step(name: str, function: Any, module: ModuleType) -> bool:
    if name.startswith("_") or not inspect.isfunction(function) or function.__module__ != module.__name__:
        return False
    return {p.kind for p in inspect.signature(function).parameters.values()} == {inspect.Parameter.KEYWORD_ONLY}


_ADVICE = "give JSON or @file.yaml"


def _structure(option: str, annotation: Any, text: str) -> Any:
    """What an option says in JSON, or in a file of YAML."""
    try:
        value = read_yaml(Path(text[1:])) if text.startswith("@") else json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "too deep, or a number of too many digits"
        raise UserError(f"{option}: not valid JSON ({reason}): {text[:60]}; {_ADVICE}") from None
    kind = typing.get_origin(annotation) or annotation
    if isinstance(kind, type) and not isinstance(value, kind | None):
        wanted = "keys and values" if kind is dict else f"a {kind.__name__}"
        raise UserError(f"{option}: expected {wanted}, found {str(value)[:60]!r}; {_ADVICE}")
    return Section(value, option, "give it") if isinstance(value, dict) else value


MOST = dict.fromkeys(("--cores", "--gpus", "--nodes", "--processes", "--threads"), 10_000)
MOST |= dict.fromkeys(("--batch", "--max-length", "--nbest", "--nbest-size", "--nbest-sizes", "--sizes"), 1_000_000)
"""The largest number that an option takes, by its name; of others it is 10^12."""


LEAST = {"--threads": 1, "--seed": 0, "--nbest": 0}
"""The smallest one; of others functions check how small it may be."""


def _whole(option: str, text: str) -> int:
    """The whole number that an option says."""
    most = MOST.get(option, 10**12)
    least = LEAST.get(option, -most)
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", text) or not least <= int(text) <= most:
        bounds = f"of {least} to" if option in LEAST else "of at most"
        raise UserError(f"{option}: '{text}' is not a whole number {bounds} {most:,}; correct it")
    return int(text)


def _real(option: str, text: str) -> float:
    """The number that an option says."""
    with suppress(ValueError):
        if math.isfinite(value := float(text)):
            return value
    raise UserError(f"{option}: '{text}' is not a finite number; correct it")


def meanings(function: Callable[..., Any]) -> dict[str, str]:
    """Parameter of a step -> what it means: ``name: meaning;`` of the docstring, or what it means in all steps."""
    names = "|".join(parameters(function))
    head = re.compile(rf"(?:^|(?<=[;.] ))((?:{names})(?:,? (?:and )?(?:{names}))*): ")
    generally = COMMANDS["options"]
    found = {n: generally.get(f"{function.__name__}.{n}", generally.get(n, "")) for n in parameters(function)}
    for paragraph in re.split(r"\n\s*\n", inspect.getdoc(function) or ""):
        _, *parts = head.split(" ".join(paragraph.split()))
        for entry, text in zip(parts[::2], parts[1::2], strict=True):
            meaning = re.split(r"\. (?=[A-Z`])", text)[0].rstrip("; .").replace("%", "%%")
            found |= dict.fromkeys(re.split(r",? (?:and )?", entry), meaning)
    return found


def _add_option(parser: argparse.ArgumentParser, parameter: inspect.Parameter, meaning: str) -> None:
    """An option that is not given is left to the step."""
    annotation, option = optional(parameter.annotation), f"--{parameter.name.replace('_', '-')}"
    numbers = {int: partial(_whole, option), float: partial(_real, option)}
    required = parameter.default is inspect.Parameter.empty
    default = "" if required or parameter.default in (None, "", ()) else f" (default: {parameter.default})"
    options: dict[str, Any] = {"required": required, "default": argparse.SUPPRESS, "help": meaning + default}
    if annotation is bool:
        options["action"] = argparse.BooleanOptionalAction
    elif is_path(annotation):
        options["type"] = Path
    elif is_list(annotation):
        kind = typing.get_args(annotation)[0]
        options |= {"nargs": "*", "type": numbers.get(kind, kind)}
    elif typing.get_origin(annotation) is typing.Literal:
        options["choices"] = typing.get_args(annotation)
    elif annotation in (int, float, str):
        options["type"] = numbers.get(annotation, annotation)
    else:
        options |= {"metavar": "JSON", "type": partial(_structure, option, annotation)}
    parser.add_argument(option, dest=parameter.name, **options)


def _add_options(parser: argparse.ArgumentParser, function: Callable[..., Any], places: Sequence[str] = ()) -> None:
    meaning = meanings(function)
    for name, parameter in parameters(function).items():
        if name not in places:
            _add_option(parser, parameter, meaning[name])
            continue
        kind: dict[str, Any] = {"nargs": "*", "type": Path} if is_list(optional(parameter.annotation)) else {}
        parser.add_argument(name, metavar=name.upper().removesuffix("S"), help=meaning[name], **kind)


def _described(function: Callable[..., Any]) -> dict[str, Any]:
    return {"description": inspect.getdoc(function), "formatter_class": argparse.RawDescriptionHelpFormatter}


def _step_parser(stage: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"neural-smt {stage}", description=f"Steps of the stage '{stage}'.")
    commands = parser.add_subparsers(dest="step", metavar="step", required=True)
    for name, function in steps(stage).items():
        summary = (inspect.getdoc(function) or "").partition("\n")[0]
        _add_options(commands.add_parser(name, help=summary, **_described(function)), function)
    return parser


def _summary(target: str) -> str:
    """The first line of the docstring of a function, whose module is read and not loaded."""
    module, _, name = target.partition(":")
    file = Path(__file__).parent.joinpath(*module.split(".")).with_suffix(".py")
    functions = (part for part in ast.parse(file.read_text(encoding="utf-8")).body if isinstance(part, ast.FunctionDef))
    document = next(ast.get_docstring(function) for function in functions if function.name == name)
    return (document or "").partition("\n")[0]


def _overview() -> str:
    """The verbs, a line each, and the stages."""
    verbs = "".join(f"  {name:<10} {_summary(entry['step'])}\n" for name, entry in VERBS.items())
    return f"verbs:\n{verbs}\nstages, which have steps:\n  {', '.join(STAGES)}"


def _parse(arguments: Sequence[str] | None) -> tuple[Callable[..., Any], dict[str, Any]]:
    """The function that a command line names, and the arguments that it gives."""
    given = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    parser = argparse.ArgumentParser(prog="neural-smt", description="Recurrent networks in statistical MT, by stages.")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _overview() if given[0] in ("-h", "--help") else None
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument("command", choices=[*VERBS, *STAGES], metavar="command", help="a verb or a stage")
    parser.add_argument("rest", nargs=argparse.REMAINDER, help="step of a stage, and options (--help lists them)")
    chosen = parser.parse_args(given)
    if chosen.command in VERBS:
        function = verb(chosen.command)
        options = argparse.ArgumentParser(prog=f"neural-smt {chosen.command}", **_described(function))
        _add_options(options, function, VERBS[chosen.command].get("places", ()))
        values = vars(options.parse_intermixed_args(chosen.rest))
    else:
        values = vars(_step_parser(chosen.command).parse_args(chosen.rest))
        function = steps(chosen.command)[values.pop("step")]
    return function, values


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status (1 after what a user can correct, with one sentence on standard
    error).

    Interrupted, or when nobody reads its output any more, it ends with the status of the signal and says nothing.
    """
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        function, values = _parse(arguments)
        if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # see __main__.py
            signal.signal(signal.SIGINT, signal.default_int_handler)
        invoke(function, values)
        if sys.stdout:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # Python would flush standard output once more when it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except Exception as error:
        message = sentence(error)
        if message is None:
            raise
        print(f"error: {message}", file=sys.stderr)
        return 1
    return 0
