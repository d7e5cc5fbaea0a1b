"""Runs of the workflow in which something is killed, and the same command given again until it is done."""

import contextlib
import itertools
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from kill_plans import Kill, Victim

from neural_smt import STAGES
from neural_smt.io.arrays import read_meta

LIMIT = 3600
"""Seconds that one run of Snakemake may take."""

PATIENCE = 60
"""Seconds after which nothing may be left of a run whose Snakemake was killed."""

RUNS = 50
"""How often the command is given at most."""

PAUSE = 0.02
"""Seconds between two looks at the jobs."""

ROUND = 8
"""Looks after which there may be new jobs; to find them takes longer."""


GOING_ON = re.compile(r"going on after (?:update|iteration) (\d+)")

STEP = re.compile(r": (?:update \d+ of|iteration \d+:)")
"""What a job logs of its work, once it has got so far."""


@dataclass
class Job:
    """A job that runs: name: that of its log file, which no other job has; seconds: of CPU time, so far."""

    process: psutil.Process
    stage: str
    name: str
    number: int
    seconds: float = 0.0

    def look(self) -> bool:
        """Whether it still runs; brings ``seconds`` up to date."""
        with contextlib.suppress(psutil.Error):
            times = self.process.cpu_times()
            self.seconds = max(self.seconds, sum(times[:4]))
            return self.process.status() != psutil.STATUS_ZOMBIE
        return False


@dataclass
class Killed:
    """What was killed.

    state: what the job had kept by then, in the words of the log of one that goes on; continued: from where the next
    one went on, 0 for the beginning, None where there was none.
    """

    job: str
    state: int | None
    log: Path
    continued: int | None = None

    def look(self) -> None:
        """Read what the next job told before a later one writes its own log."""
        text = self.log.read_text(encoding="utf-8") if self.log.is_file() else ""
        if self.continued is None and (STEP.search(text) or GOING_ON.search(text)):
            self.continued = max(map(int, GOING_ON.findall(text)), default=0)


@dataclass
class Workflow:
    """An experiment in a checkout, started by the same command as often as it takes.

    kills: those that are still to come, by stage; following: further ones of a stage; seconds: CPU time of every
    job that ended by itself, by its name; orders: which jobs of a stage started, in order; killed, told: what was done;
    groups: the processes of runs of which something may be left; alone: whether the jobs of the last run lost their
    Snakemake.
    """

    checkout: Path
    arguments: Sequence[str]
    kills: dict[str, Kill] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    orders: dict[str, list[str]] = field(default_factory=dict)
    killed: list[Killed] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    following: list[Kill] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)
    alone: bool = False

    @property
    def results(self) -> Path:
        """The results of the one experiment."""
        (folder,) = (path for path in (self.checkout / "results").iterdir() if path.is_dir())
        return folder

    def run(self, expected: dict[str, float]) -> None:
        """Give the command until it ends well and nothing is left to kill; ``expected``: as ``seconds``."""
        further: list[str] = []
        try:
            for _ in range(RUNS):
                before = len(self.killed)
                status = self._start(expected, further)
                if status == 0 and not self.kills:
                    return
                assert status == 0 or len(self.killed) > before, f"fails, but nothing was killed:\n{self.printed()}"
                if status == 0:
                    expected, further = self._plan_again(expected)
            raise AssertionError(f"does not end:\n{self.printed()}")
        finally:
            for process in self._left():
                with contextlib.suppress(psutil.Error):
                    process.kill()

    def printed(self) -> str:
        """The end of what Snakemake has printed, and what was done to it."""
        return "\n".join([*self.told, (self.checkout / "printed").read_text()[-6000:]])

    def _plan_again(self, expected: dict[str, float]) -> tuple[dict[str, float], list[str]]:
        """Of a stage whose jobs were all quicker than their kill, the last one once more, to be killed earlier: what is
        expected now, and what the command says besides, until it ends well.
        """
        stage = next(iter(self.kills))
        kill = self.kills[stage]
        name = self.orders[stage][-1]
        self.kills[stage] = Kill(stage, 0, kill.share / 2, False, kill.victim)
        return expected | {name: min(expected[name], self.seconds[name])}, ["--forcerun", rule_of(name)]

    def _start(self, expected: dict[str, float], further: list[str]) -> int:
        """One run of Snakemake, with the kills that come up; its status."""
        with (self.checkout / "printed").open("wb") as output:
            run = subprocess.Popen(
                [sys.executable, "-m", "snakemake", *self.arguments, *further],
                cwd=self.checkout,
                env={**os.environ, "PYTHONPATH": str(self.checkout / "pkg"), "COLUMNS": "200"},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                process_group=0,
            )
        before, self.groups = self.groups, [*self.groups, run.pid]
        self._watch(run, expected, before)
        if not self.alone:
            self._await_end(self.groups)
        return run.wait()

    def _watch(self, run: subprocess.Popen[bytes], expected: dict[str, float], before: list[int]) -> None:
        """Follow the jobs of a run to its end, and kill; before: the process groups of earlier runs."""
        limit = time.monotonic() + LIMIT
        snakemake = psutil.Process(run.pid)
        jobs: dict[int, Job] = {}
        self.alone = False
        for look in itertools.count():
            if run.poll() is not None:
                return
            assert time.monotonic() < limit, f"does not end:\n{self.printed()}"
            if look % ROUND == 0 and self._find_jobs(snakemake, jobs) and before:
                self._await_end(before)
                before = []
            for job in list(jobs.values()):
                if not job.look():
                    del jobs[job.process.pid]
                    self.seconds[job.name] = job.seconds
                    for killed in self.killed:
                        if killed.job == job.name:
                            killed.look()
                elif self._due(job, expected):
                    del jobs[job.process.pid]
                    self._kill(self.kills.pop(job.stage), job, run)
                    if self.following:
                        self.kills[job.stage] = self.following.pop(0)
            time.sleep(PAUSE)

    def _find_jobs(self, snakemake: psutil.Process, jobs: dict[int, Job]) -> bool:
        """Add the jobs that have started; whether there are any."""
        for process in children(snakemake):
            if process.pid not in jobs and (found := recognise(process)):
                started = self.orders.setdefault(found[0], [])
                started.append(found[1])
                jobs[process.pid] = Job(process, *found, number=len(started) - 1)
        return bool(jobs)

    def _due(self, job: Job, expected: dict[str, float]) -> bool:
        kill = self.kills.get(job.stage)
        if kill is None or job.number < kill.number or job.seconds < kill.share * expected.get(job.name, 0):
            return False
        return job.number > kill.number or not kill.writing or any(temporaries(self.checkout / "results"))

    def _kill(self, kill: Kill, job: Job, run: subprocess.Popen[bytes]) -> None:
        """Send SIGKILL; the job may be over by now, which counts too."""
        half_written = sorted(path.name for path in temporaries(self.checkout / "results"))
        if kill.victim is Victim.RUN:
            os.killpg(run.pid, signal.SIGKILL)
        elif kill.victim is Victim.SNAKEMAKE:
            run.kill()
            self.alone = True
        else:
            with contextlib.suppress(psutil.Error):
                others = job.process.children(recursive=True) if kill.victim is Victim.JOB else []
                for process in (job.process, *others):
                    with contextlib.suppress(psutil.Error):
                        process.kill()
            psutil.wait_procs([job.process], PATIENCE)
        log = self.results / "logs" / f"{job.name}.log"
        # the jobs of a Snakemake that is killed alone may get a little further
        state = None if self.alone else kept_state(self.results, job.name, job.process.create_time())
        self.killed.append(Killed(job.name, state, log))
        kept = "" if state is None else f", to go on after {state}"
        self.told.append(f"{kill} ({job.name}, {job.seconds:.2f} s, half-written: {half_written}{kept})")

    def _await_end(self, groups: list[int]) -> None:
        """Nothing of a run may stay."""
        limit = time.monotonic() + PATIENCE
        while left := self._left(groups):
            assert time.monotonic() < limit, f"still running: {left}\n{self.printed()}"
            time.sleep(PAUSE)
        self.groups = [group for group in self.groups if group not in groups]

    def _left(self, groups: list[int] | None = None) -> list[psutil.Process]:
        """Processes that still run of these groups, or of all."""
        return list(processes_of(self.groups if groups is None else groups))


