"""What a training run leaves while it goes on: checkpoints, and the models of its epochs with their mean."""

import json
import logging
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from neural_smt.errors import UserError
from neural_smt.io.arrays import read_arrays, read_meta, write_arrays
from neural_smt.io.files import atomic, digest_parts
from neural_smt.io.ragged import Ragged
from neural_smt.io.temporaries import remove_folder
from neural_smt.networks.folder import WEIGHTS, open_weights

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
    arrays = [array for part in data for array in (part.arrays if isinstance(part, Ragged) else (part,))]
    described = [item for array in arrays for item in (f"{array.dtype} {array.shape}", array)]
    return digest_parts([json.dumps([FORMAT, values], sort_keys=True), *described])


def save_checkpoint(folder: Path, run: str, checkpoint: Checkpoint) -> None:
    """Write the checkpoint of the run with fingerprint ``run`` into ``folder``; its tensors are on the CPU."""
    arrays = {name: tensor.numpy() for name, tensor in checkpoint.tensors.items()}
    write_arrays(Path(folder) / NAME, arrays, {"run": run, "progress": checkpoint.progress})


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
        arrays = read_arrays(path, mapped=False)
        return Checkpoint({name: torch.from_numpy(values) for name, values in arrays.items()}, meta["progress"])
    except UserError as error:
        log.warning("%s: starting afresh", error)
        return None


EPOCHS = "epochs"


class Snapshot(NamedTuple):
    """epoch: how often each example had been seen; folder: the model after it."""

    epoch: int
    folder: Path


class Snapshots:
    """Keeps the models of the run with fingerprint ``run`` below ``state`` until it ends.

    They stay with the checkpoint, so a run that was killed, or that is given more updates, has those of its first
    epochs; what it kept after its checkpoint it keeps again. save: writes the model that is being trained into a
    folder, all or nothing, and is told the epoch. last: only the last so many are kept; 0 for all. average: what is
    published after an epoch is the mean of so many, up to this one.
    """

    def __init__(self, state: Path, run: str, save: Callable[[Path, int], None], last: int = 0, average: int = 1):
        self.folder = Path(state) / EPOCHS / run[:16]
        self.save, self.last, self.average = save, last, average

    def keep(self, epoch: int) -> None:
        """Keep the model as it is now, at the end of an epoch (counted from 1)."""
        self.save(self.folder / str(epoch), epoch)
        if self.last:
            for older, folder in _models(self.folder):
                if older <= epoch - self.last:
                    remove_folder(folder)

    def publish(self, output: Path, epochs: int) -> None:
        """Write the folder ``output`` with the models of so many epochs, ``1`` to ``epochs``, all or nothing.

        The files are shared with ``state`` where the file system can. Raises ``UserError`` where one is missing.
        """
        with atomic(output, directory=True) as temporary:
            for epoch in range(1, epochs + 1):
                self.publish_last(temporary / str(epoch), epoch)

    def publish_last(self, output: Path, epochs: int) -> None:
        """Write the folder ``output`` with the model after so many epochs (at least one)."""
        kept = [self._kept(epoch) for epoch in range(max(epochs - self.average, 0) + 1, epochs + 1)]
        if len(kept) > 1:
            write_average(kept, output)
        else:
            with atomic(output, directory=True) as temporary:
                shutil.copytree(kept[0], temporary, copy_function=_link, dirs_exist_ok=True)

    def _kept(self, epoch: int) -> Path:
        folder = self.folder / str(epoch)
        if not folder.is_dir():
            raise UserError(f"{folder}: no such folder; delete {self.folder.parent.parent} and train again")
        return folder

    def forget_other_runs(self) -> None:
        """Delete what other runs kept below ``state``."""
        if self.folder.parent.is_dir():
            for other in self.folder.parent.iterdir():
                if other != self.folder:
                    remove_folder(other)


def _link(source: str, target: str) -> None:
    # files are replaced, never written into, so two names of one file are as good as two files
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def read_snapshots(folder: Path) -> list[Snapshot]:
    """The models in a folder that ``Snapshots.publish`` wrote, by epoch; ``UserError`` where there are none."""
    found = _models(folder)
    if not found:
        raise UserError(f"{folder}: holds no models of epochs; train with a folder for them, for at least one epoch")
    return found


def _models(folder: Path) -> list[Snapshot]:
    return sorted(Snapshot(int(path.name), path) for path in Path(folder).glob("[1-9]*") if path.name.isdecimal())


def write_average(models: Sequence[Path], output: Path) -> None:
    """Write the model folder ``output``, all or nothing: the last of ``models``, with the mean of their weights.

    models: folders of one network at different moments of its training. AdaDelta's steps do not shrink, so weights
    wander about what they have learnt; their mean lies in the middle (Polyak and Juditsky 1992, checkpoint averaging).
    Sums are float64, a tensor at a time; raises ``UserError`` where the models are not of one network.
    """
    with atomic(output, directory=True) as temporary:
        for file in Path(models[-1]).iterdir():
            if file.name != WEIGHTS:
                shutil.copyfile(file, temporary / file.name)
        opened = [open_weights(model) for model in models]
        shapes = [{name: values.shape for name, values in weights.items()} for weights in opened]
        for model, found in zip(models, shapes, strict=True):
            if found != shapes[0]:
                raise UserError(f"{model}: not the network of {models[0]}; train the model again")
        means = {}
        for name, values in opened[0].items():
            total = sum((weights[name].astype(np.float64) for weights in opened), np.zeros(()))
            means[name] = (total / len(opened)).astype(values.dtype)
        write_arrays(temporary / WEIGHTS, means)
