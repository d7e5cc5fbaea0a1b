"""Checksums of the files of a folder in ``SHA256SUMS``, which ``sha256sum --check`` reads too."""

import re
from pathlib import Path

from neural_smt.errors import UserError
from neural_smt.io.arrays import read_arrays
from neural_smt.io.files import atomic, digest_file

MANIFEST = "SHA256SUMS"

ARRAYS = ".safetensors"
"""How the names of files of arrays end."""

_LINE = re.compile(r"([0-9a-f]{64})  ([^\n]+)\n")


def _files(folder: Path) -> list[Path]:
    """All files of a folder but hidden ones and lists of checksums."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != MANIFEST)
    return [path for path in found if not any(part.startswith(".") for part in path.relative_to(folder).parts)]


def write_manifest(folder: Path) -> None:
    """List the files of a folder with their checksums; files of arrays must be as they were written."""
    for path in folder.rglob(f"*{ARRAYS}"):
        read_arrays(path, trusted=False)
    lines = [f"{digest_file(path)}  {path.relative_to(folder).as_posix()}\n" for path in _files(folder)]
    with atomic(folder / MANIFEST) as temporary:
        temporary.write_text("".join(lines), encoding="utf-8")


def _listed(folder: Path) -> dict[Path, str]:
    """The files that the list of a folder names, if it has one, and their checksums; ``UserError`` where the list is
    damaged.
    """
    if not (folder / MANIFEST).is_file():
        return {}
    text = (folder / MANIFEST).read_bytes().decode("utf-8", "replace")
    lines = _LINE.findall(text)
    if "".join(f"{digest}  {name}\n" for digest, name in lines) != text:
        raise UserError(f"{folder / MANIFEST}: damaged; copy the folder again")
    return {folder / name: digest for digest, name in lines}


def check_listed(folder: Path) -> None:
    """Raise ``UserError`` unless the files that the list of a folder names are as they were, but for files of arrays,
    which are checked when they are read.
    """
    for path, digest in _listed(folder).items():
        if path.suffix != ARRAYS:
            _check(path, digest)


def _check(path: Path, digest: str) -> None:
    if not path.is_file():
        raise UserError(f"{path}: not there, but {MANIFEST} names it; copy the folder again")
    if digest_file(path) != digest:
        raise UserError(f"{path}: not what was packed; copy it again")


def verify(*, folder: Path) -> None:
    """Check all files of a folder against their checksums.

    folder: a packed system, or any folder of results. Files of arrays hold their checksums; those of other files stand
    in the list that ``pack`` writes. Raises ``UserError``, after a line for every fault, where a file is damaged.
    """
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder; name a packed system or a folder of results")
    listed, files = _listed(folder), _files(folder)
    checked, faults = 0, []
    for path in dict.fromkeys([*files, *listed]):
        checked += path in listed or path.suffix == ARRAYS
        try:
            if path in listed:
                _check(path, listed[path])
            elif listed:
                raise UserError(f"{path}: not listed in {MANIFEST}; remove it")
            elif path.suffix == ARRAYS:
                read_arrays(path, trusted=False)
        except UserError as error:
            faults.append(str(error))
    print(*faults, f"{checked} files checked, {len(files) - checked} have no checksum", sep="\n")
    if faults:
        raise UserError(f"{folder}: {len(faults)} faults; copy the folder, or make what is damaged, again")
