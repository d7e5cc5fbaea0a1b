"""One published file, from a mirror, a path or a URL, checked against its SHA-256 and kept gzipped."""

import gzip
import hashlib
import logging
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pooch
import requests

from neural_smt.errors import UserError
from neural_smt.files import atomic

log = logging.getLogger(__name__)

SCHEMES = ("http", "https", "ftp")
RETRIES = 3
"""Further attempts after a failed download; the wait grows from 1 s to 10 s (pooch's schedule)."""

TIMEOUT = 60
"""Seconds without a byte after which a connection counts as failed."""

_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
_TAR_OFFSET, _TAR = 257, b"ustar"


def is_url(location: str) -> bool:
    """Whether ``location`` names a scheme (``http://...``) rather than a file or folder."""
    return "://" in location


def published_name(side: dict[str, Any]) -> str:
    """Where a mirror keeps the file: ``mirror_path``, else a relative ``path``, else the last part of ``url``."""
    path = side.get("path")
    if side.get("mirror_path"):
        return side["mirror_path"]
    if path:
        return Path(path).name if Path(path).is_absolute() else path
    return unquote(Path(urlsplit(side["url"]).path).name)


def locations(side: dict[str, Any], mirror: str | None) -> list[str]:
    """Every place to look for the file, in the order to try them."""
    if not side.get("url") and not side.get("path"):
        raise UserError("a corpus file is declared without 'url' and without 'path'; give one of them")
    found = []
    if mirror:
        name = published_name(side)
        found.append(f"{mirror.rstrip('/')}/{name}" if is_url(mirror) else str(Path(mirror) / name))
    if side.get("path"):
        found.append(str(side["path"]))
    if side.get("url"):
        found.append(side["url"])
    return found


def obtain(side: dict[str, Any], mirror: str | None, output: Path) -> None:
    """Write the declared file to ``output`` (``.gz``), byte for byte when it is published gzipped.

    ``side``: ``url`` or ``path``, optionally ``sha256`` (of the file as published) and ``mirror_path``.
    ``UserError`` when no place has the file, a URL is refused, the SHA-256 differs, or the archive is unusable.
    """
    failures = []
    for location in locations(side, mirror):
        try:
            with _local_copy(location) as file:
                _check(file, location, side.get("sha256"))
                _write_gzipped(file, location, output)
                log.info("%s: taken from %s", output, location)
                return
        except _Absent as absence:
            failures.append(str(absence))
    raise UserError(f"{output.name} could not be obtained: {'; '.join(failures)}; check the path, URL or data_mirror")


class _Absent(Exception):
    """This place does not have the file; the next one may."""


@contextmanager
def _local_copy(location: str) -> Iterator[Path]:
    if not is_url(location):
        if not Path(location).is_file():
            raise _Absent(f"{location}: no such file")
        yield Path(location)
        return
    scheme = urlsplit(location).scheme
    if scheme not in SCHEMES:
        raise UserError(f"{location}: '{scheme}' addresses are refused; use http, https or ftp, or a 'path'")
    with tempfile.TemporaryDirectory() as folder:
        yield _download(location, Path(folder))


def _download(url: str, folder: Path) -> Path:
    """Download with pooch; any failure left after the retries means that this place does not have the file."""
    pooch.get_logger().setLevel(logging.WARNING)
    registry = pooch.create(
        path=folder, base_url="", registry={"file": None}, urls={"file": url}, retry_if_failed=RETRIES
    )
    progress = sys.stderr.isatty()
    if url.startswith("ftp:"):
        downloader = pooch.FTPDownloader(progressbar=progress, timeout=TIMEOUT)
    else:
        downloader = pooch.HTTPDownloader(progressbar=progress, timeout=TIMEOUT)
    try:
        return Path(registry.fetch("file", downloader=downloader))
    except requests.HTTPError as error:
        reason = f"the server answered {error.response.status_code} {error.response.reason}"
    except requests.Timeout:
        reason = f"no answer within {TIMEOUT} s"
    except requests.ConnectionError:
        reason = "the connection was refused or broken"
    except (requests.RequestException, OSError, EOFError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    raise _Absent(f"{url}: {reason}")


def _check(file: Path, location: str, expected: str | None) -> None:
    if not expected:
        return
    with open(file, "rb") as stream:
        actual = hashlib.file_digest(stream, "sha256").hexdigest()
    if actual != expected.lower():
        raise UserError(
            f"{location}: its sha256 is {actual} but the configuration declares {expected.lower()}; "
            "the file has changed or is damaged, so remove it or correct the sha256"
        )


def _write_gzipped(file: Path, location: str, output: Path) -> None:
    with open(file, "rb") as stream:
        head = stream.read(_TAR_OFFSET + len(_TAR))
    gzipped = head.startswith(_GZIP)
    if gzipped:
        head = _test_archive(file, location)
    if head.startswith(_ZIP) or head[_TAR_OFFSET:].startswith(_TAR):
        raise UserError(f"{location}: an archive of several files; declare a plain or gzipped text file instead")
    with atomic(output) as temporary:
        if gzipped:
            shutil.copyfile(file, temporary)
        else:
            with (
                open(file, "rb") as plain,
                open(temporary, "wb") as raw,
                gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as compressed,
            ):
                shutil.copyfileobj(plain, compressed)


def _test_archive(file: Path, location: str) -> bytes:
    """Decompress once, so that a cut-off download is noticed here; return the first bytes."""
    try:
        with gzip.open(file, "rb") as stream:
            head = stream.read(_TAR_OFFSET + len(_TAR))
            while stream.read(1 << 20):
                pass
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{location}: a damaged gzip file ({error}); fetch it again from its publisher") from None
    return head
