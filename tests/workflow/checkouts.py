"""A checkout to run Snakemake in, as a user does."""

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import pytest
import yaml
from snakemake.cli import main

TINY = "experiments/tiny.yaml"
"""The smallest experiment, every stage for real."""


def tracked(repository: Path) -> list[str]:
    """The tracked files of a checkout."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=repository, capture_output=True, check=True).stdout
    return [name for name in listed.decode().split("\0") if (repository / name).is_file()]


def copy_checkout(repository: Path, folder: Path) -> Path:
    """A copy of the tracked files, to run in and to edit."""
    for name in tracked(repository):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(repository / name, folder / name)
    return folder


def link_checkout(repository: Path, folder: Path) -> Path:
    """As `copy_checkout`, but the package stays where it is compiled."""
    copy_checkout(repository, folder)
    for name in ("pkg", "workflow_scripts"):
        shutil.rmtree(folder / name)
        (folder / name).symlink_to(repository / name)
    return folder


def copy_results(checkout: Path, folder: Path) -> Path:
    """A copy of a checkout and of what has run in it, to go on with; the package stays where it is compiled."""
    compiled = ("pkg", "workflow_scripts")
    shutil.copytree(checkout, folder, ignore=lambda place, _: compiled if Path(place) == checkout else ())
    for name in compiled:
        (folder / name).symlink_to(checkout / name)
    return folder


def own_package(checkout: Path) -> Path:
    """The package of a checkout, which it shares no longer, so that it can be edited."""
    for link in (checkout / "pkg", checkout / "workflow_scripts"):
        if link.is_symlink():
            original = link.resolve()
            link.unlink()
            shutil.copytree(original, link)
    return checkout / "pkg" / "neural_smt"


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a checkout with the package of that checkout."""
    environment = {**os.environ, "PYTHONPATH": str(folder / "pkg"), "COLUMNS": "200"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def snakemake(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Snakemake in a checkout."""
    return python(folder, "-m", "snakemake", *arguments)


def run(folder: Path, *arguments: str) -> str:
    """What Snakemake prints while it does, with two cores, what it is told to."""
    done = snakemake(folder, *arguments, "--cores", "2")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout + done.stderr


def refused(folder: Path, *arguments: str) -> str:
    """What it prints where it must stop, with a sentence and not with a traceback."""
    done = snakemake(folder, *arguments, "--cores", "2")
    printed = done.stdout + done.stderr
    assert done.returncode != 0
    assert "Traceback" not in printed
    return printed


def translated(folder: Path, configuration: Sequence[str], systems: Iterable[str]) -> list[str]:
    """What ``translate_systems.py`` says of systems of the tiny experiment, one line for each."""
    text, pattern = "results/tiny/corpus/generated/test.en.gz", "results/tiny/evaluation/{}/run1/news_test.txt"
    script = Path(__file__).with_name("translate_systems.py")
    done = python(folder, str(script), text, pattern, *configuration, "--", *systems)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout.splitlines()


class DryRun(NamedTuple):
    """jobs: rule -> how many of its jobs would run; networks, systems: those that would be trained, and evaluated."""

    jobs: Counter[str]
    networks: set[str]
    systems: set[str]


def dry_run(folder: Path, *arguments: str) -> DryRun:
    """What Snakemake would run, with the package of this process."""
    status, printed = plan(folder, *arguments)
    assert status == 0, printed[-4000:]
    return read_plan(printed)


def plan(folder: Path, *arguments: str) -> tuple[int, str]:
    """Exit status of a dry run in this process, which has Snakemake and PyTorch loaded, and what it prints."""
    printed = io.StringIO()
    with (
        mock.patch.dict(os.environ, COLUMNS="200"),
        mock.patch.object(sys, "path", [*sys.path]),
        contextlib.chdir(folder),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
        pytest.raises(SystemExit) as ended,
    ):
        main([*arguments, "-n", "--cores", "2"])
    return ended.value.code, printed.getvalue()


def read_plan(printed: str) -> DryRun:
    """The jobs that a dry run prints."""
    jobs = re.split(r"^(?:local)?rule (?=\w+:$)", printed, flags=re.MULTILINE)[1:]
    rules = [job.partition(":")[0] for job in jobs]
    wildcards = [dict(re.findall(r"(\w+)=(\w+)", "".join(re.findall("wildcards: .*", job)))) for job in jobs]
    networks, systems = (
        {of[name] for rule, of in zip(rules, wildcards, strict=True) if rule == wanted}
        for wanted, name in (("train_network", "network"), ("evaluate", "system"))
    )
    return DryRun(Counter(rules), networks, systems)


def planned(folder: Path, *arguments: str) -> set[str]:
    """Names of the rules that a dry run would execute."""
    return set(dry_run(folder, *arguments).jobs)


def write_rows(folder: Path, rows: Mapping[str, Any]) -> str:
    """A further configuration file."""
    (folder / "rows.yaml").write_text(yaml.safe_dump(dict(rows)), encoding="utf-8")
    return str(folder / "rows.yaml")
