"""Logits of single words, one for every n-gram, without making room for the vectors they are products of."""

import numpy as np
import torch
from torch import Tensor

from neural_smt.jit import kernel


@kernel(fastmath={"contract", "reassoc", "nsz"})
def _choose(
    inner: np.ndarray, weight: np.ndarray, bias: np.ndarray, numbers: np.ndarray, classes: np.ndarray
) -> np.ndarray:
    logits = np.empty(len(numbers), dtype=np.float32)
    for i in range(len(numbers)):
        z, row = inner[numbers[i]], weight[classes[i]]
        total = np.float32(0)
        for r in range(len(z)):
            total += z[r] * row[r]
        logits[i] = total + bias[classes[i]]
    return logits


def choose_logits(inner: Tensor, weight: Tensor, bias: Tensor, numbers: Tensor, classes: Tensor) -> Tensor:
    """(weight z + bias) of one class per n-gram, ``[Q]``, without gradient.

    inner: z of each context, ``[C, R]``; weight, bias: ``[V, R]``, ``[V]``; numbers, classes: int64 ``[Q]``, the
    context and the class of each n-gram.
    """
    if inner.device.type == "cpu" and inner.dtype == weight.dtype == torch.float32:
        arrays = (tensor.detach().contiguous().numpy() for tensor in (inner, weight, bias, numbers, classes))
        return torch.from_numpy(_choose(*arrays))
    return (inner[numbers] * weight[classes]).sum(1) + bias[classes]
