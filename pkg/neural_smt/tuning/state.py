"""What a tuning run keeps on disk, so that a killed one goes on where it was."""

import hashlib
import json
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neural_smt.errors import UserError
from neural_smt.io.files import atomic, read_object, write_json
from neural_smt.io.temporaries import remove_folder
from neural_smt.tuning.history import Iteration
from neural_smt.tuning.pool import Pool

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Progress:
    """Everything the next iteration depends on.

    weights: what to decode with next; candidates: the pool of the method; finished: nothing is left to do.
    """

    iterations: list[Iteration]
    weights: list[float]
    candidates: Pool
    finished: bool = False


class State:
    """A folder with one subfolder per finished iteration (only the latest is kept).

    A subfolder appears and goes by a rename, so what is there is whole; one that was made from
    other inputs or settings (another ``fingerprint``) is not used.
    """

    def __init__(self, folder: Path, fingerprint: str):
        self.folder = Path(folder)
        self.fingerprint = fingerprint

    def save(self, progress: Progress) -> None:
        """Keep this progress, then drop what it replaces."""
        older = self._subfolders()
        content = {
            "fingerprint": self.fingerprint,
            "iterations": [iteration.to_json() for iteration in progress.iterations],
            "weights": progress.weights,
            "finished": progress.finished,
        }
        with atomic(self.folder / f"iteration{len(progress.iterations):03}", directory=True) as temporary:
            progress.candidates.save(temporary / "candidates")
            write_json(temporary / "progress.json", content)
        for folder in older:
            remove_folder(folder)

    def load(self, pool: type[Pool]) -> Progress | None:
        """The latest progress, with this kind of pool, of a run with the same fingerprint; ``None`` without one."""
        for folder in reversed(self._subfolders()):
            try:
                content = read_object(folder / "progress.json")
                if content["fingerprint"] == self.fingerprint:
                    iterations = [Iteration.from_json(value) for value in content["iterations"]]
                    candidates = pool.load(folder / "candidates")
                    return Progress(iterations, content["weights"], candidates, content["finished"])
                logger.info("%s was made from other inputs or settings and is not used", folder)
            except (UserError, TypeError) as error:
                logger.warning("%s cannot be read (%s): it is not used", folder, error)
            remove_folder(folder)
        return None

    def remove(self) -> None:
        """Delete the folder."""
        remove_folder(self.folder)

    def _subfolders(self) -> list[Path]:
        return sorted(self.folder.glob("iteration[0-9]*"))


def fingerprint(settings: Any, paths: Iterable[Path]) -> str:
    """SHA-256 (hex) of settings (anything JSON can hold) and of the name, size and time of every file at ``paths``."""
    files = []
    for path in map(Path, paths):
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            status = file.stat()
            files.append([str(file), status.st_size, status.st_mtime_ns])
    return hashlib.sha256(json.dumps([settings, files], sort_keys=True).encode()).hexdigest()
