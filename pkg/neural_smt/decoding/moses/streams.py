"""Text in and out while it comes: batches of the lines that are there, and outputs that are whole or not at all."""

import io
import os
import select
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from neural_smt.errors import UserError
from neural_smt.io.files import atomic, open_text, read_lines

STANDARD = Path("-")
"""Stands for standard input or output."""

_BLOCK = 1 << 16


def read_batches(path: Path | None, size: int) -> Iterator[list[str]]:
    """Yield the lines of a text (None or ``-``: standard input; ``.gz`` is unpacked), at most ``size`` at once.

    A batch ends early where the next line has not been written yet: whoever writes a line and waits gets its answer.
    Lines come without ends. Raises ``UserError`` naming the line that is not UTF-8.
    """
    if path is not None and path.suffix == ".gz":
        lines = read_lines(path)
        yield from (lines[start : start + size] for start in range(0, len(lines), size))
        return
    name = "standard input" if path in (None, STANDARD) else str(path)
    with _opened(path) as descriptor:
        number = 0
        for batch in _batches(descriptor, size):
            yield [_decode(line, name, number + i) for i, line in enumerate(batch, start=1)]
            number += len(batch)


@contextmanager
def _opened(path: Path | None) -> Iterator[int]:
    if path in (None, STANDARD):
        yield 0
        return
    with ExitStack() as stack:
        try:
            stream = stack.enter_context(open(path, "rb", buffering=0))
        except OSError as error:
            raise UserError(f"{path}: cannot be read ({error.strerror}); correct the path") from None
        yield stream.fileno()


def _batches(descriptor: int, size: int) -> Iterator[list[bytes]]:
    """Lines without their ``\\n``, as many as can be read without waiting, but at least one and at most ``size``."""
    waiting: list[bytes] = []
    tail, ended = b"", False
    while not ended or waiting:
        while not ended and len(waiting) < size and (not waiting or select.select([descriptor], [], [], 0)[0]):
            block = os.read(descriptor, _BLOCK)
            *lines, tail = (tail + block).split(b"\n")
            waiting += lines
            if not block:
                ended = True
                waiting += [tail] if tail else []
        if waiting:
            yield waiting[:size]
            del waiting[:size]


def _decode(line: bytes, name: str, number: int) -> str:
    try:
        return line.removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError as error:
        reason = f"not valid UTF-8 (byte 0x{line[error.start]:02x}); convert the text to UTF-8"
        raise UserError(f"{name}, line {number}: {reason}") from None


@contextmanager
def open_output(path: Path | None) -> Iterator[IO[str]]:
    """A stream of UTF-8 text: standard output for None or ``-``; a file gets its name when the block ends well.

    Devices and pipes are written as they are. ``UserError`` when the path cannot be written.
    """
    if path is None or path == STANDARD:
        sys.stdout.flush()
        stream = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="\n", write_through=True)
        try:
            yield stream
            stream.flush()
        finally:
            stream.detach()
        return
    with ExitStack() as stack:
        try:
            if path.is_dir():
                raise UserError(f"{path}: is a folder; name a file")
            special = path.exists() and not path.is_file()
            written = path if special else stack.enter_context(atomic(path))
            stream = stack.enter_context(open_text(written, "w"))
        except OSError as error:
            raise UserError(f"{path}: cannot be written ({error.strerror}); name another file") from None
        yield stream


@contextmanager
def open_folder(path: Path) -> Iterator[Path]:
    """A new folder, which gets its name when the block ends well; ``UserError`` where something is there already."""
    with ExitStack() as stack:
        try:
            if path.exists() and not (path.is_dir() and not any(path.iterdir())):
                raise UserError(f"{path}: exists already; name a new folder, or remove it")
            folder = stack.enter_context(atomic(path, directory=True))
        except OSError as error:
            raise UserError(f"{path}: cannot be written ({error.strerror}); name another folder") from None
        yield folder
