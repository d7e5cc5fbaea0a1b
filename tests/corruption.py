"""Corrupting the bytes of a file at random, for tests of readers, which say in one sentence what is wrong."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from hypothesis import strategies as st

from neural_smt.errors import UserError

Result = TypeVar("Result")

SCRAPS = [
    b"", b" ", b"\t", b"\n", b"\r\n", b"\r", b"\0", b"|||", b"|", b" ||| ", b"-", b"0-0", b"9-9", b"1", b"-1", b"0.5",
    b"nan", b"inf", b"1e39", b"1e-99", b"99999999999999999999", b"\xff", b"\xc3", b"\xc2\xa0", b"\xe2\x80\xa8", b"\\",
    b"\\end\\", b"\\2-grams:", b"ngram 1=4", b"<s>", b"</s>", b"<unk>", b"<UNK>", b"x " * 300,
]  # fmt: skip


@st.composite
def corrupted(draw: st.DrawFn, good: bytes) -> bytes:
    """``good`` after up to four changes: bytes put in, replaced or cut out, lines moved, doubled or dropped."""
    data = good
    for _ in range(draw(st.integers(1, 4))):
        if draw(st.booleans()):
            start = draw(st.integers(0, len(data)))
            length = draw(st.sampled_from([0, 0, 1, 1, 2, 5, 40]))
            scrap = draw(st.one_of(st.sampled_from(SCRAPS), st.binary(max_size=3)))
            data = data[:start] + scrap + data[start + length :]
        else:
            lines = data.splitlines(keepends=True) or [b""]
            line = lines.pop(draw(st.integers(0, len(lines) - 1)))
            for _ in range(draw(st.integers(0, 2))):
                lines.insert(draw(st.integers(0, len(lines))), line)
            data = b"".join(lines)
    return data


def attempt(read: Callable[..., Result], *paths: Path) -> Result | None:
    """What is read from files, or None where one sentence names one of them (and the line) and what is wrong."""
    try:
        return read(*paths)
    except UserError as error:
        names = "|".join(re.escape(str(path)) for path in paths)
        assert re.match(rf"({names})(, line \d+)?: ", str(error))
        assert len(str(error).splitlines()) == 1
        return None
