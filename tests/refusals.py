"""What is refused: one sentence, whose wording is free, names its place and what is wrong there, piece by piece."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from neural_smt.errors import LONGEST, UserError


def check_named(told: str, pieces: object) -> None:
    """What is told names each piece (or the one), whole and in this order."""
    each = pieces if isinstance(pieces, Sequence) and not isinstance(pieces, str) else [pieces]
    pattern = ".*".join(rf"(?:\b|(?=\W)){re.escape(str(piece))}(?:\b(?!\.\w)|(?<=\W))" for piece in each)
    assert each and re.search(pattern, told, re.DOTALL), f"{told} does not name {each} in this order"


def check_sentence(told: str | None, pieces: object) -> None:
    """It is one line of a sentence's length, which says where or what to do, and names the pieces."""
    assert told and told.isprintable() and len(told) <= LONGEST and re.search("[;:,] ", told), told
    check_named(told, pieces)


def check_error(told: str, pieces: object) -> None:
    """One error stands on standard error, without a traceback; it names the pieces."""
    (error,) = (line for line in told.splitlines() if line.startswith("error: "))
    assert "Traceback" not in told
    check_sentence(error.removeprefix("error: "), pieces)


def check_refused(pieces: object, step: Callable[..., Any], /, *places: Any, **names: Any) -> None:
    """A step refuses its arguments with a message that names the pieces."""
    with pytest.raises(UserError) as caught:
        step(*places, **names)
    check_named(str(caught.value), pieces)
