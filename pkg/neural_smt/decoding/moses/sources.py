"""Whether files are still those that something was made from."""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from neural_smt.errors import UserError


@dataclass(frozen=True)
class Source:
    """A file as it was when read. path: absolute; size: bytes; changed: its time of change, ns; sha256: hex."""

    path: str
    size: int
    changed: int
    sha256: str = ""

    @classmethod
    def of(cls, path: Path) -> "Source":
        """The file as it is now, its contents not read."""
        try:
            found = Path(path).stat()
        except OSError as error:
            raise UserError(f"{path}: cannot be read ({error.strerror}); correct the path") from None
        return cls(str(Path(path).resolve()), found.st_size, found.st_mtime_ns)

    def hashed(self) -> "Source":
        """This source with the digest of its contents; ``UserError`` when they have changed since ``of``."""
        with open(self.path, "rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        if Source.of(Path(self.path)) != replace(self, sha256=""):
            raise UserError(f"{self.path}: changed while it was being read; start again when it is complete")
        return replace(self, sha256=digest)

    def record(self) -> dict[str, str | int]:
        """For JSON; ``Source(**record)`` is the source again."""
        return asdict(self)


def still_same(recorded: Sequence[Source], present: Sequence[Source]) -> bool:
    """Whether the files ``present`` (from ``of``) hold what they held; only where just a time differs are they read."""
    if [(s.path, s.size) for s in recorded] != [(s.path, s.size) for s in present]:
        return False
    return all(
        old.changed == new.changed or old.sha256 == new.hashed().sha256
        for old, new in zip(recorded, present, strict=True)
    )
