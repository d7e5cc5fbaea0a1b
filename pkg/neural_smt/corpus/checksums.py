"""Checksums of published files: those that are declared, and those that were met at the first download."""

import hashlib
import re
from pathlib import Path
from typing import Any

from neural_smt.errors import UserError
from neural_smt.io.files import atomic


def record_of(output: Path) -> Path:
    """Where the SHA-256 of the published file behind ``output`` is kept: beside it, ``<name>.sha256``."""
    return Path(f"{output}.sha256")


def check(file: Path, location: str, declared: dict[str, Any], record: Path) -> str:
    """Return the SHA-256 (hex) of a published file, compared with what is known of it.

    ``declared`` may hold ``sha256`` and ``md5``. Where it has no ``sha256``, the one that ``record`` holds of the same
    ``url`` counts; a user's own files, which have none, may change. ``UserError`` when one of them is another, or the
    record cannot be understood.
    """
    actual = digest(file, "sha256")
    _compare(location, "md5", declared.get("md5"), lambda: digest(file, "md5"))
    if declared.get("sha256"):
        _compare(location, "sha256", declared["sha256"], lambda: actual)
    elif (known := recorded(record, declared.get("url"))) not in (None, actual):
        raise UserError(
            f"{location}: its sha256 is {actual} but that of the first download was {known} ({record}); "
            "the file has changed or is damaged, so fetch it from elsewhere, or remove the record to accept it"
        )
    return actual


def remember(record: Path, declared: dict[str, Any], sha256: str) -> None:
    """Write the SHA-256 of what is declared by ``url`` alone, as ``sha256sum`` does, in the place of another's."""
    url = declared.get("url")
    if url and not declared.get("sha256") and recorded(record, url) is None:
        with atomic(record) as temporary:
            temporary.write_text(f"{sha256}  {url}\n", encoding="utf-8")


def recorded(record: Path, url: str | None) -> str | None:
    """The SHA-256 that ``remember`` wrote of a URL; ``UserError`` for a file that it did not write."""
    if not url or not record.is_file():
        return None
    sha256, _, known = record.read_bytes().decode("utf-8", "replace").rstrip("\n").partition("  ")
    if not re.fullmatch("[0-9a-f]{64}", sha256) or not known:
        raise UserError(f"{record}, line 1: not a SHA-256; remove the file, and the next download is recorded there")
    return sha256 if known == url else None


def digest(file: Path, algorithm: str) -> str:
    """Checksum (hex) of a file's bytes."""
    with open(file, "rb") as stream:
        return hashlib.file_digest(stream, algorithm).hexdigest()


def _compare(location: str, name: str, expected: str | None, actual: Any) -> None:
    if expected and (found := actual()) != expected.lower():
        raise UserError(
            f"{location}: its {name} is {found} but the configuration declares {expected.lower()}; "
            f"the file has changed or is damaged, so remove it or correct the {name}"
        )
