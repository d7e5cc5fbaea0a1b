"""The models of a training run's epochs, kept while it goes on."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from neural_smt.errors import UserError
from neural_smt.io.files import atomic
from neural_smt.io.temporaries import remove_folder

EPOCHS = "epochs"


class Snapshot(NamedTuple):
    """epoch: how often each example had been seen; folder: the model after it."""

    epoch: int
    folder: Path


class Snapshots:
    """Keeps the models of the run with fingerprint ``run`` below ``state`` until it ends.

    They stay with the checkpoint, so a run that was killed, or that is given more updates, has those of its first
    epochs; what it kept after its checkpoint it keeps again. save: writes the model that is being trained into a
    folder, all or nothing, and is told the epoch.
    """

    def __init__(self, state: Path, run: str, save: Callable[[Path, int], None]):
        self.folder = Path(state) / EPOCHS / run[:16]
        self.save = save

    def keep(self, epoch: int) -> None:
        """Keep the model as it is now, at the end of an epoch (counted from 1)."""
        self.save(self.folder / str(epoch), epoch)

    def publish(self, output: Path, epochs: int) -> None:
        """Write the folder ``output`` with the models of so many epochs, ``1`` to ``epochs``, all or nothing.

        The files are shared with ``state`` where the file system can. Raises ``UserError`` where one is missing.
        """
        with atomic(output, directory=True) as temporary:
            for name in map(str, range(1, epochs + 1)):
                folder = self.folder / name
                if not folder.is_dir():
                    raise UserError(f"{folder}: no such folder; delete {self.folder.parent.parent} and train again")
                shutil.copytree(folder, temporary / name, copy_function=_link)

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
    names = [path.name for path in Path(folder).glob("[1-9]*") if path.name.isdecimal()]
    found = [Snapshot(epoch, Path(folder) / str(epoch)) for epoch in sorted(map(int, names))]
    if not found:
        raise UserError(f"{folder}: holds no models of epochs; train with a folder for them, for at least one epoch")
    return found
