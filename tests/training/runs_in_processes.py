"""A program for ``torchrun``: trains networks, one after the other, in all its processes.

Its arguments are a JSON file with a list of the arguments of ``train_network``, and the device.
"""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from torch import distributed

from neural_smt.io.files import read_json
from neural_smt.training.launch import in_processes, loopback_variables
from neural_smt.training.processes import joined
from neural_smt.training.steps import train_network
from neural_smt.workflow.code_digest import PACKAGE
from neural_smt.workflow.invoke import invoke


@in_processes
def die(*, processes: int, device: str = "cpu") -> None:
    """A step of which the second process is killed."""
    if os.environ["RANK"] == "1":
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(100)


def run_in_two(requests: list[dict[str, Any]], folder: Path, device: str = "cpu") -> None:
    """Train all of that in two processes on a device."""
    (folder / "requests").write_text(json.dumps([request | {"device": device} for request in requests], default=str))
    torchrun = ["torch.distributed.run", "--standalone", "--local-addr", "127.0.0.1", "--nproc-per-node", "2"]
    environment = os.environ | loopback_variables() | {"OMP_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(PACKAGE.parent), environment.get("PYTHONPATH", "")])
    if "SIMULATED_CUDA" in os.environ:
        # before PyTorch
        environment["LD_PRELOAD"] = os.environ["SIMULATED_CUDA"]
    command = [sys.executable, "-m", *torchrun, __file__, str(folder / "requests"), device]
    subprocess.run(command, env=environment, check=True)


def simulation() -> AbstractContextManager[Any]:
    """The simulated CUDA device, where there is one."""
    if "SIMULATED_CUDA" not in os.environ:
        return nullcontext()
    from simulated_cuda import simulated

    return simulated()


if __name__ == "__main__":
    with simulation(), joined(sys.argv[2]):
        for arguments in read_json(Path(sys.argv[1])):
            # what the decorator does has been done, once for all
            invoke(train_network.__wrapped__, arguments)
            # the first process writes the last checkpoint alone, which the next run goes on from
            distributed.barrier()
