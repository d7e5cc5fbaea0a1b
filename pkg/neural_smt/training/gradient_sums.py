"""Sums of gradients over processes: dense ones, and sparse ones in other rows in each process."""

import torch
from torch import Tensor, distributed, nn

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
