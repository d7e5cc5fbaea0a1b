"""Texts read and written line by line: however long they are, a few pieces of them are in memory; or as they arrive."""

import io
import select
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import IO

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.files import atomic, check_as_long, decode_lines, named_errors, open_bytes, open_text

PIECE = 1 << 18
"""Bytes of whole lines that are read at a time, about."""

BLOCK = 1 << 16
"""Bytes that are read at once of what another program may still write; all that a pipe holds."""

STANDARD = Path("-")
"""Stands for standard input or output."""


def stream_lines(path: Path, part: range | None = None) -> Iterator[str]:
    """Yield the lines of a UTF-8 text file (``.gz`` or plain) as ``read_lines`` gives them, errors included.

    part: the lines (counted from 0) that are wanted; those before are skipped, and what follows is not read.
    """
    start, stop = (part.start, part.stop) if part is not None else (0, None)
    return islice(chain.from_iterable(_line_pieces(Path(path), start)), start, stop)


def stream_texts(paths: Iterable[Path]) -> Iterator[str]:
    """Yield the lines of several texts, one text after the other."""
    return chain.from_iterable(map(stream_lines, paths))


@dataclass(frozen=True)
class TextLines:
    """The lines of a file, or a part of them, read anew each time they are gone through."""

    path: Path
    part: range | None = None

    def __iter__(self) -> Iterator[str]:
        return stream_lines(self.path, self.part)

    def __len__(self) -> int:
        return self._count

    @cached_property
    def _count(self) -> int:
        return count_lines(self.path) if self.part is None else len(self.part)


Text = Collection[str] | TextLines
"""Lines that can be gone through more than once, in memory or in a file."""


def parallel_lines(source: Path, target: Path) -> tuple[TextLines, TextLines]:
    """The lines of two files; ``UserError`` when they differ in their number."""
    sides = TextLines(Path(source)), TextLines(Path(target))
    check_as_long(source, target, len(sides[0]), len(sides[1]))
    return sides


def _line_pieces(path: Path, start: int) -> Iterator[list[str]]:
    """The lines of a file in lists; of the pieces before line ``start`` only the number, which costs no decoding."""
    before = 0
    with open_bytes(path) as stream:
        while piece := stream.readlines(PIECE):
            skipped = before + len(piece) <= start
            yield [""] * len(piece) if skipped else decode_lines(path, b"".join(piece), before)
            before += len(piece)


def count_lines(path: Path) -> int:
    """How many lines ``stream_lines`` yields; ``UserError`` for a file that cannot be read."""
    lines, last = 0, b"\n"
    with open_bytes(path) as stream:
        while piece := stream.read(PIECE):
            lines += piece.count(b"\n")
            last = piece[-1:]
    return lines + (last != b"\n")


def count_words(lines: Iterable[str]) -> np.ndarray:
    """int64 ``[lines]``: the words of each line."""
    return np.fromiter((len(line.split()) for line in lines), dtype=np.int64)


def count_parallel(source: Path, target: Path) -> int:
    """How many lines both files have; ``UserError`` when they differ in that."""
    return len(parallel_lines(source, target)[0])


def stream_parallel(source: Path, target: Path) -> Iterator[tuple[str, str]]:
    """Yield the pairs of two files of the same number of lines; ``UserError`` at the end when they are not."""
    for one, other in zip_longest(stream_lines(source), stream_lines(target)):
        if one is None or other is None:
            check_as_long(source, target, count_lines(source), count_lines(target))
        yield one, other


def write_pairs(source: Path, target: Path, pairs: Iterable[Sequence[str]]) -> None:
    """Write the sides of pairs line by line to two files, both or none; ``.gz`` is compressed reproducibly."""
    with (
        atomic(source) as source_temporary,
        atomic(target) as target_temporary,
        open_text(source_temporary, "w") as source_stream,
        open_text(target_temporary, "w") as target_stream,
    ):
        for one, other in pairs:
            source_stream.write(f"{one}\n")
            target_stream.write(f"{other}\n")


def read_batches(path: Path | None, size: int) -> Iterator[list[str]]:
    """Yield the lines of a text (None or ``-``: standard input; ``.gz`` is unpacked), at most ``size`` at once.

    A batch ends early where the next line has not been written yet, so that a program that writes a line and waits gets
    its answer. Lines come without ends. Raises ``UserError`` naming the line that is not UTF-8.
    """
    file = None if path is None or path == STANDARD else path
    number = 0
    with open(0, "rb", closefd=False) if file is None else open_bytes(file) as stream:
        for batch in _batches(stream, size):
            yield decode_lines(file or Path("standard input"), b"".join(line + b"\n" for line in batch), number)
            number += len(batch)


def _batches(stream: io.BufferedIOBase, size: int) -> Iterator[list[bytes]]:
    """Lines without their ``\\n``, as many as can be read without waiting, but at least one and at most ``size``."""
    waiting: list[bytes] = []
    tail, ended = b"", False
    while not ended or waiting:
        while not ended and len(waiting) < size and (not waiting or select.select([stream], [], [], 0)[0]):
            block = stream.read1(BLOCK)
            *lines, tail = (tail + block).split(b"\n")
            waiting += lines
            if not block:
                ended = True
                waiting += [tail] if tail else []
        if waiting:
            yield waiting[:size]
            del waiting[:size]


def write_batch(stream: IO[str], lines: Iterable[str]) -> None:
    """Write lines at once, so that whoever reads them need not wait."""
    stream.write("".join(f"{line}\n" for line in lines))
    stream.flush()


def open_output(path: Path | None, stack: ExitStack) -> IO[str]:
    """A stream of UTF-8 text: standard output for None or ``-``; a file gets its name when ``stack`` ends well.

    Devices and pipes are written as they are. ``UserError`` when the path cannot be written.
    """
    if path is None or path == STANDARD:
        if sys.stdout is None:
            raise UserError("standard output is closed; give it a place, or name a file with --output")
        sys.stdout.flush()
        stream = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="\n", write_through=True)
        stack.callback(stream.detach)
        return stream
    with named_errors(path, writing=True):
        if path.is_dir():
            raise UserError(f"{path}: is a folder; name a file")
        special = path.exists() and not path.is_file()
        return stack.enter_context(open_text(path if special else stack.enter_context(atomic(path)), "w"))


def open_folder(path: Path, stack: ExitStack) -> Path:
    """A new folder, which gets its name when ``stack`` ends well; ``UserError`` where something is there already."""
    with named_errors(path, writing=True):
        if path.exists() and not (path.is_dir() and not any(path.iterdir())):
            raise UserError(f"{path}: exists already; name a new folder, or remove it")
        return stack.enter_context(atomic(path, directory=True))
