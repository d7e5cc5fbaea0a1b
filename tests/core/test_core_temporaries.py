"""What a process that was killed while it wrote leaves, and what becomes of it."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from neural_smt.io.files import atomic, write_lines
from neural_smt.io.temporaries import HOST, remove_folder, remove_leftovers, scratch_folder

KILLED = """
import os, signal, sys
from pathlib import Path
from neural_smt.io.files import atomic
with atomic(Path(sys.argv[1]), directory=sys.argv[2] == "True") as temporary:
    (temporary / "file" if temporary.is_dir() else temporary).write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""

# Killed by a timer of CPU time, which leaves a process as little to do as SIGKILL, on a busy machine too.
KILLED_AGAIN_AND_AGAIN = """
import itertools, os, random, signal, sys
from pathlib import Path
from neural_smt.io.files import atomic, read_json, write_json

def write(folder, first):
    for number in itertools.count(first):
        with atomic(folder / "folder", directory=True) as temporary:
            for name in "ab":
                write_json(temporary / name, number)
        write_json(folder / "file", number)

folder, chance, last, met = Path(sys.argv[1]), random.Random(1), 0, 0
for killed in range(20 * int(sys.argv[2])):
    if killed >= int(sys.argv[2]) and last > 60 and met > 10:
        break  # where writing takes longer, more are killed
    moment = chance.uniform(0.001, 0.03)
    child = os.fork()
    if not child:
        signal.setitimer(signal.ITIMER_PROF, moment)
        write(folder, last + 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGPROF
    met += len(list(folder.iterdir())) > 2
    assert len(list(folder.iterdir())) <= 5, "of one killed process at most"
    if (folder / "folder").exists():
        assert read_json(folder / "folder" / "a") == read_json(folder / "folder" / "b") >= last
    if (folder / "file").exists():
        assert read_json(folder / "file") >= last
        last = read_json(folder / "file")
print(last, met)
"""


def leave(path: Path, directory: bool) -> Path:
    """What a writer of ``path`` leaves that is killed."""
    done = subprocess.run([sys.executable, "-c", KILLED, path, str(directory)], check=False)
    assert done.returncode == -9
    shape = re.compile(rf"\.{HOST}-\d+\.\w{{8}}\.{re.escape(path.name)}")
    (left,) = (entry for entry in path.parent.iterdir() if shape.fullmatch(entry.name))
    return left


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


@pytest.mark.parametrize("directory", [False, True])
def test_the_next_writer_removes_what_a_killed_one_left(tmp_path: Path, directory: bool) -> None:
    path = tmp_path / "out.gz"
    left = leave(path, directory)
    assert left.name.startswith(f".{HOST}-") and not path.exists()
    with atomic(path, directory) as temporary:
        assert names(tmp_path) == [temporary.name]
    assert names(tmp_path) == ["out.gz"]


def test_only_what_is_left_of_this_very_file_is_removed(tmp_path: Path) -> None:
    (tmp_path / "x[1]").mkdir()
    kept = leave(tmp_path / "other.x[1]", False)  # its name ends like that of the file below
    others = [".x[1]", "..x[1]", ".hidden.x[1]", f".{HOST}-1.abcdefgh.x[1].gz", f".{HOST}-1.abcdefgh.x1"]
    others += [f".{HOST}-1.abcdefg.x[1]", f".{HOST}-x.abcdefgh.x[1]"]
    for name in others:
        (tmp_path / name).touch()
    left = leave(tmp_path / "x[1]", True)
    remove_leftovers(tmp_path / "x[1]", owned=True)
    assert not left.exists()
    assert names(tmp_path) == sorted(["x[1]", kept.name, *others])


def test_what_a_live_process_or_another_machine_writes_stays(tmp_path: Path) -> None:
    path, elsewhere = tmp_path / "out", tmp_path / ".00000000-1.abcdefgh.out"
    elsewhere.touch()
    with atomic(path) as temporary, scratch_folder(path) as scratch:
        write_lines(path, ["another process"])
        assert names(tmp_path) == sorted([temporary.name, scratch.name, elsewhere.name, "out"])
        remove_leftovers(path, owned=True)
        assert names(tmp_path) == ["out"]
        temporary.touch()
    assert names(tmp_path) == ["out"]


def test_whoever_owns_a_folder_clears_it_to_its_depth(tmp_path: Path) -> None:
    state = tmp_path / "state"
    (state / "epochs").mkdir(parents=True)
    leave(state / "epochs" / "3", True)
    (state / ".keep").touch()
    leave(state / "checkpoint", False)
    remove_leftovers(state, owned=True)
    assert names(state) == [".keep", "epochs"] and names(state / "epochs") == []


def test_a_folder_is_gone_by_its_name_before_it_is_emptied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    (folder / "a").touch()

    def killed(path: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("neural_smt.io.temporaries.shutil.rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            remove_folder(folder)
    (left,) = tmp_path.iterdir()
    assert left.name.endswith(".state") and names(left) == ["a"]
    remove_folder(folder)  # there is none: nothing happens
    assert left.exists(), "its process lives"
    left.rename(tmp_path / f".{HOST}-{dead()}.abcdefgh.state")
    remove_folder(folder)
    assert names(tmp_path) == []


def dead() -> int:
    """The number of a process that has ended."""
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


@pytest.fixture
def in_memory() -> Iterator[Path]:
    """A folder in memory where there is room for one: disks wait for what takes the place of another file."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder)


def test_whenever_a_process_is_killed_what_it_wrote_is_whole(in_memory: Path) -> None:
    command = [sys.executable, "-c", KILLED_AGAIN_AND_AGAIN, in_memory, "60"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    written, met = map(int, done.stdout.split())
    assert written > 60 and met > 10, "many were killed while they wrote"
    for name in ("folder", "file"):
        remove_leftovers(in_memory / name)
    assert set(names(in_memory)) <= {"folder", "file"}


def test_what_a_process_left_goes_before_its_parent_has_noticed_its_end(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", KILLED, tmp_path / "file", "False"]) as writer:
        # ended, and not waited for
        os.waitid(os.P_PID, writer.pid, os.WEXITED | os.WNOWAIT)
        assert len(list(tmp_path.iterdir())) == 1
        remove_leftovers(tmp_path / "file")
        assert not list(tmp_path.iterdir())
