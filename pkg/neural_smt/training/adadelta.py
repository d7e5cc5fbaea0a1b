"""AdaDelta (Zeiler 2012) as Cho et al. (2014) used it, and the clipping of its gradient.

``torch.optim.Adadelta`` computes the same numbers; this one also takes sparse gradients. A row without gradient takes
no step and both its averages shrink by rho, so the shrinking of the rows of an embedding can wait until a word is seen
again: the result is the same, and an update touches hundreds of rows instead of tens of thousands.
"""

import math
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn

from neural_smt.experiment.settings import Settings

TILE = 1 << 17
"""Numbers of a parameter that a CPU updates at a time: few enough to stay in its cache from first to last."""


@dataclass
class AdaDelta:
    """E[g^2] <- rho E[g^2] + (1 - rho) g^2;  d = sqrt(E[d^2] + eps) / sqrt(E[g^2] + eps) g;  w <- w - d.

    The average of squared gradients takes the current gradient first, that of squared steps follows the step; both
    start at 0. ``updates`` counts the steps taken. clip: the largest L2 norm of a gradient (``update``); rows_only: see
    ``clipped_gradients``.
    """

    parameters: dict[str, nn.Parameter]
    rho: float
    epsilon: float
    clip: float = math.inf
    rows_only: bool = False
    updates: int = 0

    def __post_init__(self) -> None:
        self.squared_gradients = {name: torch.zeros_like(p) for name, p in self.parameters.items()}
        self.squared_steps = {name: torch.zeros_like(p) for name, p in self.parameters.items()}
        # How many updates a row's averages have seen; made for parameters whose gradient is sparse.
        self.seen: dict[str, Tensor] = {}

    @classmethod
    def of(cls, network: nn.Module, settings: Settings, rows_only: bool = False) -> Self:
        """For the parameters of a network, with the constants of its settings."""
        return cls(dict(network.named_parameters()), settings.rho, settings.epsilon, settings.clip, rows_only)

    def update(self) -> float:
        """Take a step along the gradients that lie with the parameters, clipped; returns the norm they had."""
        gradients, norm = clipped_gradients(self.parameters, self.clip, self.rows_only)
        self.step(gradients)
        return norm

    @torch.no_grad()
    def step(self, gradients: dict[str, Tensor]) -> None:
        """Apply one gradient, dense or sparse (coalesced), for each parameter."""
        for name, gradient in gradients.items():
            parameter = self.parameters[name].data
            averages = self.squared_gradients[name], self.squared_steps[name]
            if gradient.is_sparse:
                rows = gradient.indices()[0]
                caught_up = [average[rows] for average in self._caught_up(name, rows)]
                parameter.index_add_(0, rows, self._step(gradient.values(), *caught_up), alpha=-1)
                for average, values in zip(averages, caught_up, strict=True):
                    average[rows] = values
            else:
                if name in self.seen:
                    self._caught_up(name, torch.arange(len(parameter), device=parameter.device))
                for part, *rest in zip(*(_tiles(tensor) for tensor in (parameter, gradient, *averages)), strict=True):
                    part -= self._step(*rest)
        self.updates += 1

    def _caught_up(self, name: str, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Both averages of a parameter after shrinking ``rows`` for the updates they missed."""
        averages = self.squared_gradients[name], self.squared_steps[name]
        if name not in self.seen:
            self.seen[name] = torch.zeros(len(averages[0]), dtype=torch.int64, device=rows.device)
        seen = self.seen[name]
        shrink = self.rho ** (self.updates - seen[rows]).to(averages[0].dtype)
        for average in averages:
            average[rows] *= shrink.view(-1, *[1] * (average.dim() - 1))
        seen[rows] = self.updates + 1
        return averages

    def _step(self, gradient: Tensor, squared_gradients: Tensor, squared_steps: Tensor) -> Tensor:
        """d for one gradient; the averages are updated in place."""
        squared_gradients.mul_(self.rho).addcmul_(gradient, gradient, value=1 - self.rho)
        scale = (squared_steps + self.epsilon).div_(squared_gradients + self.epsilon).sqrt_()
        step = scale.mul_(gradient)
        squared_steps.mul_(self.rho).addcmul_(step, step, value=1 - self.rho)
        return step

    def tensors(self) -> dict[str, Tensor]:
        """The optimiser's state by name, for a checkpoint."""
        groups = "squared_gradients", "squared_steps", "seen"
        return {f"{group}.{name}": tensor for group in groups for name, tensor in getattr(self, group).items()}

    def load(self, tensors: dict[str, Tensor], updates: int) -> None:
        """Inverse of ``tensors``."""
        for key, tensor in tensors.items():
            group, _, name = key.partition(".")
            getattr(self, group)[name] = tensor.to(self.parameters[name].device)
        self.updates = updates


def _tiles(tensor: Tensor) -> tuple[Tensor, ...]:
    """Views of a few rows each; of all rows on a GPU."""
    if tensor.is_cuda or tensor.dim() == 0:
        return (tensor,)
    return tensor.split(max(TILE * len(tensor) // max(tensor.numel(), 1), 1))


@torch.no_grad()
def clipped_gradients(
    parameters: dict[str, nn.Parameter], limit: float, rows_only: bool = False
) -> tuple[dict[str, Tensor], float]:
    """The gradients scaled down to a global L2 norm of at most ``limit``, and the norm they had.

    When that norm is not finite, every gradient is replaced by 0.1 times its parameter, as the released program does:
    weights shrink a little and training goes on. With ``rows_only`` a sparse gradient is so replaced in its own rows
    alone. Sparse gradients come back coalesced; parameters without gradient (fixed ones) are left out.
    """
    found = {name: p.grad for name, p in parameters.items() if p.grad is not None}
    gradients = {name: g.coalesce() if g.is_sparse else g for name, g in found.items()}
    values = {name: g.values() if g.is_sparse else g for name, g in gradients.items()}
    norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(v) for v in values.values()])).item()
    if not norm < float("inf"):
        return {name: _shrinking(parameters[name], g, rows_only) for name, g in gradients.items()}, norm
    if norm > limit:
        for value in values.values():
            value *= limit / norm
    return gradients, norm


def _shrinking(parameter: Tensor, gradient: Tensor, rows_only: bool) -> Tensor:
    """0.1 times the parameter, of the gradient's rows alone if they are asked for."""
    if not (rows_only and gradient.is_sparse):
        return 0.1 * parameter
    gradient.values().copy_(0.1 * parameter[gradient.indices()[0]])
    return gradient
