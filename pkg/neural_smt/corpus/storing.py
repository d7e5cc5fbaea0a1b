"""How published text is kept: gzipped, one sentence a line, written whole or not at all; the text of SGML."""

import gzip
import html
import itertools
import re
import shutil
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from neural_smt.corpus.archives import HEAD, PIECE, looks_like_archive
from neural_smt.errors import UserError
from neural_smt.io.files import atomic, read_pieces, write_lines

GZIP = b"\x1f\x8b"

SGML_LIMIT = 1 << 28
"""Bytes of the largest SGML file that is read; test sets have less than a hundredth of that."""


_SEGMENT = re.compile(r"<seg\b[^>]*>(.*?)</seg\s*>", re.DOTALL | re.IGNORECASE)
_OPENING = re.compile(r"<seg\b", re.IGNORECASE)
"""WMT publishes its test sets as SGML, one ``<seg>`` a line."""


def file_pieces(file: Path) -> Iterator[bytes]:
    """The bytes of a file, at most ``PIECE`` at a time."""
    with open(file, "rb") as stream:
        while piece := stream.read(PIECE):
            yield piece


def store_text(pieces: Iterator[bytes], origin: str, output: Path) -> None:
    """Write a text to ``output`` (``.gz``): byte for byte when it comes gzipped, else compressed reproducibly.

    Of SGML (``origin`` ends in ``.sgm``) the segments are written. ``UserError`` names ``origin`` when the text is an
    archive of several files or a damaged gzip file.
    """
    head = b""
    while len(head) < HEAD and (piece := next(pieces, b"")):
        head += piece
    pieces = itertools.chain([head], pieces)
    if origin.lower().endswith(".sgm"):
        write_lines(output, read_segments(_join(pieces, origin), origin))
        return
    _refuse_archive(head, origin)
    with atomic(output) as temporary, open(temporary, "wb") as raw:
        if head.startswith(GZIP):
            raw.writelines(pieces)
            raw.flush()
            _refuse_archive(_test_gzip(temporary, origin), origin)
        else:
            with gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as compressed:
                for piece in pieces:
                    compressed.write(piece)


def join_texts(texts: Iterable[Path], output: Path) -> None:
    """Write texts one after the other, gzipped; each ends its last line. ``UserError`` for what is not UTF-8 text."""
    with (
        atomic(output) as temporary,
        open(temporary, "wb") as raw,
        gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as compressed,
    ):
        for text in texts:
            end = b"\n"
            for _, piece in read_pieces(text):
                compressed.write(piece)
                end = piece[-1:]
            if end != b"\n":
                compressed.write(b"\n")


def store_whole(file: Path, output: Path, move: bool) -> None:
    """Write a file to ``output`` byte for byte; with ``move`` it may be taken from where it is."""
    with atomic(output) as temporary:
        if move:
            shutil.move(file, temporary)
            temporary.chmod(0o644)
        else:
            shutil.copyfile(file, temporary)


def _join(pieces: Iterator[bytes], origin: str) -> bytes:
    data = bytearray()
    for piece in pieces:
        data += piece
        if len(data) > SGML_LIMIT:
            raise UserError(f"{origin}: has more than {SGML_LIMIT >> 20} MB; give so much text as plain text")
    return bytes(data)


def _refuse_archive(head: bytes, origin: str) -> None:
    if looks_like_archive(head):
        raise UserError(f"{origin}: an archive of several files; name the one that is wanted as 'member'")


def _test_gzip(file: Path, origin: str) -> bytes:
    """Decompress once, so that a cut-off download is noticed here; return the first bytes."""
    try:
        with gzip.open(file, "rb") as stream:
            head = stream.read(HEAD)
            while stream.read(PIECE):
                pass
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{origin}: a damaged gzip file ({error}); fetch it again from its publisher") from None
    return head


def read_segments(data: bytes, origin: str) -> list[str]:
    """The segments of an SGML file in their order, white space made one blank, character references resolved.

    sacreBLEU takes the same lines, references as they are: its tokeniser resolves them, that of Moses does not.
    ``UserError`` names ``origin`` and the line where the file is not UTF-8, has no segments, or one does not end.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UserError(f"{origin}, line {line}: not valid UTF-8; convert the file to UTF-8") from None
    lines, end = [], 0
    for found in _SEGMENT.finditer(text):
        _refuse_opening(text, end, found.start(), origin)
        if nested := _OPENING.search(found[1]):
            _refuse_opening(text, found.start(), found.start(1) + nested.start(), origin)
        lines.append(" ".join(html.unescape(found[1]).split()))
        end = found.end()
    _refuse_opening(text, end, len(text), origin)
    if not lines:
        raise UserError(f"{origin}: holds no <seg>; give a test set as WMT publishes them, or text by another name")
    return lines


def _refuse_opening(text: str, start: int, end: int, origin: str) -> None:
    if opening := _OPENING.search(text, start, end):
        line = text.count("\n", 0, opening.start()) + 1
        raise UserError(f"{origin}, line {line}: a <seg> without </seg>; fetch the file again or fix it")
