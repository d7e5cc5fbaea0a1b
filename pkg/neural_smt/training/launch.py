"""Steps that run in several processes at once, one for each GPU.

``training.processes: N`` in the configuration, or ``--processes N`` of a step on the command line, starts N workers on
this machine and waits for them. Their number decides on time alone: ``batch`` is that of all of them together, a
minibatch is cut into N shares, and a run may go on with another number of processes than it began with. The file of the
log and the files that are made are the first worker's.

A worker (``worker.py``) has the variables by which PyTorch finds the others. ``torchrun``, which sets them too, listens
on all interfaces, whatever address it is given; these workers meet at a port that no other machine can reach.

Over several machines start the same command yourself on each, with the folders on a file system that all of them see::

    torchrun --nnodes 2 --nproc-per-node 8 --rdzv-backend c10d --rdzv-endpoint HOST:PORT \
        -m neural_smt training train_network ...
"""

import functools
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec

from torch import distributed

from neural_smt.errors import UserError
from neural_smt.networks.device import select_device
from neural_smt.training.processes import check_devices, joined

log = logging.getLogger(__name__)

P = ParamSpec("P")

ADDRESS = "127.0.0.1"

WORKER = "neural_smt.training.worker"
"""The module that a worker runs; it is told the step and its arguments as JSON."""

FAULT = "user_error"
"""Under which a worker leaves the message of a ``UserError`` in the store where the workers meet."""

POLL = 0.1
"""Seconds between looks at the workers."""


def in_processes(step: Callable[P, None]) -> Callable[P, None]:
    """A step of the training stage with the argument ``processes``, run in so many of them.

    In a worker, whoever started it, the step itself runs, after the workers have joined.
    """

    @functools.wraps(step)
    def run(*args: P.args, **arguments: P.kwargs) -> None:
        processes = int(arguments.get("processes", 1))  # type: ignore[call-overload]  # any step's arguments
        if processes < 1:
            raise UserError(f"training: processes is {processes}; set it to 1 or more")
        if distributed.is_available() and distributed.is_torchelastic_launched():
            with joined(str(arguments["device"])):
                step(*args, **arguments)
        elif processes > 1:
            check_devices(select_device(str(arguments["device"])), processes)
            _start(step, arguments, processes)
        else:
            step(*args, **arguments)

    return run


def loopback_variables() -> dict[str, str]:
    """Environment variables that restrict communication of workers to this machine, except those the user has set."""
    names = [name for _, name in socket.if_nameindex() if name.startswith("lo")]
    wanted = {f"{library}_SOCKET_IFNAME": names[0] for library in ("GLOO", "NCCL") if names}
    return {name: value for name, value in wanted.items() if name not in os.environ}


def _start(step: Callable[..., None], arguments: dict[str, Any], processes: int) -> None:
    """Run a step in workers of this machine and wait for them; a worker's ``UserError`` is raised here."""
    listener = socket.create_server((ADDRESS, 0))
    port = listener.getsockname()[1]
    store = distributed.TCPStore(ADDRESS, port, is_master=True, master_listen_fd=listener.detach())
    logged = [handler.baseFilename for handler in logging.getLogger().handlers if hasattr(handler, "baseFilename")]
    names: dict[str, Any] = {"module": step.__module__, "step": step.__name__}
    names |= {"arguments": arguments, "log": logged[0] if logged else None, "parent": os.getpid()}
    request = json.dumps(names, default=os.fspath)
    # where workers find modules: this package, then what the user has set
    folders = [str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | loopback_variables()
    environment |= {"MASTER_ADDR": ADDRESS, "MASTER_PORT": str(port)}
    environment |= {"PYTHONPATH": os.pathsep.join(filter(None, folders))}
    environment |= dict.fromkeys(("WORLD_SIZE", "LOCAL_WORLD_SIZE"), str(processes))
    environment |= {"TORCHELASTIC_RUN_ID": step.__name__, "TORCHELASTIC_USE_AGENT_STORE": "True"}
    environment.setdefault("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1")
    log.info("training in %d processes", processes)
    workers: list[subprocess.Popen[bytes]] = []
    try:
        for rank in map(str, range(processes)):
            own = environment | {"RANK": rank, "LOCAL_RANK": rank}
            workers.append(subprocess.Popen([sys.executable, "-m", WORKER, request], env=own))
        while (statuses := [worker.poll() for worker in workers]).count(None) and not any(statuses):
            time.sleep(POLL)
    finally:
        # all at once: those that live on would log that their connections broke
        for worker in workers:
            worker.kill()
        for worker in workers:
            worker.wait()
    if store.check([FAULT]):
        raise UserError(store.get(FAULT).decode())
    # one that was killed (below 0) came first: the others fail because they miss it
    failed = sorted((status, rank) for rank, status in enumerate(statuses) if status)
    if failed:
        status, place = failed[0]
        if status < 0:
            name = signal.Signals(-status).name
            raise UserError(
                f"worker {place} was killed ({name}); if memory ran out, ask for more or train in fewer processes"
            )
        raise RuntimeError(f"worker {place} failed with status {status}; its message is in the log")
