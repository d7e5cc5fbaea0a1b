"""Runs that are killed: their jobs end, and the next run finds nothing in its way."""

import json
import os
import subprocess
import sys
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from neural_smt.io.temporaries import HOST
from neural_smt.workflow import run_lock as running

RUN = """
import subprocess, sys
from neural_smt.workflow.run_lock import begin_run
begin_run(sys.argv[1].removesuffix(" elsewhere"), not sys.argv[1].endswith(" elsewhere"))
if len(sys.argv) > 2:
    job = subprocess.Popen([sys.executable, "-c", sys.argv[2]], stdout=subprocess.PIPE)
    job.stdout.readline()
    print(job.pid, flush=True)
else:
    print("alone", flush=True)
sys.stdin.read()
"""

JOB = """
import subprocess, sys, time
from neural_smt.workflow.run_lock import end_with_run
end_with_run()
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"])
print("ready", flush=True)
time.sleep(100)
"""

PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
sys.stdin.read()
"""

CHILD = """
import time
from neural_smt.workflow.run_lock import end_with_parent
end_with_parent({})
print("ready", flush=True)
time.sleep(100)
"""

Started = tuple[subprocess.Popen[str], str]


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., Started]:
    """Start a Python program in the folder; gives it and the first line that it prints."""

    def started(*arguments: str) -> Started:
        process = subprocess.Popen(
            [sys.executable, "-c", *arguments], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout
        return process, process.stdout.readline().strip()

    return started


def lock(folder: Path, name: str, *files: str) -> Path:
    """A lock as Snakemake writes it."""
    path = folder / ".snakemake" / "locks" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{file}\n" for file in files))
    return path


def await_end(*processes: psutil.Process) -> None:
    gone, alive = psutil.wait_procs(processes, timeout=60)
    assert not alive, gone


def test_jobs_of_a_killed_run_end_with_all_that_they_started(start: Callable[..., Started], tmp_path: Path) -> None:
    run, job = start(RUN, "tiny", JOB)
    family = [psutil.Process(int(job)), *psutil.Process(int(job)).children()]
    assert len(family) == 2
    input_lock = lock(tmp_path, "0.input.lock", "text", "results/tiny/corpus/train.en")
    other = lock(tmp_path, "1.output.lock", "results/news/corpus/train.en")
    script = tmp_path / ".snakemake" / "scripts" / "tmp1a_b2c3.corpus.py"
    script.parent.mkdir()
    script.touch()
    run.kill()
    run.wait()
    await_end(*family)
    again, _ = start(RUN, "tiny")
    assert not input_lock.exists() and not script.exists() and other.exists()
    assert [path.name for path in (tmp_path / ".snakemake/runs").glob("*.run")] == [f"{HOST}-{again.pid}.run"]
    again.communicate()
    assert list((tmp_path / ".snakemake/runs").glob("*.run")) == []


def test_the_next_run_waits_for_jobs_that_still_end(start: Callable[..., Started], tmp_path: Path) -> None:
    run, job = start(RUN, "tiny", JOB)
    process = psutil.Process(int(job))
    process.suspend()
    while process.status() != psutil.STATUS_STOPPED:  # until then its thread may see the run end
        time.sleep(0.01)
    run.kill()
    run.wait()
    again = subprocess.Popen([sys.executable, "-c", RUN, "tiny"], cwd=tmp_path, stdin=subprocess.DEVNULL)
    with pytest.raises(subprocess.TimeoutExpired):
        again.wait(3)
    process.resume()
    assert again.wait(60) == 0
    assert not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


@pytest.mark.parametrize(("other", "killed"), [("tiny", 0), ("tiny elsewhere", 0), ("tiny elsewhere", 1)])
def test_locks_of_what_may_live_stay(start: Callable[..., Started], tmp_path: Path, other: str, killed: int) -> None:
    runs = [start(RUN, name)[0] for name in ("tiny", other)]
    dead = runs.pop(killed)
    dead.kill()
    dead.wait()
    held = lock(tmp_path, "0.output.lock", "results/tiny/corpus/train.en")
    runs.append(start(RUN, "tiny")[0])
    assert held.exists()
    for run in reversed(runs):
        run.communicate()
    assert held.exists(), "nothing tells that a run was killed"


def test_a_job_without_its_run_ends_at_once(tmp_path: Path) -> None:
    program = "from neural_smt.workflow.run_lock import end_with_run; end_with_run(); print('works')"
    for value, status, output in (({}, 0, "works\n"), ({running.VARIABLE: str(tmp_path / "gone.run")}, -9, "")):
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, env=os.environ | value, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (status, output), done.stderr


def record(kind: str, name: str, content: object) -> Path:
    """Something that Snakemake knows of a file; its name is cut where a folder takes no longer ones."""
    encoded = urlsafe_b64encode(name.encode()).decode()
    path = Path(".snakemake", kind, *(["@" + encoded[:254], encoded[254:]] if len(encoded) > 254 else [encoded]))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_what_jobs_were_to_make_again_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert running.lost_outputs("tiny") == []
    # an intermediate file that was thrown away, and one that a job failed to make again after it was used
    thrown, failed, killed = (f"results/tiny/{name}" for name in ("thrown", "failed", "killed" * 40))
    for name, begun in ((thrown, 10.0), (failed, 30.0), (killed, 10.0), ("results/tiny", 40.0), ("results/b/a", 30.0)):
        record("metadata", name, {"starttime": begun, "input": ["text"]})
    record("metadata", "results/tiny/used", {"starttime": 20.0, "input": [thrown, failed, killed, "results/b/a"]})
    record("metadata", "results/tiny/torn", {}).write_text("{")
    assert running.lost_outputs("tiny") == [failed]
    os.utime(record("incomplete", killed, {}), (50.0, 50.0))
    assert running.lost_outputs("tiny") == [failed, killed] and running.lost_outputs("b") == ["results/b/a"]
    # it is there, or was there when it was used again
    (tmp_path / "results/tiny").mkdir(parents=True)
    (tmp_path / failed).touch()
    record("metadata", "results/tiny/used again", {"starttime": 60.0, "input": [killed]})
    assert running.lost_outputs("tiny") == []


def test_a_process_ends_with_its_parent(start: Callable[..., Started]) -> None:
    parent, child = start(PARENT, CHILD.format(""))
    process = psutil.Process(int(child))
    time.sleep(1)
    assert process.is_running()
    parent.kill()
    await_end(process)


def test_a_process_whose_parent_has_ended_already_ends_too() -> None:
    assert subprocess.run([sys.executable, "-c", CHILD.format(1)], check=False, timeout=60).returncode == -9


def test_without_locks_of_files_nothing_is_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no locks here")

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(running.VARIABLE, raising=False)
    monkeypatch.setattr("neural_smt.workflow.run_lock.fcntl.flock", refuse)
    running.begin_run("tiny")
    assert running.VARIABLE not in os.environ
