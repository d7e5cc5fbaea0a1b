"""The command line: ``python -m neural_smt <stage> <step> --argument value ...``.

Every step that a rule calls is also a command; its options are the parameters of the function and its help is the
function's docstring. Dictionaries are given as JSON (or ``@file.yaml``), lists as several values.
"""

import argparse
import importlib
import inspect
import json
import logging
import sys
import typing
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml

from neural_smt import __version__
from neural_smt.errors import UserError
from neural_smt.invoke import invoke, is_list, is_path, parameters

STAGES = {
    "corpus": "neural_smt.corpus.steps",
    "selection": "neural_smt.selection.steps",
    "alignment": "neural_smt.alignment.steps",
    "phrases": "neural_smt.phrases.steps",
    "language_model": "neural_smt.language_model.steps",
    "shortlist": "neural_smt.shortlist",
    "training": "neural_smt.training.steps",
    "rescoring": "neural_smt.rescoring.steps",
    "decoding": "neural_smt.decoding.steps",
    "tuning": "neural_smt.tuning.steps",
    "evaluation": "neural_smt.evaluation.steps",
    "report": "neural_smt.report.steps",
}
"""Stage name -> the module whose public functions with keyword-only parameters are its steps."""


def steps(stage: str) -> dict[str, Callable[..., Any]]:
    """The steps of a stage by name, in the order they stand in its module."""
    module = importlib.import_module(STAGES[stage])
    return {
        name: function
        for name, function in vars(module).items()
        if inspect.isfunction(function)
        and function.__module__ == module.__name__
        and not name.startswith("_")
        and {p.kind for p in inspect.signature(function).parameters.values()} == {inspect.Parameter.KEYWORD_ONLY}
    }


def _structure(text: str) -> Any:
    if text.startswith("@"):
        try:
            return yaml.safe_load(Path(text[1:]).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise UserError(f"{text[1:]}: no such file; give JSON or @file.yaml") from None
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise UserError(f"not valid JSON ({error.msg}): {text}; give JSON or @file.yaml") from None


def _add_option(parser: argparse.ArgumentParser, parameter: inspect.Parameter) -> None:
    annotation = parameter.annotation
    required = parameter.default is inspect.Parameter.empty
    options: dict[str, Any] = {"required": required, "default": None if required else parameter.default}
    if annotation is bool:
        options["action"] = argparse.BooleanOptionalAction
    elif is_path(annotation):
        options["type"] = Path
    elif is_list(annotation):
        options |= {"nargs": "*", "type": typing.get_args(annotation)[0]}
    elif annotation in (int, float, str):
        options["type"] = annotation
    else:
        options["metavar"] = "JSON"
    parser.add_argument(f"--{parameter.name.replace('_', '-')}", dest=parameter.name, **options)


def _summary(function: Callable[..., Any]) -> str:
    return (inspect.getdoc(function) or "").partition("\n")[0]


def _step_parser(stage: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"neural_smt {stage}", description=f"Steps of the stage '{stage}'.")
    commands = parser.add_subparsers(dest="step", metavar="step", required=True)
    for name, function in steps(stage).items():
        command = commands.add_parser(
            name,
            help=_summary(function),
            description=inspect.getdoc(function),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        for parameter in parameters(function).values():
            _add_option(command, parameter)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one step; returns the exit status (1 after a ``UserError``, whose sentence goes to standard error)."""
    parser = argparse.ArgumentParser(prog="neural_smt", description="Recurrent networks in statistical MT, by stages.")
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument("stage", choices=STAGES, help="stage of the pipeline")
    parser.add_argument("rest", nargs=argparse.REMAINDER, help="step and its options (--help lists them)")
    chosen = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        given = vars(_step_parser(chosen.stage).parse_args(chosen.rest))
        step = steps(chosen.stage)[given.pop("step")]
        known = parameters(step)
        for name, value in given.items():
            if (
                isinstance(value, str)
                and known[name].annotation not in (str, Path)
                and not is_path(known[name].annotation)
            ):
                given[name] = _structure(value)
        invoke(step, given)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0
