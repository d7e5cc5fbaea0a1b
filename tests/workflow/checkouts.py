"""A checkout to run Snakemake in, as a user does."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

TINY = "experiments/tiny.yaml"
"""The smallest experiment, every stage for real."""


def copy_checkout(repository: Path, folder: Path) -> Path:
    """A copy of the tracked files, to run in and to edit."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=repository, capture_output=True, check=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        if (repository / name).is_file():
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


def snakemake(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Snakemake in a checkout with the package of that checkout."""
    environment = {**os.environ, "PYTHONPATH": str(folder / "pkg"), "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, "-m", "snakemake", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def translated(folder: Path, configuration: Sequence[str], systems: Iterable[str]) -> list[str]:
    """What ``translate_systems.py`` says of systems of the tiny experiment, one line for each."""
    text, pattern = "results/tiny/corpus/generated/test.en.gz", "results/tiny/evaluation/{}/run1/news_test.txt"
    script = Path(__file__).with_name("translate_systems.py")
    done = subprocess.run(
        [sys.executable, str(script), text, pattern, *configuration, "--", *systems],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "pkg")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout.splitlines()


def planned(folder: Path, *arguments: str) -> set[str]:
    """Names of the rules a dry run would execute."""
    done = snakemake(folder, *arguments, "-n", "--quiet", "host", "--cores", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    return {
        line.split()[1].rstrip(":") for line in done.stdout.splitlines() if line.startswith(("rule ", "localrule "))
    }


def retrained(folder: Path, *arguments: str) -> set[str]:
    """Names of the networks that a dry run would train."""
    done = snakemake(folder, "training", *arguments, "-n", "--cores", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    jobs = re.split(r"^(?:local)?rule ", done.stdout + done.stderr, flags=re.MULTILINE)
    found = [re.search(r"wildcards: .*network=(\w+)", job) for job in jobs if job.startswith("train_network:")]
    return {job[1] for job in found if job}
