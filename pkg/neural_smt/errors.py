"""What a user is meant to read of an exception: one sentence that says what is wrong and what to do."""

import errno
import os
import tempfile
from collections.abc import Iterable, Mapping, Sized
from typing import Any

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of a place that takes no more."""

_ROOM = "make room there, or put the output elsewhere, and start again"
_CLOSED = "allow it, or name another place"
_ADVICE = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EFBIG: "allow larger files (ulimit -f), or put the output elsewhere, and start again",
    errno.EROFS: _CLOSED,
    errno.EACCES: _CLOSED,
    errno.EPERM: _CLOSED,
    errno.ENOENT: "check the path",
    errno.EISDIR: "name a file",
    errno.ENOTDIR: "name a place that is inside folders",
    errno.EEXIST: "remove it, or name another place",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ELOOP: "name what its links lead to",
    errno.EMFILE: "allow more open files (ulimit -n)",
    errno.ENOMEM: "give the job more memory, or lower its sizes",
    errno.EIO: "the disk or its connection fails: copy the file elsewhere, and start again",
}
"""What to do about faults of the file system that no check foresees."""


class UserError(Exception):
    """Something the user can put right: bad input, a bad setting, a missing device.

    The message is one sentence that names the file (and line) or the setting and says what to do.
    The command line and the workflow scripts print it without a traceback and exit with status 1.
    """


class MissingKey(UserError, KeyError):
    """A key that a file or a setting should have."""

    __str__ = Exception.__str__


class Section(dict):
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


def sentence(error: BaseException) -> str | None:
    """The message of an exception for users; None for a fault of the program.

    It is one line of at most ``LONGEST`` characters (what is cut is in the middle: the end says what to do), without
    characters that a terminal acts upon.
    """
    message = _message(error)
    if message is None:
        return None
    start, end = message[: 2 * LONGEST], message[2 * LONGEST :][-LONGEST:]
    line = " ".join((start + end).split("\n"))
    line = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in line)
    return line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} ... {line[5 - LONGEST // 2 :]}"


def _message(error: BaseException) -> str | None:
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, OSError) and error.errno in _ADVICE:
        place = error.filename or f"an output, or a temporary file in {tempfile.gettempdir()}"
        return f"{place}: {os.strerror(error.errno)}; {_ADVICE[error.errno]}"
    if isinstance(error, MemoryError):
        return f"not enough memory ({error or 'no more to be had'}); {_ADVICE[errno.ENOMEM]}"
    if type(error).__name__ == "OutOfMemoryError":  # PyTorch's, which need not be loaded
        return "the GPU has too little memory; lower the network's batch or sizes, or set device: cpu"
    return None
