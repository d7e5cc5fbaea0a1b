"""The processes that train one network together: one for each GPU, each with its share of every minibatch.

Not ``DistributedDataParallel``: that wants dense gradients, all of them in every process, where here the gradients of
embeddings and of a limited softmax are sparse, and a share of the last minibatch of an epoch may be empty.
"""

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import distributed, nn

from neural_smt.errors import UserError
from neural_smt.networks.device import select_device


@dataclass(frozen=True)
class Processes:
    """This process among ``size``, as number ``rank`` of them. The first one writes what all have made."""

    rank: int = 0
    size: int = 1

    @classmethod
    def current(cls) -> "Processes":
        """Those that have ``joined``; else this one alone."""
        if distributed.is_available() and distributed.is_initialized():
            return cls(distributed.get_rank(), distributed.get_world_size())
        return cls()

    @property
    def share(self) -> slice:
        """Of the examples of a minibatch. Sorted by length, every share has short ones and long ones."""
        return slice(self.rank, None, self.size)

    @property
    def first(self) -> bool:
        """Whether this process is the one that writes."""
        return self.rank == 0

    def total(self, *values: float) -> list[float]:
        """The sums of numbers over all processes; of one process the numbers as they are."""
        if self.size == 1:
            return list(values)
        sums = torch.tensor(values, dtype=torch.float64)
        distributed.all_reduce(sums)
        return sums.tolist()

    def start_alike(self, run: str, parameters: dict[str, nn.Parameter]) -> None:
        """Give all processes the weights of the first one; run: what is trained, and how far it is.

        Weights that were drawn on another kind of processor may differ in their last bits. Raises ``UserError`` in all
        processes where not all are about to go on with the same run.
        """
        if self.size == 1:
            return
        digest = torch.tensor([zlib.crc32(run.encode())])
        found = [torch.empty_like(digest) for _ in range(self.size)]
        distributed.all_gather(found, digest)
        if any(other != digest for other in found):
            raise UserError(
                "training: the processes read different data, settings or checkpoints; "
                "give all of them the same files and options"
            )
        for parameter in parameters.values():
            distributed.broadcast(parameter.data, 0)


@contextmanager
def joined(device: str) -> Iterator[None]:
    """Join the processes that ``torchrun`` started, each with a GPU of its own, or with its part of the threads."""
    place, local = select_device(device), int(os.environ["LOCAL_RANK"])
    beside = int(os.environ["LOCAL_WORLD_SIZE"])
    if place.type == "cuda":
        check_devices(place, beside)
        torch.cuda.set_device(local)
    else:
        torch.set_num_threads(max(torch.get_num_threads() // beside, 1))
    # Counts are summed on the CPU, gradients where they are.
    distributed.init_process_group("cpu:gloo,cuda:nccl" if place.type == "cuda" else "gloo")
    yield
    # Not after a fault: others may be waiting for this process, and whoever started them ends them.
    distributed.destroy_process_group()


def check_devices(place: torch.device, processes: int) -> None:
    """Raise ``UserError`` when this machine has fewer GPUs than processes that are to train on them."""
    if place.type == "cuda" and processes > torch.cuda.device_count():
        raise UserError(
            f"training: {processes} processes, but PyTorch finds {torch.cuda.device_count()} GPUs; "
            "set training.processes to as many at most, or device to cpu"
        )
