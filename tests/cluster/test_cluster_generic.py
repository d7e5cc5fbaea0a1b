"""The profile of a scheduler that is told by commands: what it submits, how it learns of ends, and of failures."""

import json
import runpy
import shlex
import sys
from pathlib import Path

import pytest
import yaml
from checkouts import TINY, link_checkout, snakemake

FAKE = Path(__file__).parent / "fake_pbs.py"

PBS = yaml.safe_load(Path(__file__).with_name("pbs_states.yaml").read_text(encoding="utf-8"))

TEXT = "results/tiny/corpus/tokenised/news_dev.en"
"""Made by two jobs, one after the other."""


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, command: str, script: str) -> None:
    """Put a command on the path, before all others."""
    folder.mkdir(exist_ok=True)
    (folder / command).write_text(f"#!/bin/sh\n{script}\n")
    (folder / command).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


@pytest.mark.slow
def test_a_killed_job_is_submitted_again_with_more_memory(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("snakemake_executor_plugin_cluster_generic", reason="it is in envs/requirements.lock")
    for command in ("qsub", "qstat", "qdel"):
        call = shlex.join([sys.executable, str(FAKE), command])
        install(tmp_path / "bin", monkeypatch, command, f'exec {call} "$@"')
    (tmp_path / "jobs").mkdir()
    monkeypatch.setenv("FAKE_PBS", str(tmp_path / "jobs"))
    monkeypatch.setenv("FAKE_PBS_KILLS", "tokenise")
    submitted = link_checkout(repository, tmp_path / "submitted")
    options = ["--workflow-profile", "profiles/cluster-generic", "--latency-wait", "5"]
    done = snakemake(submitted, TEXT, "--configfile", TINY, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    jobs = [json.loads((tmp_path / "jobs" / str(number) / "request.json").read_text()) for number in (1, 2, 3)]
    alike = {"select": "1", "ngpus": "0"}
    tokenise = {"name": "tokenise", "ncpus": "1", "walltime": "7200"} | alike
    assert jobs == [
        {"name": "generate", "ncpus": "2", "killed": False, "mem": "2000mb", "walltime": "3600"} | alike,
        {"killed": True, "mem": "1000mb"} | tokenise,
        {"killed": False, "mem": "2000mb"} | tokenise,
    ]
    local = link_checkout(repository, tmp_path / "local")
    done = snakemake(local, TEXT, "--configfile", TINY, "--cores", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (submitted / TEXT).read_bytes() == (local / TEXT).read_bytes()


@pytest.mark.parametrize(("printed", "status", "expected"), PBS.values(), ids=PBS)
def test_what_pbs_says_of_a_job(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: dict, status: int, expected: str
) -> None:
    answer = json.dumps({"timestamp": 1, "Jobs": {"7.server": {"Job_Name": "tune"} | printed}})
    check = 'test "$*" = "-x -f -F json 7.server" || exit 2'
    install(tmp_path, monkeypatch, "qstat", f"{check}\necho {shlex.quote(answer)}\nexit {status}")
    status_script = runpy.run_path(str(repository / "profiles/cluster-generic/status.py"))
    assert status_script["job_status"]("7.server") == expected
