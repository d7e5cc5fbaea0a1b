"""An experiment on a real Slurm: the same results as without, resources as the rules state them, killed jobs and nodes.

``CLUSTER_EXPERIMENT`` names another experiment than the smallest one, ``CLUSTER_NODES`` says how many nodes there are.
"""

import contextlib
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest
import yaml
from checkouts import TINY, link_checkout, snakemake
from compared_results import differing_files
from slurm_daemons import Slurm, running_slurm

from neural_smt.io.files import read_lines

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

EXPERIMENT = os.environ.get("CLUSTER_EXPERIMENT") or TINY

NODES = int(os.environ.get("CLUSTER_NODES") or 1)

several_nodes = pytest.mark.skipif(NODES == 1, reason="needs several nodes: make test-cluster NODES=3")

REPEATABLE = {"alignment": {"aligner": "fast_align"}}
"""The other aligner draws other links in every run."""

LONGER = {"updates": 600, "validate_every": 100, "checkpoint_every": 50}
"""Training that can be killed in the middle."""

CHECKPOINT = "state/checkpoint.safetensors"

LIMIT = 4 * 3600
"""Seconds that a run of Snakemake, or something it is waited for, may take."""

SLURM_OPTIONS = [
    *("--workflow-profile", "profiles/slurm", "--slurm-partition-config", "profiles/slurm/partitions.yaml"),
    *("--set-resources", "train_network:gpu=1"),
    *("--slurm-status-command", "squeue", "--slurm-init-seconds-before-status-checks", "2"),
    *("--latency-wait", "10", "--jobs", str(max(2, NODES))),
]
"""The profile as it is, with its partitions, and a GPU that Slurm counts but that is not there for one network. This
cluster keeps no records of jobs; shorter waits are long enough here; two jobs at once keep two cores busy, and every
node has one."""


@pytest.fixture(scope="module")
def slurm() -> Iterator[Slurm]:
    with tempfile.TemporaryDirectory(prefix="slurm-") as folder, running_slurm(Path(folder), NODES) as cluster:
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


