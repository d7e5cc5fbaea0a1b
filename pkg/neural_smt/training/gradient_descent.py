"""Stochastic gradient descent, plain or with a rate of its own for every weight (AdaGrad, Duchi et al. 2011).

Gradients may be dense, sparse in rows, or sparse in single weights with repetitions, as those of direct features are:
a few hundred thousand of millions. These are summed where they belong without sorting them first.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from neural_smt.jit import kernel
from neural_smt.training.optimisers import kernels_for

EPSILON = 1e-6
"""Keeps the first steps of AdaGrad finite."""


class GradientDescent:
    """w <- w - rate (g + l2 w), or with ``adaptive``  G <- G + g^2;  w <- w - rate g / (sqrt(G) + eps) - rate l2 w.

    Weights that a sparse gradient leaves out stay as they are, without decay too, and so do those of ``tables``, names
    of parameters, whose dense gradient is 0 (``table_rows``). ``rate`` may be changed at any time.
    """

    def __init__(
        self, parameters: dict[str, nn.Parameter], rate: float, l2: float = 0.0, adaptive: bool = False,
        tables: Collection[str] = (),
    ):  # fmt: skip
        self.parameters, self.rate, self.l2, self.tables = parameters, rate, l2, tables
        self.squares = {name: torch.zeros_like(p) for name, p in parameters.items()} if adaptive else {}
        # all zero between updates
        self._sums: dict[str, np.ndarray] = {}

    @torch.no_grad()
    def update(self) -> float:
        """Take a step along the gradients that lie with the parameters; returns the L2 norm of all of them.

        (In that norm repeated weights of a sparse gradient count one by one.) When it is not finite, no step is taken.
        """
        gradients = {name: p.grad for name, p in self.parameters.items() if p.grad is not None}
        norms = [torch.linalg.vector_norm(g._values() if g.is_sparse else g) for g in gradients.values()]
        norm = torch.linalg.vector_norm(torch.stack(norms)).item()
        if norm < float("inf"):
            for name, gradient in gradients.items():
                self._step(name, self.parameters[name].data, gradient)
        return norm

    def _step(self, name: str, parameter: Tensor, gradient: Tensor) -> None:
        squares = self.squares.get(name)
        by_kernel = parameter.device.type == "cpu" and parameter.dtype == torch.float32
        numbers = np.float32(self.rate), np.float32(self.l2)
        if not gradient.is_sparse and squares is not None and (kernels := kernels_for(parameter, gradient)):
            whole = name not in self.tables
            kernels.adagrad((parameter, gradient, squares), self.rate, self.l2, EPSILON, whole)
        elif not gradient.is_sparse:
            decaying = parameter * (gradient != 0) if self.l2 and name in self.tables else parameter
            parameter.sub_(self._change(decaying, gradient, squares))
        elif parameter.dim() == 1 and by_kernel:
            if name not in self._sums:
                self._sums[name] = np.zeros(len(parameter), dtype=np.float32)
            slots, values = gradient._indices()[0].numpy(), gradient._values().numpy()
            kept = np.zeros(0, dtype=np.float32) if squares is None else squares.numpy()
            _step_slots(parameter.numpy(), kept, slots, values, self._sums[name], *numbers)
        else:
            gradient = gradient.coalesce()
            rows = gradient.indices()[0]
            own = None if squares is None else squares[rows]
            parameter.index_add_(0, rows, self._change(parameter[rows], gradient.values(), own), alpha=-1)
            if squares is not None and own is not None:
                squares[rows] = own

    def _change(self, parameter: Tensor, gradient: Tensor, squares: Tensor | None) -> Tensor:
        """What to subtract; parameter: what decays; ``squares`` are updated in place."""
        if squares is None:
            change = gradient * self.rate
        else:
            squares.addcmul_(gradient, gradient)
            change = squares.sqrt().add_(EPSILON).reciprocal_().mul_(gradient).mul_(self.rate)
        return change.add_(parameter, alpha=self.rate * self.l2) if self.l2 else change

    def tensors(self) -> dict[str, Tensor]:
        """The optimiser's state by name, for a checkpoint; the rate is not part of it."""
        return dict(self.squares)

    def load(self, tensors: dict[str, Tensor], updates: int) -> None:
        """Inverse of ``tensors``; the number of updates does not matter."""
        self.squares = {name: tensor.to(self.parameters[name].device) for name, tensor in tensors.items()}


@dataclass
class HalvingSchedule:
    """The RNNLM toolkit's schedule: the rate stays until an epoch gains little in validation entropy, then halves for
    every epoch; the second epoch that gains little is the last.

    Little: an entropy times ``improvement`` is not below the one before (1.003 in the toolkit: a gain below 0.3 %). As
    there, the entropy before is that of the epoch before, good or bad.
    """

    optimiser: GradientDescent
    rate: float
    improvement: float = 1.003

    def follow(self, perplexities: list[float]) -> bool:
        """Set the optimiser's rate to that of the next epoch; false when there should be none."""
        entropies = [math.log(perplexity) for perplexity in perplexities]
        rate, little = self.rate, 0
        for before, entropy in zip([math.inf, *entropies], entropies, strict=False):
            little += not entropy * self.improvement < before  # nor is NaN
            if little:
                rate /= 2
            if little == 2:
                return False
        self.optimiser.rate = rate
        return True


@kernel(error_model="numpy")
def _step_slots(
    parameter: np.ndarray, squares: np.ndarray, slots: np.ndarray, values: np.ndarray, sums: np.ndarray,
    rate: np.float32, l2: np.float32,
) -> None:  # fmt: skip
    """A step of single weights; ``sums`` is 0 before and after. squares: empty for plain gradient descent."""
    for i in range(len(slots)):
        sums[slots[i]] += values[i]
    for i in range(len(slots)):
        slot = slots[i]
        gradient = sums[slot]
        # a weight met again has been treated
        if gradient != 0:
            sums[slot] = 0
            step = gradient
            if len(squares) > 0:
                squares[slot] += gradient * gradient
                step = gradient / (np.sqrt(squares[slot]) + np.float32(EPSILON))
            parameter[slot] -= rate * (step + l2 * parameter[slot])
