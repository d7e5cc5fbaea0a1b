"""One published file, from a mirror, a path or a URL, checked against its checksum: a text, or an archive of texts.

Checksums are those that are declared, or those of the first download, which are kept beside the file.
"""

import logging
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote, urlsplit

from neural_smt.corpus.archives import pieces, store_text, verify
from neural_smt.errors import FULL, UserError
from neural_smt.io.files import atomic, digest_file
from neural_smt.io.temporaries import scratch_folder

log = logging.getLogger(__name__)

SCHEMES = ("http", "https", "ftp")
ATTEMPTS = 3
"""Of a download, some seconds apart; a file that the server refuses to give is asked for once."""

TIMEOUT = 30
"""Seconds without a connection, or without a byte, after which an attempt has failed."""

TELL_EVERY = 10
"""Seconds after which the log says how much of a download is here."""


def is_url(location: str) -> bool:
    """Whether ``location`` names a scheme (``http://...``) rather than a file or folder."""
    return "://" in location


def published_name(side: dict[str, Any]) -> str:
    """Where a mirror keeps the file: ``mirror_path``, else a relative ``path``, else the last part of ``url``."""
    if side.get("mirror_path"):
        return side["mirror_path"]
    if path := side.get("path"):
        return Path(path).name if Path(path).is_absolute() else path
    return unquote(Path(urlsplit(side["url"]).path).name)


def locations(side: dict[str, Any], mirror: str | None) -> list[str]:
    """Every place to look for the file, in the order to try them."""
    if not side.get("url") and not side.get("path"):
        raise UserError("a corpus file is declared without 'url' and without 'path'; give one of them")
    found = [str(side[key]) for key in ("path", "url") if side.get(key)]
    if mirror:
        name = published_name(side)
        found.insert(0, f"{mirror.rstrip('/')}/{name}" if is_url(mirror) else str(Path(mirror) / name))
    return found


def find(side: dict[str, Any], mirror: str | None) -> str | None:
    """Where the file will be taken from: the first place that has it here, else the first URL; None for nowhere."""
    places = locations(side, mirror)
    here = (place for place in places if not is_url(place) and Path(place).is_file())
    return next(here, None) or next(filter(is_url, places), None)


def keep_text(file: Path, location: str, output: Path, unescape: bool = False) -> None:
    """Keep a published text gzipped, byte for byte when it is published so; unescape: with references resolved."""
    with open(file, "rb") as stream:
        store_text(pieces(stream.read), location, output, unescape)


def keep_archive(file: Path, location: str, output: Path) -> None:
    """Keep a published archive as it is, after reading it to its end."""
    verify(file, location)
    with atomic(output) as temporary:
        (shutil.move if is_url(location) else shutil.copyfile)(file, temporary)
        temporary.chmod(0o644)


def obtain(side: dict[str, Any], mirror: str | None, output: Path, keep: Callable[[Path, str, Path], None]) -> None:
    """Have ``keep`` write the declared file to ``output``.

    ``side``: ``url`` or ``path``, optionally ``sha256`` or ``md5`` (of the file as published) and ``mirror_path``.
    Where a ``url`` has no ``sha256``, that of the first download is kept beside ``output`` and holds from then on.
    ``UserError`` when no place has the file, a URL is refused, a checksum differs, or the file is unusable.
    """
    failures = []
    record = Path(f"{output}.sha256")
    for location in locations(side, mirror):
        try:
            with _local_copy(location, output) as file:
                sha256 = check_sums(file, location, side, record)
                keep(file, location, output)
        except _Absent as absence:
            failures.append(str(absence))
            continue
        if side.get("url") and not side.get("sha256") and recorded(record, side["url"]) is None:
            with atomic(record) as temporary:  # as sha256sum writes it, in the place of another's
                temporary.write_text(f"{sha256}  {side['url']}\n", encoding="utf-8")
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
    """Download with pooch; any failure left after the last attempt means that this place does not have the file."""
    # a quarter of a second, which only downloads should take
    import pooch
    import requests
    from tqdm import tqdm

    told = SimpleNamespace(write=lambda line: log.info("%s", line.strip()) if line.strip() else None)
    file = folder / "file"
    for attempt in range(1, ATTEMPTS + 1):
        log.info("%s: attempt %d of %d", url, attempt, ATTEMPTS)
        # a bar of nothing would be none to pooch
        bar = tqdm(desc=url, total=1, unit="B", unit_scale=True, file=told, mininterval=TELL_EVERY, delay=TELL_EVERY)
        vars(bar).update(bar_format="{desc}: {n_fmt}B of {total_fmt}B", reset=bar.close)
        http = partial(pooch.HTTPDownloader, progressbar=bar)
        kind = pooch.FTPDownloader if url.startswith("ftp:") else http
        try:
            kind(timeout=TIMEOUT, chunk_size=1 << 16)(url, file, None)
            return file
        except requests.HTTPError as error:
            reason = f"the server answered {error.response.status_code} {error.response.reason}"
            if error.response.status_code < 500:
                break
        except requests.exceptions.ChunkedEncodingError:
            reason = "the connection broke off before the end of the file"
        except (requests.Timeout, requests.ConnectionError) as error:
            late = isinstance(error, requests.Timeout) or "timed out" in str(error)
            reason = f"nothing came for {TIMEOUT} s" if late else "the connection was refused or broken"
        except (requests.RequestException, OSError, EOFError, ValueError) as error:
            if isinstance(error, OSError) and error.errno in FULL:
                raise
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        log.warning("%s: %s", url, reason)
        time.sleep(attempt if attempt < ATTEMPTS else 0)
    raise _Absent(f"{url}: {reason}")


def check_sums(file: Path, location: str, declared: dict[str, Any], record: Path) -> str:
    """Return the SHA-256 (hex) of a published file, compared with what is known of it.

    ``declared`` may hold ``sha256`` and ``md5``. Where it has no ``sha256``, the one that ``record`` holds of the same
    ``url`` counts; a user's own files, which have none, may change. ``UserError`` when one of them is another, or the
    record cannot be understood.
    """
    for name in ("md5", "sha256"):
        expected = (declared.get(name) or "").lower()
        if expected and (found := digest_file(file, name)) != expected:
            raise UserError(
                f"{location}: its {name} is {found} but the configuration declares {expected}; "
                f"the file has changed or is damaged, so remove it or correct the {name}"
            )
    actual = declared["sha256"].lower() if declared.get("sha256") else digest_file(file)
    if not declared.get("sha256") and (known := recorded(record, declared.get("url"))) not in (None, actual):
        raise UserError(
            f"{location}: its sha256 is {actual} but that of the first download was {known} ({record}); "
            "the file has changed or is damaged, so fetch it from elsewhere, or remove the record to accept it"
        )
    return actual


def recorded(record: Path, url: str | None) -> str | None:
    """The SHA-256 that a record holds of a URL; ``UserError`` for a file that is no such record."""
    if not url or not record.is_file():
        return None
    sha256, _, known = record.read_bytes().decode("utf-8", "replace").rstrip("\n").partition("  ")
    if not re.fullmatch("[0-9a-f]{64}", sha256) or not known:
        raise UserError(f"{record}, line 1: not a SHA-256; remove the file, and the next download is recorded there")
    return sha256 if known == url else None