@pytest.fixture(scope="module")
def longer(settings: list[str], tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The arguments for an experiment in which training takes longer."""
    path = tmp_path_factory.mktemp("longer") / "longer.yaml"
    path.write_text(yaml.safe_dump({"networks": {"encoder_decoder": LONGER}}))
    return [*settings, str(path)]


@pytest.fixture(scope="module")
def trained(local: Path, longer: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkout in which the network of that has been trained, and scored with, without a cluster."""
    checkout = copy_untrained(local, tmp_path_factory.mktemp("trained") / "checkout")
    done = snakemake(checkout, "rescoring", *longer, "--cores", "2")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
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
    (folder,) = (path for path in (checkout / "results").iterdir() if path.is_dir())
    return folder


def submitted_jobs(slurm: Slurm, checkout: Path, rule: str = "") -> list[dict[str, str]]:
    """Every job of a checkout that the cluster has seen, as ``scontrol`` knows it, with the rule (or the group) it was
    submitted for; or those of one rule.
    """
    lines = slurm.ask("scontrol", "show", "job", "-o").splitlines()
    jobs = [dict(re.findall(r"(\S+?)=(\S*)", line)) for line in lines if f"WorkDir={checkout} " in line]
    jobs = [job | {"rule": submitted_for(job["Comment"])} for job in jobs]
    return [job for job in jobs if rule in ("", job["rule"])]


def submitted_for(comment: str) -> str:
    """The rule in a job's comment, before its wildcards, or the group, whose name has no ``_``, before its rules."""
    name, wildcards, _ = comment.removeprefix("rule_").partition("_wildcards_")
    return name if wildcards else name.partition("_")[0]


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
    jobs = submitted_jobs(slurm, submitted)
    assert {job["JobState"] for job in jobs} == {"COMPLETED"}
    columns = ("Partition", "TimeLimit", "NumCPUs", "MinMemoryNode", "TresPerJob")
    asked = {job["rule"]: tuple(job.get(name) for name in columns) for job in jobs}
    assert asked["generate"] == ("batch", "01:00:00", "2", "2000M", None)
    assert asked["tune"] == ("batch", "1-00:00:00", "8", "4000M", None)
    assert asked["train_network"] == ("gpu", "3-00:00:00", "2", "8000M", "gres:gpu:1")
    here = {"plot_scores", "plot_tuning", "summarise_benchmarks", "show_translations"}
    assert not here & asked.keys(), "small tables need no job"


def test_short_jobs_are_submitted_together(slurm: Slurm, submitted: Path) -> None:
    """What translates and evaluates a set is one submission, with the resources of its largest job and all their time;
    texts are tokenised eight at a time.
    """
    jobs = submitted_jobs(slurm, submitted)
    submissions = Counter(job["rule"] for job in jobs)
    assert not {"tokenise", "decode", "evaluate"} & submissions.keys()
    texts = len(list(results(submitted).glob("corpus/tokenised/*")))
    assert submissions["text"] == math.ceil(texts / 8)
    assert submissions["translation"] == len(list(results(submitted).glob("evaluation/*/run*/*.json")))
    columns = ("TimeLimit", "NumNodes", "NumCPUs", "MinMemoryNode")
    asked = {job["rule"]: tuple(job[name] for name in columns) for job in jobs}
    assert asked["translation"] == ("13:00:00", "1", "8", "4000M")
    assert [asked["text"][column] for column in (1, 2, 3)] == ["1", "1", "1000M"]


@several_nodes
def test_jobs_are_spread_over_the_nodes(slurm: Slurm, submitted: Path) -> None:
    assert {job["NodeList"] for job in submitted_jobs(slurm, submitted)} == set(slurm.nodes)


def test_a_job_with_too_little_memory_gets_more(
    slurm: Slurm, settings: list[str], local: Path, submitted: Path, tmp_path: Path
) -> None:
    """Slurm kills a job that holds more than it asked for; Snakemake submits it again, each time with twice as much."""
    (table,) = results(local).glob("benchmarks/training/train_network*.tsv")
    needed = float(pd.read_csv(table, sep="\t")["max_rss"].iloc[0])
    too_little = int(needed * 0.75)
    path = tmp_path / "memory.yaml"
    path.write_text(yaml.safe_dump({"memory": {"train_network": too_little}}))
    checkout = copy_untrained(local, tmp_path / "checkout")
    with submit(slurm, checkout, "rescoring", *settings, str(path)) as run:
        assert run.wait(LIMIT) == 0, printed(checkout)
    first, *others, last = submitted_jobs(slurm, checkout, "train_network")
    assert (first["MinMemoryNode"], first["JobState"]) == (f"{too_little}M", "FAILED")
    assert "exceeded memory limit" in log_of(first)
    assert last["JobState"] == "COMPLETED"
    assert last["MinMemoryNode"] == f"{too_little * 2 ** (1 + len(others))}M"
    network = Path("training/encoder_decoder/model")
    assert differing_files(results(submitted) / network, results(checkout) / network) == []


@pytest.mark.usefixtures("interruptible")
def test_a_killed_job_goes_on(slurm: Slurm, longer: list[str], local: Path, trained: Path, tmp_path: Path) -> None:
    """Its processes are killed, and Snakemake submits it again; then Snakemake itself is stopped and called again."""
    checkout = copy_untrained(local, tmp_path / "killed")
    network = results(checkout) / "training" / "encoder_decoder"
    state = network / CHECKPOINT

    def training() -> list[str]:
        return [line.split()[0] for line in slurm.jobs("--format=%i %k") if "train_network" in line]

    with submit(slurm, checkout, "rescoring", *longer) as run:
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
    with submit(slurm, checkout, "rescoring", *longer) as run:
        assert run.wait(LIMIT) == 0, printed(checkout)
    memory = {job["JobId"]: job["MinMemoryNode"] for job in submitted_jobs(slurm, checkout)}
    assert (memory[first], memory[second]) == ("8000M", "16000M")
    assert went_on(checkout)
    assert differing_files(results(trained), results(checkout)) == []


@several_nodes
def test_a_job_goes_on_elsewhere_when_its_node_dies(
    slurm: Slurm, longer: list[str], local: Path, trained: Path, tmp_path: Path
) -> None:
    """The node is gone with all its processes and temporary files, and does not come back: this is the last test."""
    checkout = copy_untrained(local, tmp_path / "left")
    state = results(checkout) / "training" / "encoder_decoder" / CHECKPOINT
    with submit(slurm, checkout, "rescoring", *longer) as run:
        await_that(state.exists, run, checkout)
        (before,) = submitted_jobs(slurm, checkout, "train_network")
        slurm.nodes[before["NodeList"]].kill()
        assert run.wait(LIMIT) == 0, printed(checkout)
    (after,) = submitted_jobs(slurm, checkout, "train_network")
    assert (after["JobId"], after["JobState"], after["Restarts"]) == (before["JobId"], "COMPLETED", "1")
    assert after["NodeList"] != before["NodeList"]
    assert after["MinMemoryNode"] == before["MinMemoryNode"], "memory was not the reason"
    assert went_on(checkout)
    assert differing_files(results(trained), results(checkout)) == []


def went_on(checkout: Path) -> bool:
    """Whether training has begun where an earlier job had stopped."""
    (log,) = results(checkout).glob("logs/train_network*.log")
    return any("going on after update" in line for line in read_lines(log))


def log_of(job: dict[str, str]) -> str:
    """What a job has printed."""
    return Path(job["StdOut"]).read_text(encoding="utf-8", errors="replace")


def copy_untrained(checkout: Path, folder: Path) -> Path:
    """A checkout with its results up to the network, to go on with."""
    shutil.copytree(checkout, folder, symlinks=True)
    for stage in ("training", "rescoring", "tuning", "decoding", "evaluation", "report"):
        shutil.rmtree(results(folder) / stage)
    return folder
