"""What steps refuse."""

from collections.abc import Callable
from typing import Any

import pytest

from neural_smt.errors import UserError


def check_refused(message: str, step: Callable[..., Any], *places: Any, **names: Any) -> None:
    """A step refuses its arguments with a sentence of which the regular expression ``message`` matches a part."""
    with pytest.raises(UserError, match=message):
        step(*places, **names)
