"""Hidden names beside what is being written, which tell who writes, so that what killed processes left can be removed.

A temporary file or folder of ``path`` is called ``.<host>-<process>.<random>.<name of path>`` and lies beside it.
"""

import glob
import os
import re
import shutil
import socket
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

HOST = f"{zlib.crc32(socket.gethostname().encode()):08x}"
"""This machine in names; process numbers of others say nothing here."""

_SHAPE = re.compile(r"\.([0-9a-f]{8})-(\d+)\.[a-z0-9_]{8}\.(.+)", re.DOTALL)


def make_temporary(path: Path, directory: bool) -> Path:
    """A new empty folder beside ``path``, whose folder exists, or a file with its suffixes.

    Errors name ``path``, not the temporary name.
    """
    name: dict[str, Any] = {"prefix": f".{HOST}-{os.getpid()}.", "suffix": f".{path.name}", "dir": path.parent}
    try:
        if directory:
            return Path(tempfile.mkdtemp(**name))
        handle, made = tempfile.mkstemp(**name)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    os.close(handle)
    return Path(made)


@contextmanager
def temporary_output(path: Path, directory: bool, scratch: bool = False) -> Iterator[Path]:
    """A new file or folder beside ``path``, removed when the block ends; so is what killed processes left of theirs.

    What the file system refuses is an ``OSError`` that names ``path``, or the file below it unless that is ``scratch``.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(path)
    temporary = make_temporary(path, directory)
    try:
        yield temporary
    except OSError as error:
        place = str(temporary if error.filename is None else error.filename)
        if error.errno is None or not place.startswith(str(temporary)):
            raise
        below = "" if scratch else place.removeprefix(str(temporary))
        raise OSError(error.errno, os.strerror(error.errno), f"{path}{below}") from None
    finally:
        _delete(temporary)


def scratch_folder(path: Path) -> AbstractContextManager[Path]:
    """A new folder beside ``path`` as long as a block runs; what the file system refuses in it is said of ``path``."""
    return temporary_output(path, directory=True, scratch=True)


def remove_folder(folder: Path) -> None:
    """Delete a folder, if it is there; killed in the middle of that, nothing is left under its name."""
    remove_leftovers(folder)
    if folder.is_dir():
        hidden = make_temporary(folder, directory=True)
        os.replace(folder, hidden)
        shutil.rmtree(hidden)


def remove_leftovers(path: Path, owned: bool = False) -> None:
    """Delete the temporary files and folders of ``path`` that no process of this machine writes any longer.

    owned: nobody else writes ``path`` now, so all of them are left over, whoever wrote them, and those in a folder too.
    """
    beside = path.parent.glob(f".*.{glob.escape(path.name)}") if path.parent.is_dir() else []
    within = path.rglob(".*") if owned and path.is_dir() else []
    named = [(found, path.name) for found in beside] + [(found, None) for found in within]
    for temporary, name in named:
        shape = _SHAPE.fullmatch(temporary.name)
        if shape is None or name not in (None, shape[3]):
            continue
        if owned or (shape[1] == HOST and not _lives(int(shape[2]))):
            _delete(temporary)


def _lives(process: int) -> bool:
    """Whether a process of this number runs: one that has ended may wait for its parent to notice."""
    import psutil  # takes a while to load, and most often nothing is left over

    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _delete(path: Path) -> None:
    """Delete a file or a folder; others may be doing the same, or it may be another user's."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()