def children(process: psutil.Process) -> list[psutil.Process]:
    """The processes that one has started; none when it has ended."""
    with contextlib.suppress(psutil.Error):
        return process.children()
    return []


def recognise(process: psutil.Process) -> tuple[str, str] | None:
    """Stage and name of a job, when the process is the script of one."""
    with contextlib.suppress(psutil.Error, OSError):
        for argument in process.cmdline():
            if re.search(r"\.snakemake/scripts/tmp\w+\.run_step\.py$", argument):
                script = Path(argument).read_bytes()
                step = re.search(rb"(%s)[\w.]*:\w+" % "|".join(STAGES).encode(), script)
                named = re.search(rb"results/[\w/.-]*?logs/([\w./-]+?)\.log", script)
                return (step[1].decode(), named[1].decode()) if step and named else None
    return None


def processes_of(groups: list[int]) -> Iterator[psutil.Process]:
    """The processes of groups that still run."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, ProcessLookupError):
            if os.getpgid(process.pid) in groups and process.status() != psutil.STATUS_ZOMBIE:
                yield process


def temporaries(folder: Path) -> Iterator[Path]:
    """What has a hidden name below a folder, but Snakemake's marks of time."""
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            if name.startswith(".") and name != ".snakemake_timestamp":
                yield Path(place, name)


def rule_of(job: str) -> str:
    """The rule of a job, which the name of its log begins with."""
    return re.split("[./]", job)[0]


def kept_state(results: Path, job: str, since: float) -> int | None:
    """How far a job of training or tuning that began then can go on from: updates or iterations; None for nothing."""
    rule = rule_of(job)
    name = job.removeprefix(rule)[1:]
    if rule.startswith("train_"):
        path = results / "training" / (name or rule.removeprefix("train_")) / "state" / "checkpoint.safetensors"
        if path.exists() and path.stat().st_mtime >= since:
            return int(read_meta(path)["progress"]["updates"])
    if rule in ("tune", "tune_reranking"):
        system, _, run = name.rpartition(".")
        found = (results / "tuning" / system / run).glob("state/iteration*/progress.json")
        kept = [path for path in found if path.stat().st_mtime >= since]
        return max((int(path.parent.name.removeprefix("iteration")) for path in kept), default=None)
    return None
