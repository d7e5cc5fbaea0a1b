"""Steps that run in several processes at once, one for each GPU.

``training.processes: N`` in the configuration, or ``--processes N`` of a step on the command line, starts N workers on
this machine with PyTorch's elastic launcher, as ``torchrun --standalone --nproc-per-node N`` does, and waits for them.
Their number decides on time alone: ``batch`` is that of all of them together, a minibatch is cut into N shares, and a
run may go on with another number of processes than it began with. The file of the log and the files that are made are
the first worker's.

Over several machines start the same command yourself on each, with the folders on a file system that all of them see::

    torchrun --nnodes 2 --nproc-per-node 8 --rdzv-backend c10d --rdzv-endpoint HOST:PORT \
        -m neural_smt training train_network ...
"""

import functools
import json
import logging
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ParamSpec

from torch import distributed

from neural_smt.errors import UserError
from neural_smt.networks.device import select_device
from neural_smt.training.processes import check_devices, joined

log = logging.getLogger(__name__)

P = ParamSpec("P")

WORKER = "neural_smt.training.worker"
"""The module that a worker runs; it is told the step and its arguments as JSON."""

LAUNCHER = "torch.distributed.elastic"
"""The logger of PyTorch's launcher."""

FAULT = f"{UserError.__name__}: "
"""How the launcher's report of a user's error begins."""


def in_processes(step: Callable[P, None]) -> Callable[P, None]:
    """A step of the training stage with the argument ``processes``, run in so many of them.

    In a worker, whoever started it, the step itself runs, after the workers have joined.
    """

    @functools.wraps(step)
    def run(*args: P.args, **arguments: P.kwargs) -> None:
        processes = int(arguments.get("processes", 1))  # type: ignore[call-overload]
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


def _start(step: Callable[..., None], arguments: dict[str, Any], processes: int) -> None:
    """Run a step in workers of this machine and wait for them; a worker's ``UserError`` is raised here."""
    # Seconds of imports that single processes do without.
    from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    from neural_smt.training import loopback

    loopback.register()
    names = {"module": step.__module__, "step": step.__name__}
    request = json.dumps(names | {"arguments": arguments, "log": _log_file()}, default=os.fspath)
    variables = loopback.loopback_variables() | {"PYTHONPATH": os.pathsep.join(_module_folders())}
    log.info("training in %d processes", processes)
    with tempfile.TemporaryDirectory() as folder, _environment(variables), _handlers(), _silent(LAUNCHER):
        config = LaunchConfig(
            min_nodes=1,
            max_nodes=1,
            nproc_per_node=processes,
            run_id=step.__name__,
            rdzv_backend=loopback.BACKEND,
            rdzv_endpoint=loopback.ADDRESS,
            local_addr=loopback.ADDRESS,
            # a job that failed is started again by the workflow, and goes on from its checkpoint
            max_restarts=0,
            logs_specs=DefaultLogsSpecs(log_dir=folder),
        )
        try:
            elastic_launch(config, sys.executable)("-m", WORKER, request)
        except SignalException as error:
            raise SystemExit(128 + int(error.sigval)) from None
        except ChildFailedError as error:
            raise _cause(error.get_first_failure()[1]) from None


def _cause(failure: Any) -> Exception:
    """What to raise for the worker that failed first."""
    report = failure.error_file_data.get("message", "")
    message = report["message"] if isinstance(report, dict) else failure.message
    if message.startswith(FAULT):
        return UserError(message.removeprefix(FAULT))
    if isinstance(report, dict):
        log.error("worker %d failed\n%s", failure.local_rank, report["extraInfo"]["py_callstack"])
    return RuntimeError(f"worker {failure.local_rank} failed with status {failure.exitcode}: {message}")


def _log_file() -> str | None:
    """The file that this process logs to."""
    files = [handler.baseFilename for handler in logging.getLogger().handlers if hasattr(handler, "baseFilename")]
    return files[0] if files else None


def _module_folders() -> list[str]:
    """Where workers find modules: this package, then what the user has set."""
    given = os.environ.get("PYTHONPATH", "")
    return [str(Path(__file__).resolve().parents[2]), *filter(None, given.split(os.pathsep))]


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Environment variables, which workers inherit, for a while."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _handlers() -> Iterator[None]:
    """The launcher sets handlers of signals and leaves them; afterwards they are as before."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _silent(name: str) -> Iterator[None]:
    """No messages of a logger for a while: what the launcher tells of a fault is in what is raised."""
    logger = logging.getLogger(name)
    before = logger.disabled, logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.disabled, logger.level = before
