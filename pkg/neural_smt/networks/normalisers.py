"""Normalisers of a softmax whose weights stay as they are: log sum_v exp(weight z + bias)_v for many z."""

import threading

import torch
from torch import Tensor

from neural_smt.networks.exponentials import sum_exponentials
from neural_smt.networks.packed import pack
from neural_smt.networks.softmax import SAFE, log_normalisers

LOGITS = {"cpu": 3 << 18, "cuda": 1 << 27}
"""Logits computed at a time: on a CPU few enough to stay in its cache."""


class Normalisers:
    """A function from z, ``[N, R]``, to the logs of the normalisers, ``[N]``, without gradient.

    weight: ``[V, R]``, in the type that the factors of products are rounded to; bias: ``[V]``. Threads may call it at
    the same time.
    """

    def __init__(self, weight: Tensor, bias: Tensor):
        self.weight = weight
        self.bias = bias
        self.rows = max(1, LOGITS[bias.device.type] // len(bias))
        self.products = pack(weight, None, self.rows) if bias.dtype == torch.float32 else None
        self._buffers = threading.local()

    def __call__(self, inner: Tensor) -> Tensor:
        if self.products is None:
            return log_normalisers(inner, self.weight, self.bias, self.weight.dtype, self._buffer())
        sums = inner.new_empty(len(inner))
        for start in range(0, len(inner), self.rows):
            here = slice(start, start + self.rows)
            sum_exponentials(self.products(inner[here]), self.bias, sums[here])
        sums.log_()
        # The kernel's exponents are limited; these rows are computed again with the largest logit subtracted first.
        for row in torch.nonzero(~(sums.abs() < SAFE))[:, 0].tolist():
            sums[row] = (self.products(inner[row : row + 1]) + self.bias).logsumexp(1)[0]
        return sums

    def _buffer(self) -> Tensor:
        """The logits of this thread: making room for them anew would cost as much as filling it."""
        if not hasattr(self._buffers, "logits"):
            self._buffers.logits = self.bias.new_empty(self.rows, len(self.bias))
        return self._buffers.logits
