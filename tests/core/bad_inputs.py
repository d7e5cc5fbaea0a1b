"""What people do wrong, and the sentence that each gets: the whole message, paths as they were given."""

import io
import tarfile
from dataclasses import dataclass, field

Files = dict[str, str | bytes]


@dataclass(frozen=True)
class Row:
    """A mistake. name: what is wrong; command: after ``python -m neural_smt``, in a folder that holds ``files``;
    sentence: all that is said, behind ``error: ``. ``{repository}`` stands for this checkout.
    """

    name: str
    command: str
    sentence: str
    files: Files = field(default_factory=dict)


def configured(name: str, settings: str, sentence: str) -> Row:
    """A fault of settings that are put over the smallest experiment."""
    files = "{repository}/experiments/tiny.yaml mine.yaml"
    command = f"check --configfile {files} --snakefile {{repository}}/Snakefile"
    return Row(name, command, sentence, {"mine.yaml": settings})


def packed(**entries: tarfile.TarInfo | bytes) -> bytes:
    """A tar archive of files, and of other entries."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, content in entries.items():
            entry = content if isinstance(content, tarfile.TarInfo) else tarfile.TarInfo(name)
            entry.size = 0 if isinstance(content, tarfile.TarInfo) else len(content)
            archive.addfile(entry, None if isinstance(content, tarfile.TarInfo) else io.BytesIO(content))
    return stream.getvalue()


def link(name: str, target: str) -> tarfile.TarInfo:
    """An entry that leads elsewhere."""
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = tarfile.SYMTYPE, target
    return entry
