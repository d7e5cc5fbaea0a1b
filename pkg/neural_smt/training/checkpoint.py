"""Checkpoints of a training run: one file, replaced in one step, that knows which run it belongs to."""

import hashlib
import json
import logging
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from neural_smt.io.files import atomic
from neural_smt.io.ragged import Ragged

log = logging.getLogger(__name__)

NAME = "checkpoint.safetensors"

FORMAT = 2
"""Of what a checkpoint holds: with another number older ones are of another run."""


class Checkpoint(NamedTuple):
    """tensors: weights and optimiser state by name; progress: counters and history, as JSON values."""

    tensors: dict[str, Tensor]
    progress: dict[str, Any]


def fingerprint(values: Any, *data: np.ndarray | Ragged) -> str:
    """SHA-256 (hex) of everything that a run's result depends on: JSON values, arrays and lists."""
    digest = hashlib.sha256(json.dumps([FORMAT, values], sort_keys=True).encode())
    for part in data:
        for array in (part.values, part.offsets) if isinstance(part, Ragged) else (part,):
            digest.update(f"{array.dtype} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array))
    return digest.hexdigest()


def save_checkpoint(folder: Path, run: str, checkpoint: Checkpoint) -> None:
    """Write the checkpoint of the run with fingerprint ``run`` into ``folder``."""
    metadata = {"run": run, "progress": json.dumps(checkpoint.progress)}
    with atomic(Path(folder) / NAME) as temporary:
        save_file({name: tensor.contiguous().cpu() for name, tensor in checkpoint.tensors.items()}, temporary, metadata)


def load_checkpoint(folder: Path, run: str) -> Checkpoint | None:
    """The checkpoint in ``folder``, or None when there is none, or it is of another run, or it cannot be read."""
    path = Path(folder) / NAME
    if not path.exists():
        return None
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            if metadata.get("run") != run:
                log.info("%s is of a run with other data or settings: starting afresh", path)
                return None
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
            return Checkpoint(tensors, json.loads(metadata["progress"]))
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        log.warning("%s cannot be read (%s): starting afresh", path, error)
        return None
