"""Published text, as it comes and as it is kept: members of archives, gzipped and plain files, the segments of SGML.

Archives (tar, also compressed, and zip) are read a piece at a time and never unpacked by name. Nothing is written under
a name that an archive gives, so no member can leave a folder; names that try to are refused all the same, as are links
and devices. What is kept is gzipped, one sentence a line, written whole or not at all.
"""

import bz2
import difflib
import gzip
import html
import lzma
import posixpath
import re
import stat
import tarfile
import zipfile
import zlib
from collections import deque
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import IO

from neural_smt.corpus.sources import member_name
from neural_smt.errors import UserError
from neural_smt.io.files import atomic, write_lines

PIECE = 1 << 20
"""Bytes read at a time."""

DAMAGE = (tarfile.TarError, zipfile.BadZipFile, OSError, EOFError, zlib.error, lzma.LZMAError, NotImplementedError)
"""What the readers of the standard library raise for archives that are cut off, changed, or of another kind."""

GZIP = b"\x1f\x8b"
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_COMPRESSED = {GZIP: gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
_TAR_OFFSET, _TAR = 257, b"ustar"
HEAD = _TAR_OFFSET + len(_TAR)
"""Bytes from the beginning of a file that tell an archive."""

SGML_LIMIT = 1 << 28
"""Bytes of the largest SGML file that is read; test sets have less than a hundredth of that."""

_SEGMENT = re.compile(r"<seg\b[^>]*>(.*?)</seg\s*>", re.DOTALL | re.IGNORECASE)
_OPENING = re.compile(r"<seg\b", re.IGNORECASE)
"""WMT publishes its test sets as SGML, one ``<seg>`` a line."""


def looks_like_archive(head: bytes) -> bool:
    """Whether a file that begins so (``HEAD`` bytes) is a zip or an uncompressed tar archive."""
    return head.startswith(_ZIP) or head[_TAR_OFFSET:HEAD] == _TAR


def pieces(stream: IO[bytes]) -> Iterator[bytes]:
    """What is left of a stream, at most ``PIECE`` bytes at a time."""
    return iter(lambda: stream.read(PIECE), b"")


def verify(archive: Path, location: str) -> None:
    """Read an archive to its end, with all checksums it holds; ``UserError`` names ``location`` when it is damaged."""
    try:
        if _is_zip(archive):
            with zipfile.ZipFile(archive) as stored:
                if (broken := stored.testzip()) is not None:
                    raise zipfile.BadZipFile(f"bad checksum of {broken}")
            return
        compressed = _read_compressed(archive)
        with tarfile.open(archive, "r:*") as entries:
            # an uncompressed one holds no checksum, but must go on to its end
            if entries.next() is None or not (compressed or entries.getmembers()):
                raise tarfile.ReadError("it is empty")
    except DAMAGE as error:
        raise _damaged(location, error) from None


def _read_compressed(archive: Path) -> bool:
    """Decompress a compressed file once, as its checksum is at its end; false for a file that is not compressed."""
    with open(archive, "rb") as stream:
        head = stream.read(6)
    for magic, opener in _COMPRESSED.items():
        if head.startswith(magic):
            with opener(archive, "rb") as stream:
                deque(pieces(stream), maxlen=0)
            return True
    return False


def member_pieces(archive: Path, declared: str) -> Iterator[bytes]:
    """Yield the contents of a regular file in an archive, at most ``PIECE`` bytes at a time.

    ``UserError`` when the archive is damaged, has no such member, or the member is no regular file.
    """
    wanted = member_name(declared)
    try:
        yield from (_zip_pieces if _is_zip(archive) else _tar_pieces)(archive, wanted)
    except DAMAGE as error:
        raise _damaged(str(archive), error) from None


def _tar_pieces(archive: Path, wanted: str) -> Iterator[bytes]:
    names = []
    with tarfile.open(archive, "r:*") as entries:
        for entry in entries:
            names.append(_entry_name(entry.name))
            if names[-1] != wanted:
                continue
            if not entry.isreg():
                raise _unusable(archive, wanted, _kind(entry))
            yield from pieces(entries.extractfile(entry))
            return
    raise _missing(archive, wanted, names)


def _kind(entry: tarfile.TarInfo) -> str:
    if entry.islnk() or entry.issym():
        return f"a link to {entry.linkname}"
    return "a folder" if entry.isdir() else "a device or pipe"


def _zip_pieces(archive: Path, wanted: str) -> Iterator[bytes]:
    with zipfile.ZipFile(archive) as stored:
        entries = {_entry_name(entry.filename): entry for entry in reversed(stored.infolist())}
        if wanted not in entries:
            raise _missing(archive, wanted, list(entries))
        entry = entries[wanted]
        mode = stat.S_IFMT(entry.external_attr >> 16)  # as Unix writes it; 0 where another system wrote
        if entry.is_dir() or mode not in (0, stat.S_IFREG):
            raise _unusable(archive, wanted, "a folder" if entry.is_dir() else "a link or device")
        if entry.flag_bits & 1:
            raise _unusable(archive, wanted, "encrypted")
        with stored.open(entry) as stream:
            yield from pieces(stream)


def _entry_name(name: str) -> str:
    """As ``member_name`` writes it; a name that leaves its folder stays as it is and equals none of those."""
    return name if ".." in name.split("/") or name.startswith("/") else posixpath.normpath(name)


def _is_zip(archive: Path) -> bool:
    with open(archive, "rb") as stream:
        return stream.read(4) in _ZIP


def _damaged(location: str, error: Exception) -> UserError:
    if isinstance(error, FileNotFoundError):
        return UserError(f"{location}: no such file; fetch the archive, or correct its path")
    reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(":")
    return UserError(f"{location}: a damaged archive, or none ({reason}); fetch it again from its publisher")


def _missing(archive: Path, wanted: str, names: list[str]) -> UserError:
    near = difflib.get_close_matches(wanted, names, n=1, cutoff=0.3)
    advice = f"; is it {near[0]}?" if near else "; correct its path inside the archive"
    return UserError(f"{archive}: has no member {wanted}{advice}")


def _unusable(archive: Path, wanted: str, what: str) -> UserError:
    return UserError(f"{archive}: its member {wanted} is {what}; name a regular file that anyone can read")


def store_text(data: Iterator[bytes], origin: str, output: Path) -> None:
    """Write a text to ``output`` (``.gz``): byte for byte when it comes gzipped, else compressed reproducibly.

    Of SGML (``origin`` ends in ``.sgm``) the segments are written. ``UserError`` names ``origin`` when the text is an
    archive of several files or a damaged gzip file.
    """
    if origin.lower().endswith(".sgm"):
        write_lines(output, read_segments(_join(data, origin), origin))
        return
    head = b""
    while len(head) < HEAD and (piece := next(data, b"")):
        head += piece
    data = chain([head], data)
    _refuse_archive(head, origin)
    with atomic(output) as temporary, open(temporary, "wb") as raw:
        if head.startswith(GZIP):
            raw.writelines(data)
            raw.flush()
            _refuse_archive(_test_gzip(temporary, origin), origin)
        else:
            with gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as compressed:
                for piece in data:
                    compressed.write(piece)


def _join(data: Iterator[bytes], origin: str) -> bytes:
    whole = bytearray()
    for piece in data:
        whole += piece
        if len(whole) > SGML_LIMIT:
            raise UserError(f"{origin}: has more than {SGML_LIMIT >> 20} MB; give so much text as plain text")
    return bytes(whole)


def _refuse_archive(head: bytes, origin: str) -> None:
    if looks_like_archive(head):
        raise UserError(f"{origin}: an archive of several files; name the one that is wanted as 'member'")


def _test_gzip(file: Path, origin: str) -> bytes:
    """Decompress once, so that a cut-off download is noticed here; return the first bytes."""
    try:
        with gzip.open(file, "rb") as stream:
            head = stream.read(HEAD)
            deque(pieces(stream), maxlen=0)
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
