"""One published file, from a mirror, a path or a URL, checked against its checksum: a text, or an archive of texts."""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pooch
import requests

from neural_smt.corpus import checksums
from neural_smt.corpus.archives import verify
from neural_smt.corpus.storing import file_pieces, store_text, store_whole
from neural_smt.errors import FULL, UserError
from neural_smt.io.temporaries import scratch_folder

log = logging.getLogger(__name__)

SCHEMES = ("http", "https", "ftp")
RETRIES = 3
"""Further attempts after a failed download; the wait grows from 1 s to 10 s (pooch's schedule)."""

TIMEOUT = 60
"""Seconds without a byte after which a connection counts as failed."""


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
    """Write the declared text to ``output`` (``.gz``), byte for byte when it is published gzipped.

    ``side``: ``url`` or ``path``, optionally ``sha256`` or ``md5`` (of the file as published) and ``mirror_path``.
    Where a ``url`` has no ``sha256``, that of the first download is kept beside ``output`` and holds from then on.
    ``UserError`` when no place has the file, a URL is refused, a checksum differs, or the file is unusable.
    """
    _obtain(side, mirror, output, lambda file, location: store_text(file_pieces(file), location, output))


def obtain_archive(side: dict[str, Any], mirror: str | None, output: Path) -> None:
    """Write the declared archive to ``output`` as it is published, after reading it to its end; as ``obtain``."""

    def keep(file: Path, location: str) -> None:
        verify(file, location)
        store_whole(file, output, move=is_url(location))

    _obtain(side, mirror, output, keep)


def _obtain(side: dict[str, Any], mirror: str | None, output: Path, keep: Callable[[Path, str], None]) -> None:
    failures = []
    record = checksums.record_of(output)
    for location in locations(side, mirror):
        try:
            with _local_copy(location, output) as file:
                sha256 = checksums.check(file, location, side, record)
                keep(file, location)
        except _Absent as absence:
            failures.append(str(absence))
            continue
        checksums.remember(record, side, sha256)
        log.info("%s: taken from %s", output, location)
        return
    raise UserError(f"{output.name} could not be obtained: {'; '.join(failures)}; check the path, URL or data_mirror")


class _Absent(Exception):
    """This place does not have the file; the next one may."""


@contextmanager
def _local_copy(location: str, output: Path) -> Iterator[Path]:
    """The file itself, or its download: in a hidden folder beside ``output``, where there is room for what is kept."""
    if not is_url(location):
        if not Path(location).is_file():
            raise _Absent(f"{location}: no such file")
        yield Path(location)
        return
    scheme = urlsplit(location).scheme
    if scheme not in SCHEMES:
        raise UserError(f"{location}: '{scheme}' addresses are refused; use http, https or ftp, or a 'path'")
    with scratch_folder(output) as folder:
        yield _download(location, folder)


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
    except requests.exceptions.ChunkedEncodingError:
        reason = "the connection broke off before the end of the file"
    except requests.ConnectionError:
        reason = "the connection was refused or broken"
    except (requests.RequestException, OSError, EOFError, ValueError) as error:
        if isinstance(error, OSError) and error.errno in FULL:
            raise
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    raise _Absent(f"{url}: {reason}")
