"""Published text, as it comes and as it is kept: members of archives, gzipped and plain files, the segments of SGML.

Archives (tar, also compressed, and zip) are read a piece at a time and never unpacked by name. Nothing is written under
a name that an archive gives, so no member can leave a folder; names that try to are refused all the same, as are links
and devices. What is kept is gzipped, one sentence a line, written whole or not at all.
"""

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
from collections.abc import Callable, Generator, Iterator
from itertools import chain, islice
from pathlib import Path

from neural_smt.corpus.sources import member_name
from neural_smt.errors import UserError
from neural_smt.io.files import atomic, check_text, write_lines
from neural_smt.io.streams import stream_lines
from neural_smt.io.temporaries import scratch_folder

PIECE = 1 << 20
"""Bytes read at a time."""

DAMAGE = (tarfile.TarError, zipfile.BadZipFile, OSError, EOFError, zlib.error, lzma.LZMAError, RuntimeError)
"""What the readers of the standard library raise for archives that are cut off, changed, or of another kind."""

GZIP = b"\x1f\x8b"
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_TAR_OFFSET, _TAR = 257, b"ustar"
HEAD = _TAR_OFFSET + len(_TAR)
"""Bytes from the beginning of a file that tell an archive."""

REFERENCE = re.compile(r"&(?:#\w+|amp|lt|gt|quot|apos|nbsp);")
"""A character reference of XML."""

_WEB_PAGE = re.compile(rb"\s*<(?:!doctype html|html)\b", re.IGNORECASE)
"""How what a server says instead of a file begins: that one must log in, say."""

MARKED_UP = (".sgm", ".xml")
"""Ends of the names of test sets as WMT publishes them, a file for each side: SGML, and in some years XML."""

SGML_LIMIT = 1 << 28
"""Bytes of the largest SGML file that is read; test sets have less than a hundredth of that."""

_KIND = re.compile(r"<(src|ref|hyp)\b")
"""What the XML of later years holds of a set, all in one file."""

_OPENING = re.compile(r"<seg\b", re.IGNORECASE)
_SEGMENT = re.compile(r"<seg\b(?:(?!<seg\b)[^>])*>((?:(?!<seg\b).)*?)</seg\s*>", re.DOTALL | re.IGNORECASE)
"""WMT publishes its test sets as SGML, one ``<seg>`` a line."""


def looks_like_archive(head: bytes) -> bool:
    """Whether a file that begins so (``HEAD`` bytes) is a zip or an uncompressed tar archive."""
    return head.startswith(_ZIP) or head[_TAR_OFFSET:HEAD] == _TAR


