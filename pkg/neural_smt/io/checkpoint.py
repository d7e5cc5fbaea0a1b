"""Checkpoints: what a run that may be killed leaves while it goes on, and finds when it is started again."""

import json
import logging
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.arrays import read_arrays, read_meta, write_arrays
from neural_smt.io.files import digest_parts
from neural_smt.io.ragged import Ragged

log = logging.getLogger(__name__)

NAME = "checkpoint.safetensors"

FORMAT = 2
"""Of what a checkpoint holds: with another number older ones are of another run."""


class Checkpoint(NamedTuple):
    """arrays: results so far, weights and state of the optimiser for instance, by name; progress: counters and
    history, as JSON values.
    """

    arrays: dict[str, np.ndarray]
    progress: dict[str, Any]


def fingerprint(values: Any, *data: np.ndarray | Ragged) -> str:
    """SHA-256 (hex) of everything that a run's result depends on: JSON values, arrays and lists."""
    arrays = [array for part in data for array in (part.arrays if isinstance(part, Ragged) else (part,))]
    described = [item for array in arrays for item in (f"{array.dtype} {array.shape}", array)]
    return digest_parts([json.dumps([FORMAT, values], sort_keys=True), *described])


def save_checkpoint(folder: Path, run: str, checkpoint: Checkpoint) -> None:
    """Write the checkpoint of the run with fingerprint ``run`` into ``folder``."""
    write_arrays(Path(folder) / NAME, checkpoint.arrays, {"run": run, "progress": checkpoint.progress})


def load_checkpoint(folder: Path, run: str) -> Checkpoint | None:
    """The checkpoint in ``folder``, or None when there is none, or it is of another run, or it cannot be read."""
    path = Path(folder) / NAME
    if not path.exists():
        return None
    try:
        meta = read_meta(path)
        if meta["run"] != run:
            log.info("%s is of a run with other data or settings: starting afresh", path)
            return None
        return Checkpoint(read_arrays(path, mapped=False), meta["progress"])
    except UserError as error:
        log.warning("%s: starting afresh", error)
        return None
