"""The models of a training run's epochs, kept while it goes on, and their mean."""

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.arrays import write_arrays
from neural_smt.io.files import atomic
from neural_smt.io.temporaries import remove_folder
from neural_smt.networks.folder import WEIGHTS, open_weights

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
