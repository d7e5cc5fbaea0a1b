"""A real Slurm cluster on loopback, of one node or several, in a folder of its own.

Nothing outside the folder is read or changed: the key and the socket of ``munged``, the configuration, what the daemons
remember and their logs lie in it, and programs find it through the environment variable ``SLURM_CONF``. The daemons
are processes of whoever starts them, and only those are ended, by their numbers.

Several nodes are several ``slurmd -N``, which Debian's package can do. They have the file system in common, as those
of a cluster have, but each has a host name, processes and a folder for temporary files of its own (Linux namespaces):
what one job leaves there, a job on another node does not see, and when a node is killed, all that runs on it is gone
at once. Only root may make such nodes.
"""

import contextlib
import getpass
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel", "sinfo")
"""What Debian's packages ``munge`` and ``slurm-wlm`` install."""

PATIENCE = 30
"""Seconds that a daemon may take to answer, or to end."""

CONFIGURATION = Path(__file__).with_name("slurm.conf").read_text(encoding="utf-8")
"""Nodes claim more than the machine may have: as many CPUs and as much memory as the jobs ask for, and two GPUs that
are not there. Slurm counts them and gives them to jobs as if they were, the node with the least to do first. A job that
holds more memory than it asked for is killed within a second or two; a node that does not answer is given up after some
seconds, and its jobs wait no more than that to start elsewhere. The partitions are the profile's.
"""

NODE = """\
hostname "$1" && mount --bind "$2/hosts" /etc/hosts && mount -t tmpfs tmpfs "$2/tmp" && exec "$3" -D -N "$1"
"""
"""What starts a node among several, in its own namespaces: the node's name, the cluster's folder, ``slurmd``."""


@dataclass(frozen=True)
class Slurm:
    """A cluster that runs, and what its programs need to find it.

    nodes: the process of each node, by the node's name
    """

    folder: Path
    nodes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        """The variables under which ``sbatch`` and the others, and Snakemake with them, use this cluster."""
        path = f"{self.folder / 'bin'}:{os.environ.get('PATH', '')}"
        variables = {"PATH": path, "SLURM_CONF": str(self.folder / "slurm.conf"), "TMPDIR": str(self.folder / "tmp")}
        return os.environ | variables

    def ask(self, *command: str) -> str:
        """What a program of Slurm prints."""
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=PATIENCE)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
        return done.stdout

    def jobs(self, *options: str) -> list[str]:
        """The jobs that wait or run, each as ``squeue`` prints it with the given options."""
        return self.ask("squeue", "--noheader", *options).splitlines()


@contextlib.contextmanager
def running_slurm(folder: Path, nodes: int = 1, cpus: int = 8, memory: int = 64000) -> Iterator[Slurm]:
    """A cluster of nodes with so many CPUs and so much memory (MB) each, which ends with the block, its jobs first.

    ``folder`` has a short name, for it holds a socket. Raises ``RuntimeError`` with the end of its log when a daemon
    does not come up within ``PATIENCE`` seconds, and where several nodes are asked for by someone else than root.
    """
    if nodes > 1 and os.geteuid() != 0:
        raise RuntimeError("a cluster of several nodes needs root: take NODES=1")
    slurm = Slurm(folder)
    names = [f"node{number}" for number in range(1, nodes + 1)]
    _write_configuration(folder, names, cpus, memory)
    with contextlib.ExitStack() as stack:
        stack.enter_context(_ending_with_a_signal())
        # forced, for it would have a folder that all users may enter
        munged = stack.enter_context(
            _daemon(
                "munged",
                "--foreground",
                "--force",
                *(f"--{name}-file={folder}/munge.{name}" for name in ("key", "pid", "log", "seed")),
                f"--socket={folder}/munge.socket",
                log=folder / "munged.out",
            )
        )
        _await_answer(lambda: (folder / "munge.socket").exists(), "munged", munged, folder / "munged.out")
        controller = stack.enter_context(_daemon("slurmctld", "-D", log=folder / "slurmctld.out"))
        for name in names:
            slurm.nodes[name] = stack.enter_context(_node(name, folder, alone=nodes == 1))
        _await_answer(lambda: set(names) == _idle_nodes(slurm), "slurmctld", controller, folder / "slurmctld.log")
        stack.callback(_end_jobs, slurm, controller)
        yield slurm


