"""An experiment on a real Slurm: the same results as without, resources as the rules state them, and killed jobs.

``CLUSTER_EXPERIMENT`` names another experiment than the smallest one.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from checkouts import TINY, link_checkout, snakemake
from compared_results import differing_files
from slurm_daemons import Slurm, running_slurm

from neural_smt.io.files import read_lines

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

EXPERIMENT = os.environ.get("CLUSTER_EXPERIMENT") or TINY

REPEATABLE = {"alignment": {"aligner": "fast_align"}}
"""The other aligner draws other links in every run."""

LONGER = {"updates": 600, "validate_every": 100, "checkpoint_every": 50}
"""Training that can be killed in the middle."""

LIMIT = 4 * 3600
"""Seconds that a run of Snakemake, or something it is waited for, may take."""

SLURM_OPTIONS = [
    *("--workflow-profile", "profiles/slurm", "--slurm-partition-config", "profiles/slurm/partitions.yaml"),
    *("--set-resources", "train_network:gpu=1"),
    *("--slurm-status-command", "squeue", "--slurm-init-seconds-before-status-checks", "2"),
    *("--latency-wait", "10", "--jobs", "2"),
]
"""The profile as it is, with its partitions, and a GPU that Slurm counts but that is not there for one network. This
cluster keeps no records of jobs; shorter waits are long enough here; two jobs at once keep two cores busy."""


@pytest.fixture(scope="module")
def slurm() -> Iterator[Slurm]:
    with tempfile.TemporaryDirectory(prefix="slurm-") as folder, running_slurm(Path(folder)) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def settings(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The arguments that choose the experiment."""
    path = tmp_path_factory.mktemp("settings") / "repeatable.yaml"
    path.write_text(yaml.safe_dump(REPEATABLE))
    return ["--configfile", EXPERIMENT, str(path)]


@pytest.fixture(scope="module")
def local(repository: Path, settings: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkout in which the experiment has run without a cluster."""
    checkout = link_checkout(repository, tmp_path_factory.mktemp("local"))
    done = snakemake(checkout, *settings, "--cores", "2")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return checkout


@pytest.fixture(scope="module")
def submitted(repository: Path, settings: list[str], slurm: Slurm, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkout in which it has run on the cluster."""
    checkout = link_checkout(repository, tmp_path_factory.mktemp("submitted"))
    with submit(slurm, checkout, *settings) as run:
        assert run.wait(LIMIT) == 0, printed(checkout)
    return checkout


@contextlib.contextmanager
def submit(slurm: Slurm, checkout: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Snakemake with the cluster in a checkout, stopped with the block; what it prints goes to a file there."""
    with (checkout / "printed").open("wb") as output:
        run = subprocess.Popen(
            [sys.executable, "-m", "snakemake", *arguments, *SLURM_OPTIONS],
            cwd=checkout,
            env={**slurm.environment, "PYTHONPATH": str(checkout / "pkg"), "COLUMNS": "200"},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield run
    finally:
        if run.poll() is None:
            run.kill()
            run.wait()


def printed(checkout: Path) -> str:
    """The end of what Snakemake has printed."""
    return (checkout / "printed").read_text()[-8000:]


def results(checkout: Path) -> Path:
    """The results of the one experiment."""
    (folder,) = (checkout / "results").iterdir()
    return folder


def finished_jobs(slurm: Slurm) -> list[dict[str, str]]:
    """Every job that the cluster has seen, as ``scontrol`` knows it, with the rule it was submitted for."""
    lines = slurm.ask("scontrol", "show", "job", "-o").splitlines()
    jobs = [dict(re.findall(r"(\S+?)=(\S*)", line)) for line in lines if line.startswith("JobId=")]
    return [job | {"rule": re.sub("^rule_|_wildcards_.*", "", job["Comment"])} for job in jobs]


def await_that(holds: Callable[[], object], run: subprocess.Popen[bytes], checkout: Path) -> None:
    """Wait until something holds, while Snakemake runs."""
    limit = time.monotonic() + LIMIT
    while not holds():
        assert run.poll() is None, printed(checkout)
        assert time.monotonic() < limit, printed(checkout)
        time.sleep(0.1)


def test_results_are_those_of_a_local_run(local: Path, submitted: Path) -> None:
    assert differing_files(results(local), results(submitted)) == []


def test_jobs_get_what_their_rules_ask_for(slurm: Slurm, submitted: Path) -> None:
    jobs = finished_jobs(slurm)
    assert {job["JobState"] for job in jobs} == {"COMPLETED"}
    columns = ("Partition", "TimeLimit", "NumCPUs", "MinMemoryNode", "TresPerJob")
    asked = {job["rule"]: tuple(job.get(name) for name in columns) for job in jobs}
    assert asked["generate"] == ("batch", "01:00:00", "1", "2000M", None)
    assert asked["tune"] == ("batch", "1-00:00:00", "8", "4000M", None)
    assert asked["train_network"] == ("gpu", "3-00:00:00", "2", "8000M", "gres:gpu:1")
    here = {"write_table", "plot_scores", "plot_tuning", "summarise_benchmarks", "show_translations"}
    assert not here & asked.keys(), "small tables need no job"
    assert "evaluate" not in asked, "scores are computed by the job that translates"


@pytest.mark.usefixtures("interruptible")
def test_a_killed_job_goes_on(slurm: Slurm, settings: list[str], local: Path, tmp_path: Path) -> None:
    """Its processes are killed, and Snakemake submits it again; then Snakemake itself is stopped and called again."""
    (tmp_path / "longer.yaml").write_text(yaml.safe_dump({"networks": {"encoder_decoder": LONGER}}))
    settings = [*settings, str(tmp_path / "longer.yaml")]
    alone, checkout = (copy_untrained(local, tmp_path / name) for name in ("alone", "killed"))
    done = snakemake(alone, "rescoring", *settings, "--cores", "2")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    network = results(checkout) / "training" / "encoder_decoder"
    state = network / "state" / "checkpoint.safetensors"

    def training() -> list[str]:
        return [line.split()[0] for line in slurm.jobs("--format=%i %k") if "train_network" in line]

    with submit(slurm, checkout, "rescoring", *settings) as run:
        await_that(state.exists, run, checkout)
        (first,) = training()
        slurm.ask("scancel", "--signal=KILL", "--full", first)
        await_that(lambda: training() not in ([], [first]), run, checkout)
        (second,) = training()
        killed_at = state.stat().st_mtime_ns
        await_that(lambda: state.stat().st_mtime_ns > killed_at, run, checkout)
        run.send_signal(signal.SIGINT)
        assert run.wait(LIMIT) != 0
    limit = time.monotonic() + 60
    while slurm.jobs():
        assert time.monotonic() < limit, "Snakemake cancels its jobs when it is stopped"
        time.sleep(0.5)
    assert not (network / "model").exists()
    with submit(slurm, checkout, "rescoring", *settings) as run:
        assert run.wait(LIMIT) == 0, printed(checkout)
    memory = {job["JobId"]: job["MinMemoryNode"] for job in finished_jobs(slurm)}
    assert (memory[first], memory[second]) == ("8000M", "16000M")
    (log,) = results(checkout).glob("logs/train_network*.log")
    assert any("going on after update" in line for line in read_lines(log))
    assert differing_files(results(alone), results(checkout)) == []


def copy_untrained(checkout: Path, folder: Path) -> Path:
    """A checkout with its results up to the network, to go on with."""
    shutil.copytree(checkout, folder, symlinks=True)
    for stage in ("training", "rescoring", "tuning", "decoding", "evaluation", "report"):
        shutil.rmtree(results(folder) / stage)
    return folder
