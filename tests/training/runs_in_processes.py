"""A program for ``torchrun``: trains networks, one after the other, in all its processes.

Its argument names a JSON file with a list of the arguments of ``train_network``.
"""

import os
import signal
import sys
import time
from pathlib import Path

from torch import distributed

from neural_smt.io.files import read_json
from neural_smt.training.launch import in_processes
from neural_smt.training.processes import joined
from neural_smt.training.steps import train_network
from neural_smt.workflow.invoke import invoke


@in_processes
def die(*, processes: int, device: str = "cpu") -> None:
    """A step of which the second process is killed."""
    if os.environ["RANK"] == "1":
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(100)


if __name__ == "__main__":
    with joined("cpu"):
        for arguments in read_json(Path(sys.argv[1])):
            # what the decorator does has been done, once for all
            invoke(train_network.__wrapped__, arguments)
            # the first process writes the last checkpoint alone, which the next run goes on from
            distributed.barrier()
