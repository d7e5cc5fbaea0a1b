"""Runs of Snakemake in a folder: which are alive, and stopping the jobs of one that is killed.

A run holds the lock of a file as long as it lives; the system releases it however the run ends. Its jobs wait for that
and stop too. They share the lock of a second file, for which the next run of the experiment waits; then it removes the
stale locks of Snakemake, which would believe that the killed run is still at work. It also makes what killed jobs were
to make again: Snakemake would do without, as long as there are results that an older one led to.
"""

import atexit
import fcntl
import json
import os
import signal
import threading
import time
from base64 import urlsafe_b64decode
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

import psutil

from neural_smt.io.temporaries import HOST

FOLDER = Path(".snakemake")
"""Where Snakemake keeps its own, below the folder it runs in."""

VARIABLE = "NEURAL_SMT_RUN"
"""The environment variable that tells jobs of the file of their run."""

PATIENCE = 60
"""Seconds for the jobs of a killed run to end."""

JOBS = ".jobs"
"""What the file whose lock jobs share ends in, in place of that of their run."""

_held: list[IO[str]] = []
"""The files whose locks this process holds until it ends."""


def begin_run(experiment: str, local: bool = True) -> None:
    """Say that this process runs an experiment here, and end what killed runs have left; local: its jobs run here too.

    Jobs elsewhere do not end with their run, so it is for the user to take its locks away. On file systems without
    locks nothing happens.
    """
    folder = FOLDER / "runs"
    folder.mkdir(parents=True, exist_ok=True)
    with suppress(OSError), (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one process at a time; an error where the file system has no locks
        if local:
            _end_dead_runs(folder, experiment)
        path = folder.resolve() / f"{HOST}-{os.getpid()}.run"
        stream = path.open("w", encoding="utf-8")
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        stream.write(experiment)
        stream.flush()
        _held.append(stream)
        atexit.register(_remove, path)
        if local:
            path.with_suffix(JOBS).touch()
            os.environ[VARIABLE] = str(path)


def lost_outputs(experiment: str) -> list[str]:
    """Outputs of an experiment that are gone, for a job that was to make them again was stopped or failed, and that
    nothing was made from since. Snakemake's own records tell.
    """
    records = {}
    for path, name in _recorded("metadata"):
        with suppress(ValueError):
            records[name] = json.loads(path.read_text(encoding="utf-8"))
    begun = {name: record["starttime"] or 0.0 for name, record in records.items()}
    begun |= {name: path.stat().st_mtime for path, name in _recorded("incomplete")}
    used: dict[str, float] = {}
    for name, record in records.items():
        used |= {text: max(begun[name], used.get(text, 0.0)) for text in record["input"]}
    own = (name for name in used if name.startswith(f"results/{experiment}/") and begun.get(name, 0.0) > used[name])
    return sorted(name for name in own if not Path(name).exists())


def _recorded(kind: str) -> Iterator[tuple[Path, str]]:
    """The records of a kind, each with the file that it is of."""
    for path in (FOLDER / kind).rglob("*"):
        if path.is_file():
            parts = path.relative_to(FOLDER / kind).parts
            yield path, urlsafe_b64decode("".join(part.removeprefix("@") for part in parts)).decode()


def end_with_run() -> None:
    """Let this process, with all that it has started, end as soon as its run does; nothing without a run."""
    if VARIABLE not in os.environ:
        return
    path = Path(os.environ[VARIABLE])
    try:
        run, jobs = path.open(encoding="utf-8"), path.with_suffix(JOBS).open(encoding="utf-8")
    except FileNotFoundError:
        end_family()
    else:
        threading.Thread(target=_await_end, args=(run,), daemon=True).start()
        fcntl.flock(jobs, fcntl.LOCK_SH)
        _held.append(jobs)


def end_with_parent(parent: int | None = None) -> None:
    """Let this process, with all that it has started, end soon after the one that started it (of the id ``parent``, if
    that may have ended already).
    """
    threading.Thread(target=_watch_parent, args=(parent or os.getppid(),), daemon=True).start()


def end_family() -> None:
    """Kill this process and all that it has started."""
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            child.kill()
    os.kill(os.getpid(), signal.SIGKILL)


def _await_end(stream: IO[str]) -> None:
    with suppress(OSError):
        fcntl.flock(stream, fcntl.LOCK_SH)
        end_family()


def _watch_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    end_family()


def _end_dead_runs(folder: Path, experiment: str) -> None:
    """Wait for the jobs of killed runs; remove their locks and scripts, unless a live run may own them."""
    dead: set[str] = set()
    alive: set[str] = set()
    for path in sorted(folder.glob("*.run")):
        with suppress(FileNotFoundError), path.open(encoding="utf-8") as run:  # one may end just now
            name = run.read()
            if not _is_free(run, fcntl.LOCK_SH):  # shared, for its jobs wait for it too
                alive.add(name)
                continue
            if path.with_suffix(JOBS).exists():
                _await_jobs(path.with_suffix(JOBS))
                dead.add(name)
            _remove(path)
    if experiment in dead - alive:
        for path in (FOLDER / "locks").glob("*.lock"):
            if f"results/{experiment}/" in path.read_text(encoding="utf-8"):
                path.unlink()
    if dead and not alive:
        for path in (FOLDER / "scripts").glob("tmp*"):
            path.unlink()


def _await_jobs(path: Path) -> None:
    limit = time.monotonic() + PATIENCE
    with path.open(encoding="utf-8") as jobs:
        while not _is_free(jobs, fcntl.LOCK_EX) and time.monotonic() < limit:
            time.sleep(0.1)


def _remove(path: Path) -> None:
    for name in (path, path.with_suffix(JOBS)):
        name.unlink(missing_ok=True)


def _is_free(stream: IO[str], lock: int) -> bool:
    """Whether the file's lock is to be had, which it is then until the file is closed."""
    try:
        fcntl.flock(stream, lock | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
