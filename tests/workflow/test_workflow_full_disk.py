"""A disk that fills, and one that is closed: one sentence, nothing half-written, and the same step ends with room."""

import gzip
import os
import random
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from checkouts import TINY, link_checkout, refused, run
from refusals import check_error, check_named, check_sentence

from neural_smt.cli import main
from neural_smt.errors import sentence
from neural_smt.io.arrays import ArrayWriter, write_arrays
from neural_smt.io.checkpoint import NAME, Checkpoint, save_checkpoint
from neural_smt.io.files import atomic, write_json, write_lines
from neural_smt.io.plots import drawing
from neural_smt.io.streams import write_pairs
from neural_smt.io.tables import write_rows
from neural_smt.io.temporaries import scratch_folder
from neural_smt.phrases.table import save_column

LEFT = 8192
"""Bytes that are free: two pages, less than what is written."""

FULL, CLOSED = "No space left on device", "Read-only file system"


def mount(*arguments: str) -> None:
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"no file system of its own can be mounted here ({done.stderr.strip()})")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with little room, see ``fill``."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a file system of its own")
    place = tmp_path / "disk"
    place.mkdir()
    mount("-t", "tmpfs", "-o", "size=128k", "none", str(place))
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(disk: Path) -> None:
    """Leave ``LEFT`` bytes."""
    (disk / "filler").write_bytes(bytes(os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize - LEFT))


def free(disk: Path) -> None:
    """Make room."""
    (disk / "filler").unlink()
    mount("-o", "remount,size=16m", str(disk))


def there(disk: Path) -> set[str]:
    """Files and folders, hidden ones included."""
    return {str(path.relative_to(disk)) for path in disk.rglob("*")}


def words(number: int) -> list[str]:
    """Words that compression does not make much shorter."""
    drawn = random.Random(1)
    return [f"{drawn.getrandbits(64):x}" for _ in range(number)]


def grow(path: Path) -> None:
    with atomic(path, directory=True) as folder, ArrayWriter(folder / "a.safetensors") as writer:
        writer.append("a", np.arange(9000))


def draw(path: Path) -> None:
    with drawing(path, 6, 4) as figure:
        figure.subplots().plot(range(9))


WRITERS: dict[str, Callable[[Path], None]] = {
    "text": lambda path: write_lines(path, words(9000)),
    "text.gz": lambda path: write_lines(path, words(9000)),
    "a.en": lambda path: write_pairs(path, path.with_name("a.fr"), [(word, "un") for word in words(9000)]),
    "object.json": lambda path: write_json(path, words(9000)),
    "table.csv": lambda path: write_rows(path, ["word"], [[word] for word in words(9000)]),
    "arrays": lambda path: write_arrays(path, {"first": np.zeros(10), "second": np.arange(90_000)}),
    "grown": grow,
    "column.safetensors": lambda path: save_column(path, np.zeros(90_000), SimpleNamespace(digest="0")),  # type: ignore[arg-type]
    NAME: lambda path: save_checkpoint(path.parent, "run", Checkpoint({"a": np.zeros(90_000)}, {})),
    "plot.png": draw,
}
"""The ways in which steps write: name of the output -> what writes it."""

NAMED = {"grown": "grown/a.safetensors.a", "a.en": "a.fr"}
"""Files of a folder or of a pair that may be named where they do not fit."""


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_is_named_and_nothing_is_left(disk: Path, name: str) -> None:
    fill(disk)
    with pytest.raises(OSError, match="No space left") as caught:
        WRITERS[name](disk / name)
    told = sentence(caught.value)
    check_sentence(told, [disk / name if f"{disk / name}:" in str(told) else disk / NAMED.get(name, name), FULL])
    assert there(disk) == {"filler"}
    free(disk)
    WRITERS[name](disk / name)
    assert name in there(disk)
    assert not [path for path in there(disk) if path.startswith(".")]


@pytest.mark.parametrize("name", WRITERS)
def test_a_closed_disk_is_named(disk: Path, name: str) -> None:
    mount("-o", "remount,ro", str(disk))
    with pytest.raises(OSError, match="Read-only") as caught:
        WRITERS[name](disk / name)
    check_sentence(sentence(caught.value), [disk / name, CLOSED])


def test_what_was_there_stays(disk: Path) -> None:
    write_lines(disk / "text", ["old"])
    fill(disk)
    with pytest.raises(OSError, match="No space left"):
        write_lines(disk / "text", words(9000))
    assert (disk / "text").read_text() == "old\n"
    assert there(disk) == {"filler", "text"}


def test_scratch_that_does_not_fit_is_told_of_by_its_place(disk: Path) -> None:
    fill(disk)
    with (
        pytest.raises(OSError, match="No space left") as caught,
        scratch_folder(disk / "model") as scratch,
        open(scratch / "column", "wb") as stream,
    ):
        stream.write(np.arange(90_000))
    check_sentence(sentence(caught.value), [disk / "model", FULL])
    assert there(disk) == {"filler"}


COMMANDS = {
    "vocabulary": "corpus build_vocabulary --texts {text} --output {disk}/out",
    "tokenised": "corpus tokenise --text {text} --language en --output {disk}/out",
    "fetched": 'corpus fetch --mirror {folder} --output {disk}/out --side {{"path":"text.gz"}}',
}


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_say_a_sentence(disk: Path, tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "text.gz"
    text.write_bytes(gzip.compress("\n".join(words(9000)).encode()))
    arguments = COMMANDS[command].format(text=text, disk=disk, folder=tmp_path).split()
    fill(disk)
    assert main(arguments) == 1
    check_error(capsys.readouterr().err, [f"{disk}/out", FULL])
    assert there(disk) == {"filler"}
    free(disk)
    assert main(arguments) == 0
    assert there(disk) == {"out"}
    mount("-o", "remount,ro", str(disk))
    assert main(arguments) == 1
    check_error(capsys.readouterr().err, [f"{disk}/out", CLOSED])


def test_files_of_a_limited_size(tmp_path: Path) -> None:
    write_lines(tmp_path / "text", words(9000))
    done = subprocess.run(
        [sys.executable, "-m", "neural_smt", "corpus", "build_vocabulary", "--texts", "text", "--output", "v.tsv"],
        cwd=tmp_path,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (LEFT, LEFT)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    check_error(done.stderr, ["v.tsv", "File too large", "ulimit"])
    assert there(tmp_path) == {"text"}


def test_a_rule_on_a_full_disk_runs_again_when_there_is_room(repository: Path, tmp_path: Path, disk: Path) -> None:
    checkout = link_checkout(repository, tmp_path / "checkout")
    (checkout / "results" / "tiny").symlink_to(disk)
    target = "results/tiny/corpus/generated/train.en.gz"
    fill(disk)
    told = refused(checkout, target, "--configfile", TINY)
    check_named(told, ["results/tiny/corpus/generated", FULL])
    assert "Logging error" not in told
    assert not (checkout / target).exists()
    assert not [path for path in there(disk) if Path(path).name.startswith(".")]
    free(disk)
    run(checkout, target, "--configfile", TINY)
    assert (checkout / target).is_file()