def program_path(name: str) -> str | None:
    """Where a program is, those of the system's administrator included; nothing where it is not installed."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def _await_answer(ready: Callable[[], bool], name: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until something holds, no longer than ``PATIENCE`` and only while the process lives."""
    limit = time.monotonic() + PATIENCE
    while not ready():
        if process.poll() is not None or time.monotonic() > limit:
            state = "runs but does not answer" if process.poll() is None else f"ended with {process.returncode}"
            end = log.read_text(errors="replace")[-2000:] if log.exists() else "(no log)"
            raise RuntimeError(f"{name} {state}; the end of its log:\n{end}")
        time.sleep(0.2)


def _write_configuration(folder: Path, nodes: list[str], cpus: int, memory: int) -> None:
    for name in ("state", "bin", "tmp", *(f"spool/{node}" for node in nodes)):
        (folder / name).mkdir(parents=True)
    known = Path("/etc/hosts").read_text(encoding="utf-8")
    (folder / "hosts").write_text(f"{known}\n127.0.0.1 {' '.join(nodes)}\n", encoding="utf-8")
    # Snakemake's jobs call srun without the variables of Slurm
    srun = folder / "bin" / "srun"
    srun.write_text(f'#!/bin/sh\nSLURM_CONF={folder}/slurm.conf exec {program_path("srun")} "$@"\n')
    srun.chmod(0o755)
    key = folder / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(128))
    controller, *ports = _free_ports(1 + len(nodes))
    host = socket.gethostname().split(".")[0]
    values = {
        "folder": folder,
        "user": getpass.getuser(),
        "host": host,
        "controller": controller,
        "nodes": "\n".join(
            f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port}"
            for name, port in zip(nodes, ports, strict=True)
        ),
        "cpus": cpus,
        "memory": memory,
    }
    (folder / "slurm.conf").write_text(CONFIGURATION.format(**values))
    (folder / "gres.conf").write_text("Name=gpu File=/dev/null\nName=gpu File=/dev/zero\n")


def _free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _node(name: str, folder: Path, alone: bool) -> contextlib.AbstractContextManager[subprocess.Popen[bytes]]:
    """A node's daemon, or, unless it is alone, the process that the whole node ends with."""
    log = folder / f"{name}.out"
    if alone:
        return _daemon("slurmd", "-D", "-N", name, log=log)
    own = ("--uts", "--mount", "--pid", "--mount-proc", "--fork", "--kill-child")
    command = ("sh", "-c", NODE, "sh", name, f"{folder}", f"{program_path('slurmd')}")
    return _daemon("unshare", *own, *command, log=log, end=signal.SIGKILL)


@contextlib.contextmanager
def _daemon(
    name: str, *arguments: str, log: Path, end: signal.Signals = signal.SIGTERM
) -> Iterator[subprocess.Popen[bytes]]:
    """A daemon in the foreground, out of reach of the terminal's Ctrl-C, ended by a signal with the block."""
    program = program_path(name)
    if program is None:
        raise RuntimeError(f"{name} is not installed: run `make test-cluster`")
    with log.open("wb") as output:
        environment = {**os.environ, "SLURM_CONF": str(log.parent / "slurm.conf")}
        process = subprocess.Popen(
            [program, *arguments], env=environment, stdout=output, stderr=subprocess.STDOUT, process_group=0
        )
    try:
        yield process
    finally:
        process.send_signal(end)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def _ending_with_a_signal() -> Iterator[None]:
    """Let SIGTERM unwind the stack, as Ctrl-C does, so that the daemons end with whoever started them."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    previous = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _idle_nodes(slurm: Slurm) -> set[str]:
    try:
        return set(
            slurm.ask("sinfo", "--noheader", "--partition=batch", "--states=idle", "--Node", "--format=%N").split()
        )
    except RuntimeError:
        return set()  # the controller does not answer yet


def _end_jobs(slurm: Slurm, controller: subprocess.Popen[bytes]) -> None:
    """Cancel what still runs and wait for its end: jobs outlive the daemon of a node that is alone."""
    limit = time.monotonic() + PATIENCE
    while controller.poll() is None and time.monotonic() < limit and (jobs := slurm.jobs("--format=%i")):
        slurm.ask("scancel", "--quiet", *jobs)
        time.sleep(0.5)
