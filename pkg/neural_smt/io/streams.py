"""Texts read and written line by line: however long they are, a few pieces of them are in memory."""

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from pathlib import Path

from neural_smt.io.files import atomic, decode_lines, named_errors, open_bytes, open_text, unequal_lengths

PIECE = 1 << 18
"""Bytes of whole lines that are read at a time, about."""


def stream_lines(path: Path, part: range | None = None) -> Iterator[str]:
    """Yield the lines of a UTF-8 text file (``.gz`` or plain) as ``read_lines`` gives them, errors included.

    part: the lines (counted from 0) that are wanted; those before are skipped, and what follows is not read.
    """
    start, stop = (part.start, part.stop) if part is not None else (0, None)
    return islice(chain.from_iterable(_line_pieces(Path(path), start)), start, stop)


@dataclass(frozen=True)
class TextLines:
    """The lines of a file, or a part of them, read anew each time they are gone through."""

    path: Path
    part: range | None = None

    def __iter__(self) -> Iterator[str]:
        return stream_lines(self.path, self.part)


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


def count_parallel(source: Path, target: Path) -> int:
    """How many lines both files have; ``UserError`` when they differ in that."""
    lines = count_lines(source), count_lines(target)
    if lines[0] != lines[1]:
        raise unequal_lengths(source, lines[0], target, lines[1])
    return lines[0]


def stream_parallel(source: Path, target: Path) -> Iterator[tuple[str, str]]:
    """Yield the pairs of two files of the same number of lines; ``UserError`` at the end when they are not."""
    sides = stream_lines(source), stream_lines(target)
    for number, (one, other) in enumerate(zip_longest(*sides)):
        if one is None or other is None:
            rest = 1 + sum(1 for _ in (sides[1] if one is None else sides[0]))
            lengths = (number, number + rest) if one is None else (number + rest, number)
            raise unequal_lengths(source, lengths[0], target, lengths[1])
        yield one, other


def write_pairs(source: Path, target: Path, pairs: Iterable[tuple[str, str]]) -> None:
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


def concatenate(parts: Iterable[Path], output: Path) -> None:
    """Write files one after the other, byte for byte; parts of a gzipped file make one."""
    with atomic(output) as temporary, open(temporary, "wb") as stream:
        for part in parts:
            with named_errors(part):
                piece = open(part, "rb")  # noqa: SIM115  (faults of the output are not of the part)
            with piece:
                shutil.copyfileobj(piece, stream, PIECE)
