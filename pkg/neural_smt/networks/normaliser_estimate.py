"""An estimate of the softmax's normaliser that costs a fraction of it, for searches that look at many contexts.

Of all that a network's n-gram costs, the sum over the whole shortlist is nearly everything. That sum over a few
frequent words, together with the layer before the softmax, tells most of it: a linear function of both is fitted once,
by ridge regression, to exact normalisers of contexts like those of the search.
"""

import torch
from torch import Tensor

from neural_smt.networks.normalisers import Normalisers

FREQUENT = 64
"""Words of the shortlist whose sum is computed; they come most frequent first."""

RIDGE = 1e-2


class NormaliserEstimate:
    """log sum_v exp(weight z + bias)_v, estimated.

    inner: z of N contexts, ``[N, R]``; normalisers: their exact values, ``[N]``; weight, bias: those of the softmax,
    most frequent words first. ``error``: standard deviation of the estimate on these contexts (natural log).
    """

    def __init__(self, inner: Tensor, normalisers: Tensor, weight: Tensor, bias: Tensor):
        self.sums = Normalisers(weight[:FREQUENT].to(inner.dtype), bias[:FREQUENT].clone())
        known = self._features(inner).double()
        known = torch.cat((known, known.new_ones(len(known), 1)), 1)
        gram = known.t() @ known + RIDGE * torch.eye(known.shape[1], dtype=known.dtype, device=known.device)
        solution = torch.linalg.solve(gram, known.t() @ normalisers.double())
        self.error = float((known @ solution - normalisers.double()).std())
        self.slope, self.offset = solution[:-1].to(inner.dtype), float(solution[-1])

    def _features(self, inner: Tensor) -> Tensor:
        return torch.cat((inner, self.sums(inner)[:, None]), 1)

    def __call__(self, inner: Tensor) -> Tensor:
        """The estimates for z, ``[N, R]``: ``[N]``."""
        return self._features(inner) @ self.slope + self.offset
