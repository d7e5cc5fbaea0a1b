"""Hidden names beside what is being written, which tell who writes, so that what killed processes left can be removed.

A temporary file or folder of ``path`` is called ``.<host>-<process>.<random>.<name of path>`` and lies beside it.
"""

import os
import re
import shutil
import socket
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from neural_smt.errors import write_fault

HOST = f"{zlib.crc32(socket.gethostname().encode()):08x}"
"""This machine in names; process numbers of others say nothing here."""

_SHAPE = re.compile(r"\.([0-9a-f]{8})-(\d+)\.[a-z0-9_]{8}\.(.+)", re.DOTALL)


def temporary_file(path: Path) -> Path:
    """A new empty file beside ``path``, whose folder exists; its suffixes are those of ``path``."""
    with _named(path):
        handle, name = tempfile.mkstemp(prefix=_prefix(), suffix=f".{path.name}", dir=path.parent)
    os.close(handle)
    return Path(name)


def temporary_folder(path: Path) -> Path:
    """A new empty folder beside ``path``, whose folder exists."""
    with _named(path):
        return Path(tempfile.mkdtemp(prefix=_prefix(), suffix=f".{path.name}", dir=path.parent))


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Let errors of the file system name ``path`` in place of a name that nobody knows."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


@contextmanager
def scratch_folder(path: Path) -> Iterator[Path]:
    """A new folder beside ``path`` for as long as the block runs; what killed processes left of theirs is removed.

    What the file system refuses in it is an ``OSError`` that names ``path``.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(path)
    folder = temporary_folder(path)
    try:
        yield folder
    except Exception as error:
        if (fault := write_fault(error, path, folder)) is not None:
            raise OSError(fault.errno, fault.strerror, str(path)) from None
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_folder(folder: Path) -> None:
    """Delete a folder, if it is there; killed in the middle of that, nothing is left under its name."""
    remove_leftovers(folder)
    if folder.is_dir():
        hidden = temporary_folder(folder)
        os.replace(folder, hidden)
        shutil.rmtree(hidden)


def remove_leftovers(path: Path, owned: bool = False) -> None:
    """Delete the temporary files and folders of ``path`` that no process of this machine writes any longer.

    owned: nobody else writes ``path`` now, so all of them are left over, whoever wrote them, and those in a folder too.
    """
    beside = path.parent.glob(f".*.{_literal(path.name)}") if path.parent.is_dir() else []
    within = path.rglob(".*") if owned and path.is_dir() else []
    named = [(found, path.name) for found in beside] + [(found, None) for found in within]
    for temporary, name in named:
        shape = _SHAPE.fullmatch(temporary.name)
        if shape is None or name not in (None, shape[3]):
            continue
        if owned or (shape[1] == HOST and not _runs(int(shape[2]))):
            _delete(temporary)


def _prefix() -> str:
    return f".{HOST}-{os.getpid()}."


def _literal(name: str) -> str:
    """A name as a pattern that matches it alone."""
    return re.sub(r"([*?[])", r"[\1]", name)


def _runs(process: int) -> bool:
    """Whether there is a process of this number; it may belong to another user."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _delete(path: Path) -> None:
    """Delete a file or a folder; others may be doing the same, or it may be another user's."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()
