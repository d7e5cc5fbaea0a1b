"""What a user is meant to read of an exception: one sentence that says what is wrong and what to do."""

import errno
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sized
from pathlib import Path
from typing import Any, TypeVar

import yaml

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of a place that takes no more."""

_TABLE = yaml.safe_load(Path(__file__).with_name("errors.yaml").read_text(encoding="utf-8"))
_ADVICE = {getattr(errno, name): advice for names, advice in _TABLE.items() for name in names.split()}
"""Number of an error -> what to do about it."""


_REMAKE = re.compile(r"; [^;]*\b((?<!start )again|that makes it)\b[^;]*$")
"""The end of a message that says to make a result again."""

_RESULT = re.compile(r"(?:^|[ '])(results/([\w.-]+)/[^\s:;,']+)")
"""A result of an experiment, in a message."""

EXPERIMENTS = ("config.yaml", "experiments/*.yaml", "*/experiment.yaml")
"""Where experiments are declared: the default, those of a checkout, and those that ``init`` wrote."""


class UserError(Exception):
    """Something the user can put right: bad input, a bad setting, a missing device.

    The message is one sentence that names the file (and line) or the setting and says what to do.
    The command line and the workflow scripts print it without a traceback and exit with status 1.
    """


class MissingKey(UserError, KeyError):
    """A key that a file or a setting should have."""

    __str__ = Exception.__str__


Value = TypeVar("Value")


def required(value: Value | None) -> Value:
    """A value that is there, as its caller makes sure."""
    if value is None:
        raise TypeError("a value that is needed is missing")
    return value


class Section(dict[str, Any]):
    """A mapping that a user may have edited wrongly: a missing key is a ``UserError``.

    place: what the sentence starts with, as ``weights.json``; advice: what it ends with.
    """

    def __init__(self, values: Mapping[str, Any] | Iterable[tuple[str, Any]], place: str, advice: str):
        super().__init__(values)
        self.place, self.advice = place, advice

    def __missing__(self, key: object) -> object:
        raise MissingKey(f"{self.place}: has no '{key}'; {self.advice}")


def check_as_many(**given: Sized) -> None:
    """Raise ``UserError`` unless as many of everything are given."""
    numbers = {name: len(values) for name, values in given.items()}
    if len(set(numbers.values())) > 1:
        counts = ", ".join(f"{number} {name}" for name, number in numbers.items())
        raise UserError(f"{counts}: give as many of each")


LONGEST = 300
"""Characters of a message: what it quotes may be of any length."""


_ONE = re.compile(r"(?<![\w.,:])1 (file|job|line|name|pair|row|score|sentence|source|system|target|value|word)s\b")


def singular(text: str) -> str:
    """A message whose counts may be one: ``1 lines`` as ``1 line``."""
    return _ONE.sub(r"1 \1", text)


def sentence(error: BaseException) -> str | None:
    """The message of an exception for users; None for a fault of the program.

    It is one line of at most ``LONGEST`` characters (what is cut is in the middle: the end says what to do), without
    characters that a terminal acts upon. Where a result of an experiment is to be made again, it ends with the command.
    """
    message = _message(error)
    if message is None:
        return None
    if _REMAKE.search(message) and (result := _RESULT.search(message)):
        message += f": {_remake(Path(result[1]), result[2])}"
    start, end = message[: 2 * LONGEST], message[2 * LONGEST :][-LONGEST:]
    line = singular(" ".join((start + end).split("\n")))
    line = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in line)
    return line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} ... {line[5 - LONGEST // 2 :]}"


def _remake(path: Path, experiment: str) -> str:
    """The command that makes a result, or the folder which Snakemake made with it, again."""
    marked = (place for place in (path, *path.parents) if (place / ".snakemake_timestamp").exists())
    declared = re.compile(rf"^experiment: *[\"']?{re.escape(experiment)}\b", re.MULTILINE)
    files = (file for pattern in EXPERIMENTS for file in Path().glob(pattern) if file.is_file())
    named = [str(file) for file in files if declared.search(file.read_text(encoding="utf-8", errors="replace"))]
    command = [program("snakemake"), "--cores", "2", "--force", str(next(marked, path))]
    return shlex.join([*command, *(["--configfile", named[0]] if named else [])])


def program(name: str, folder: Path | None = None) -> str:
    """How a program that is installed beside this Python is typed in a folder (in the current one)."""
    path, folder = Path(sys.executable).with_name(name), folder or Path.cwd()
    if shutil.which(name) == str(path):
        return name
    return str(path.relative_to(folder) if path.is_relative_to(folder) else path)


def _message(error: BaseException) -> str | None:
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, OSError) and error.errno is not None and error.errno in _ADVICE:
        place = error.filename or f"an output, or a temporary file in {tempfile.gettempdir()}"
        return f"{place}: {os.strerror(error.errno)}; {_ADVICE[error.errno]}"
    if isinstance(error, MemoryError):
        return f"not enough memory ({str(error) or 'no more to be had'}); {_ADVICE[errno.ENOMEM]}"
    if type(error).__name__ == "OutOfMemoryError":  # PyTorch's, which need not be loaded
        return "the GPU has too little memory; lower the network's batch or sizes, or set device: cpu"
    return None