def pieces(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """What is left of a stream, at most ``PIECE`` bytes at a time."""
    return iter(lambda: read(PIECE), b"")


def verify(archive: Path, location: str) -> None:
    """Read an archive to its end, with all checksums it holds; ``UserError`` names ``location`` when it is damaged."""
    try:
        if _first_bytes(archive).startswith(_ZIP):
            with zipfile.ZipFile(archive) as stored:
                if (broken := stored.testzip()) is not None:
                    raise zipfile.BadZipFile(f"bad checksum of {broken}")
            return
        with tarfile.open(archive, "r:*") as entries:
            if not entries.getmembers():
                raise tarfile.ReadError("it is empty")
            # behind the last member, where its checksum is if it is compressed
            deque(pieces(entries.fileobj.read), maxlen=0)
    except DAMAGE as error:
        raise _damaged(location, error) from None


def _first_bytes(archive: Path) -> bytes:
    with open(archive, "rb") as stream:
        return stream.read(6)


def member_pieces(archive: Path, declared: str) -> Generator[bytes]:
    """Yield the contents of a regular file in an archive, at most ``PIECE`` bytes at a time.

    ``UserError`` when the archive is damaged, has no such member, or the member is no regular file.
    """
    wanted = member_name(declared)
    try:
        yield from (_zip_pieces if _first_bytes(archive).startswith(_ZIP) else _tar_pieces)(archive, wanted)
    except DAMAGE as error:
        raise _damaged(str(archive), error) from None


def _tar_pieces(archive: Path, wanted: str) -> Iterator[bytes]:
    names = []
    with tarfile.open(archive, "r:*") as entries:
        for entry in entries:
            names.append(_entry_name(entry.name))
            if names[-1] != wanted:
                continue
            if not entry.isreg() or (stream := entries.extractfile(entry)) is None:
                link = f"a link to {entry.linkname}" if entry.islnk() or entry.issym() else ""
                raise _unusable(archive, wanted, link or ("a folder" if entry.isdir() else "a device or pipe"))
            yield from pieces(stream.read)
            return
    raise _missing(archive, wanted, names)


def _zip_pieces(archive: Path, wanted: str) -> Iterator[bytes]:
    with zipfile.ZipFile(archive) as stored:
        entries = {_entry_name(entry.filename): entry for entry in reversed(stored.infolist())}
        if wanted not in entries:
            raise _missing(archive, wanted, list(entries))
        entry = entries[wanted]
        mode = stat.S_IFMT(entry.external_attr >> 16)  # as Unix writes it; 0 where another system wrote
        other = "" if mode in (0, stat.S_IFREG) else "a link or device"
        if fault := "a folder" if entry.is_dir() else other or ("encrypted" if entry.flag_bits & 1 else ""):
            raise _unusable(archive, wanted, fault)
        with stored.open(entry) as stream:
            yield from pieces(stream.read)


def _entry_name(name: str) -> str:
    """As ``member_name`` writes it; a name that leaves its folder stays as it is and equals none of those."""
    return name if ".." in name.split("/") or name.startswith("/") else posixpath.normpath(name)


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


def store_text(data: Iterator[bytes], origin: str, output: Path, unescape: bool = False) -> None:
    """Write a text to ``output`` (``.gz``): byte for byte when it comes gzipped, else compressed reproducibly.

    data: as ``pieces`` yields it. Of SGML and XML (see ``MARKED_UP``) the segments are written. unescape: resolve
    character references. ``UserError`` names ``origin`` when it is empty, a web page, an archive of several files, a
    damaged gzip file, or none by that name.
    """
    if unescape:
        with scratch_folder(output) as folder:
            store_text(data, origin, folder / output.name)
            write_lines(output, map(resolve_references, stream_lines(folder / output.name)))
        return
    if origin.lower().endswith(MARKED_UP):
        whole = b"".join(islice(data, SGML_LIMIT // PIECE + 1))
        if len(whole) > SGML_LIMIT:
            raise UserError(f"{origin}: has more than {SGML_LIMIT >> 20} MB; give so much text as plain text")
        write_lines(output, read_segments(whole, origin))
        return
    head = next(data, b"")
    data = chain([head], data)
    _check_head(head, origin)
    if origin.endswith(".gz") and not head.startswith(GZIP):
        raise UserError(f"{origin}: not compressed by gzip as its name says; look at what it is, or rename it")
    with atomic(output) as temporary, open(temporary, "wb") as raw:
        if head.startswith(GZIP):
            raw.writelines(data)
            raw.flush()
            try:  # decompress once, so that a cut-off download is noticed here
                with gzip.open(temporary, "rb") as stream:
                    head = stream.read(HEAD)
                    deque(pieces(stream.read), maxlen=0)
            except (OSError, EOFError, zlib.error) as error:
                raise UserError(f"{origin}: a damaged gzip file ({error}); fetch it again from its publisher") from None
            _check_head(head, origin)
        else:
            with gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as compressed:
                compressed.writelines(data)


def _check_head(head: bytes, origin: str) -> None:
    """``UserError`` for what begins as no text does."""
    if not head:
        raise UserError(f"{origin}: empty; look whether its address or path is right")
    if _WEB_PAGE.match(head):
        raise UserError(f"{origin}: a web page and no text; open the address in a browser to see what it asks for")
    if looks_like_archive(head):
        raise UserError(f"{origin}: an archive of several files; name the one that is wanted as 'member'")


def read_segments(data: bytes, origin: str) -> list[str]:
    """The segments of an SGML file in their order, white space made one blank, character references resolved.

    sacreBLEU takes the same lines, references as they are: its tokeniser resolves them, that of Moses does not.
    ``UserError`` names ``origin`` and the line where the file is not UTF-8, has no segments, or one does not end.
    """
    check_text(origin, data, nul=True)
    text = data.decode()
    if len(kinds := sorted({*_KIND.findall(text)})) > 1:
        raise UserError(f"{origin}: holds {', '.join(kinds)} in one file; give each side as a text of its own")
    segments = {found.start(): found[1] for found in _SEGMENT.finditer(text)}
    for opening in _OPENING.finditer(text):
        if opening.start() not in segments:
            line = text.count("\n", 0, opening.start()) + 1
            raise UserError(f"{origin}, line {line}: a <seg> without </seg>; fetch the file again or fix it")
    if not segments:
        raise UserError(f"{origin}: holds no <seg>; give a test set as WMT publishes them, or text by another name")
    return list(map(resolve_references, segments.values()))


def resolve_references(text: str) -> str:
    """A line of XML as the text that it stands for, ``&amp;`` as ``&``, with white space made one blank."""
    return " ".join(html.unescape(text).split())
