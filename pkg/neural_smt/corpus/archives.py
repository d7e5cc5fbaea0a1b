"""Members of published archives (tar, also compressed, and zip), read a piece at a time and never unpacked by name.

Nothing is written under a name that an archive gives, so no member can leave a folder; names that try to are refused
all the same, as are links and devices.
"""

import bz2
import difflib
import gzip
import lzma
import posixpath
import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from neural_smt.errors import UserError

PIECE = 1 << 20
"""Bytes read at a time."""

DAMAGE = (tarfile.TarError, zipfile.BadZipFile, OSError, EOFError, zlib.error, lzma.LZMAError, NotImplementedError)
"""What the readers of the standard library raise for archives that are cut off, changed, or of another kind."""

_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_COMPRESSED = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
_TAR_OFFSET, _TAR = 257, b"ustar"
HEAD = _TAR_OFFSET + len(_TAR)
"""Bytes from the beginning of a file that tell an archive."""


def looks_like_archive(head: bytes) -> bool:
    """Whether a file that begins so (``HEAD`` bytes) is a zip or an uncompressed tar archive."""
    return head.startswith(_ZIP) or head[_TAR_OFFSET:HEAD] == _TAR


def archive_name(side: Mapping[str, Any]) -> str:
    """A relative path to keep an archive under: host and path of its URL, or its path; safe in any file system."""
    url = urlsplit(side["url"]) if side.get("url") else None
    whole = f"{url.netloc}/{url.path}" if url else str(side["path"])
    parts = (re.sub(r"[^A-Za-z0-9._-]", "_", part) for part in whole.split("/"))
    return "/".join(part for part in parts if part.strip("."))


def archive_of(side: Mapping[str, Any]) -> dict[str, Any]:
    """The declaration of the archive that a side is a member of: the side without ``member``."""
    return {key: value for key, value in side.items() if key != "member"}


def collect_archives(sources: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Every archive that sides of ``sources`` are members of, once: its name -> its declaration.

    A checksum may stand at one side only. ``UserError`` where sides declare different things of one archive.
    """
    archives: dict[str, dict[str, Any]] = {}
    for name, source in sources.items():
        for key, side in source.items():
            if not isinstance(side, Mapping) or "member" not in side:
                continue
            known = archives.setdefault(archive_name(side), {})
            for what, value in archive_of(side).items():
                if known.setdefault(what, value) != value:
                    raise UserError(
                        f"corpus.sources.{name}.{key}.{what}: {value} here, but {known[what]} at another side of the "
                        "same archive; declare one of them"
                    )
    return archives


def member_name(declared: str) -> str:
    """The path of a member as it is compared with those in an archive; ``UserError`` for one that leaves its folder."""
    parts = declared.split("/")
    if not declared.strip("./") or declared.startswith("/") or ".." in parts or "\\" in declared or "\0" in declared:
        raise UserError(
            f"'{declared}' would leave the folder of its archive; name the file by its path inside the archive"
        )
    return posixpath.normpath(declared)


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
                while stream.read(PIECE):
                    pass
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
            yield from _pieces(entries.extractfile(entry))
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
            yield from _pieces(stream)


def _entry_name(name: str) -> str:
    """As ``member_name`` writes it; a name that leaves its folder stays as it is and equals none of those."""
    return name if ".." in name.split("/") or name.startswith("/") else posixpath.normpath(name)


def _pieces(stream: Any) -> Iterator[bytes]:
    while piece := stream.read(PIECE):
        yield piece


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
