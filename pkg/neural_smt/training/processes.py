"""The processes that train one network together, each with its share of every minibatch, and sums of their gradients.

Not ``DistributedDataParallel``: that wants dense gradients, all of them in every process, where here the gradients of
embeddings and of a limited softmax are sparse, and a share of the last minibatch of an epoch may be empty.
"""

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, distributed, nn

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
        if any(other != digest for other in _gather(digest)):
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


MISSING, DENSE, SPARSE = range(3)
"""What the gradient of a parameter is in a process."""


def sum_gradients(parameters: dict[str, nn.Parameter]) -> None:
    """Replace the gradient of every parameter by its sum over all processes, the same to the bit in all of them.

    Called by all processes at the same time, with the same parameters. A parameter without gradient in some of them,
    as all are in a process without examples, has a gradient of 0 there; without gradient in all it stays so. Sparse
    gradients stay sparse (of any number of entries), in the rows of all processes together.
    """
    chosen = list(parameters.values())
    mine = torch.tensor([_describe(parameter) for parameter in chosen])
    described = torch.stack(_gather(mine))
    waiting = []
    for parameter, found in zip(chosen, described.unbind(1), strict=True):
        kind = found[:, 0].max()
        if kind == DENSE:
            gradient = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad.contiguous()
            waiting.append(distributed.all_reduce(gradient, async_op=True))
            parameter.grad = gradient
        elif kind == SPARSE:
            parameter.grad = _sum_sparse(parameter, found[:, 1].tolist())
    for work in waiting:
        work.wait()


def _describe(parameter: nn.Parameter) -> tuple[int, int]:
    """The kind of a parameter's gradient and the number of its sparse entries."""
    gradient = parameter.grad
    if gradient is None or not gradient.is_sparse:
        return (MISSING if gradient is None else DENSE), 0
    if parameter.dim() > 1:
        # a word's rows are summed before they travel; single weights are no larger than their places
        parameter.grad = gradient = gradient.coalesce()
    return SPARSE, gradient._nnz()


def _sum_sparse(parameter: nn.Parameter, counts: list[int]) -> Tensor:
    """The sum of gradients that are sparse in rows, of so many entries in each process."""
    gradient, most = parameter.grad, max(counts)
    shape = parameter.shape[1:]
    if gradient is None:
        places = torch.zeros(0, dtype=torch.int64, device=parameter.device)
        values = parameter.new_zeros(0, *shape)
    else:
        places, values = gradient._indices()[0], gradient._values()
    gathered = [part[:count] for part, count in zip(_gather(_padded(places, most)), counts, strict=True)]
    if all(torch.equal(gathered[0], other) for other in gathered[1:]):
        # as those of a softmax over the words of a minibatch
        sums = values.contiguous()
        distributed.all_reduce(sums)
        known = gradient is not None and gradient.is_coalesced()
        return _sparse(places, sums, parameter, known)
    pieces = [part[:count] for part, count in zip(_gather(_padded(values, most)), counts, strict=True)]
    return _sparse(torch.cat(gathered), torch.cat(pieces), parameter, False)


def _sparse(places: Tensor, values: Tensor, parameter: nn.Parameter, coalesced: bool) -> Tensor:
    return torch.sparse_coo_tensor(
        places[None], values, parameter.shape, is_coalesced=coalesced, check_invariants=False
    )


def _padded(tensor: Tensor, length: int) -> Tensor:
    """Zeros after its last row; all processes must send the same number."""
    padded = tensor.new_zeros(length, *tensor.shape[1:])
    padded[: len(tensor)] = tensor
    return padded


def _gather(tensor: Tensor) -> list[Tensor]:
    """The tensor of every process, by rank; they have one shape."""
    found = [torch.empty_like(tensor) for _ in range(distributed.get_world_size())]
    distributed.all_gather(found, tensor)
    return found
