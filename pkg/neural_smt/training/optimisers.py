"""How weights follow their gradients: AdaDelta (Zeiler 2012), which Cho et al. (2014) used, or Adam (Kingma and Ba
2015); and the clipping of gradients.

PyTorch's optimisers compute the same numbers; these also take sparse gradients. A row without gradient takes no step
and both its averages shrink, so the shrinking of the rows of an embedding can wait until a word is seen again: the
result is the same, and an update touches hundreds of rows instead of tens of thousands. (Of dense gradients PyTorch's
Adam takes steps without gradient too, along the mean of earlier ones.)
"""

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from neural_smt.experiment.settings import Settings
from neural_smt.networks import cpu_kernels
from neural_smt.networks.recurrence import kernels_of

Tensors = list[Tensor]

LARGE = 1 << 21
"""Numbers of a parameter that a GPU updates by a kernel of its own, which reads each once; smaller ones go together."""


@dataclass
class AveragingOptimiser:
    """Keeps two running averages of every weight, that start at 0; ``updates`` counts the steps taken.

    clip: the largest L2 norm of a gradient (``update``); rows_only, tables: see ``clipped_gradients``.
    """

    parameters: dict[str, nn.Parameter]
    epsilon: float
    clip: float = math.inf
    rows_only: bool = False
    updates: int = 0
    tables: Collection[str] = ()

    names: ClassVar[tuple[str, str]]
    """Of the averages, in checkpoints."""
    drifts: ClassVar[bool] = False
    """Whether a gradient of 0 makes a step, along earlier ones."""

    def __post_init__(self) -> None:
        self.averages = tuple({key: torch.zeros_like(p) for key, p in self.parameters.items()} for _ in self.names)
        # How many updates a row's averages have seen; made for parameters whose gradient is sparse.
        self.seen: dict[str, Tensor] = {}

    def decays(self) -> tuple[float, float]:
        """What is left of each average after an update."""
        raise NotImplementedError

    def _step(self, gradients: Tensors, *averages: Tensors) -> Tensors:
        """What to subtract for each gradient; the averages are updated in place."""
        raise NotImplementedError

    def _step_by(self, kernels: Any, arrays: tuple[Tensor, ...], *rows: Tensor) -> None:
        """Take the step of one parameter; arrays: it, its gradient and averages; rows: of a sparse gradient."""
        raise NotImplementedError

    def update(self) -> float:
        """Take a step along the gradients that lie with the parameters, clipped; returns the norm they had."""
        gradients, norm = clipped_gradients(self.parameters, self.clip, self.rows_only, self.tables)
        self.step(gradients)
        return norm

    @torch.no_grad()
    def step(self, gradients: dict[str, Tensor]) -> None:
        """Apply one gradient, dense or sparse (coalesced), for each parameter."""
        dense = []
        for name, gradient in gradients.items():
            parameter = self.parameters[name].data
            averages = [group[name] for group in self.averages]
            if gradient.is_sparse:
                rows, values = gradient.indices()[0], gradient.values()
                self._catch_up(name, rows)
                if kernels_for(parameter, values) is cpu_kernels:
                    self._step_by(cpu_kernels, (parameter, values, *averages), rows)
                    continue
                caught_up = [average[rows] for average in averages]
                (step,) = self._step([values], *([average] for average in caught_up))
                parameter.index_add_(0, rows, step, alpha=-1)
                for average, kept in zip(averages, caught_up, strict=True):
                    average[rows] = kept
            else:
                if name in self.seen:
                    self._catch_up(name, torch.arange(len(parameter), device=parameter.device))
                if self.drifts and name in self.tables:
                    (step,) = self._step([gradient], *([average] for average in averages))
                    parameter.sub_(step * _rows_with_gradient(gradient))
                elif kernels := kernels_for(parameter, gradient):
                    self._step_by(kernels, (parameter, gradient, *averages))
                else:
                    dense.append((parameter, gradient, *averages))
        if dense:
            parameters, *rest = (list(tensors) for tensors in zip(*dense, strict=True))
            torch._foreach_sub_(parameters, self._step(*rest))
        self.updates += 1

    def _catch_up(self, name: str, rows: Tensor) -> None:
        """Shrink the averages of ``rows`` of a parameter for the updates they missed."""
        if name not in self.seen:
            # until now gradients were dense, or there were none
            count = len(self.parameters[name])
            self.seen[name] = torch.full((count,), self.updates, dtype=torch.int64, device=rows.device)
        missed = self.updates - self.seen[name][rows]
        for group, decay in zip(self.averages, self.decays(), strict=True):
            average = group[name]
            if kernels_for(average, average) is cpu_kernels:
                cpu_kernels.shrink(average, rows, missed, decay)
            else:
                average[rows] *= (decay ** missed.to(average.dtype)).view(-1, *[1] * (average.dim() - 1))
        self.seen[name][rows] = self.updates + 1

    def tensors(self) -> dict[str, Tensor]:
        """The optimiser's state by name, for a checkpoint."""
        groups = zip((*self.names, "seen"), (*self.averages, self.seen), strict=True)
        return {f"{group}.{name}": tensor for group, values in groups for name, tensor in values.items()}

    def load(self, tensors: dict[str, Tensor], updates: int) -> None:
        """Inverse of ``tensors``."""
        groups = dict(zip((*self.names, "seen"), (*self.averages, self.seen), strict=True))
        for key, tensor in tensors.items():
            group, _, name = key.partition(".")
            groups[group][name] = tensor.to(self.parameters[name].device)
        self.updates = updates


@dataclass
class AdaDelta(AveragingOptimiser):
    """E[g^2] <- rho E[g^2] + (1 - rho) g^2;  d = sqrt(E[d^2] + eps) / sqrt(E[g^2] + eps) g;  w <- w - d.

    The average of squared gradients takes the current gradient first, that of squared steps follows the step.
    """

    rho: float = 0.95
    names = "squared_gradients", "squared_steps"

    def decays(self) -> tuple[float, float]:
        """See ``AveragingOptimiser``."""
        return self.rho, self.rho

    def _step(self, gradients: Tensors, *averages: Tensors) -> Tensors:
        squared_gradients, squared_steps = averages
        torch._foreach_mul_(squared_gradients, self.rho)
        torch._foreach_addcmul_(squared_gradients, gradients, gradients, value=1 - self.rho)
        steps = list(torch._foreach_add(squared_steps, self.epsilon))
        torch._foreach_div_(steps, torch._foreach_add(squared_gradients, self.epsilon))
        torch._foreach_sqrt_(steps)
        torch._foreach_mul_(steps, gradients)
        torch._foreach_mul_(squared_steps, self.rho)
        torch._foreach_addcmul_(squared_steps, steps, steps, value=1 - self.rho)
        return steps

    def _step_by(self, kernels: Any, arrays: tuple[Tensor, ...], *rows: Tensor) -> None:
        kernels.adadelta(arrays, self.rho, self.epsilon, *rows)


BETAS = 0.9, 0.999
"""Of Adam's averages."""


@dataclass
class Adam(AveragingOptimiser):
    """m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g^2;  w <- w - rate m' / (sqrt(v') + eps).

    m' and v' are m and v divided by 1 - b^t after t updates.
    """

    rate: float = 0.001
    names = "means", "squares"
    drifts = True

    def decays(self) -> tuple[float, float]:
        """See ``AveragingOptimiser``."""
        return BETAS

    def _step(self, gradients: Tensors, *averages: Tensors) -> Tensors:
        means, squares = averages
        torch._foreach_lerp_(means, gradients, 1 - BETAS[0])
        torch._foreach_mul_(squares, BETAS[1])
        torch._foreach_addcmul_(squares, gradients, gradients, value=1 - BETAS[1])
        first, second = self._corrections()
        deviations = torch._foreach_div(squares, second)
        torch._foreach_sqrt_(deviations)
        torch._foreach_add_(deviations, self.epsilon)
        steps = list(torch._foreach_mul(means, self.rate / first))
        torch._foreach_div_(steps, deviations)
        return steps

    def _step_by(self, kernels: Any, arrays: tuple[Tensor, ...], *rows: Tensor) -> None:
        first, second = self._corrections()
        kernels.adam(arrays, BETAS, self.rate / first, second, self.epsilon, *rows)

    def _corrections(self) -> tuple[float, ...]:
        """1 - b^t of the next update."""
        return tuple(1 - beta ** (self.updates + 1) for beta in BETAS)


def optimiser_of(network: Any, settings: Settings, rows_only: bool = False) -> AveragingOptimiser:
    """That of ``settings.optimiser``, for the parameters of a network."""
    how = {"clip": settings.clip, "rows_only": rows_only, "tables": network.tables}
    parameters = dict(network.named_parameters())
    if settings.optimiser == "adam":
        return Adam(parameters, ADAM_EPSILON, rate=settings.rate, **how)
    return AdaDelta(parameters, settings.epsilon, rho=settings.rho, **how)


ADAM_EPSILON = 1e-8
"""Of Adam: settings give that of AdaDelta."""


def kernels_for(parameter: Tensor, gradient: Tensor) -> Any:
    """The kernels that take a step of this parameter, or None: on a GPU where it is worth one (``LARGE``)."""
    if not (parameter.is_contiguous() and gradient.is_contiguous()):
        return None
    if parameter.device.type == "cpu":
        return cpu_kernels if parameter.dtype == gradient.dtype == torch.float32 else None
    return kernels_of(parameter) if parameter.numel() >= LARGE else None


@torch.no_grad()
def clipped_gradients(
    parameters: dict[str, nn.Parameter], limit: float, rows_only: bool = False, tables: Collection[str] = ()
) -> tuple[dict[str, Tensor], float]:
    """The gradients scaled down to a global L2 norm of at most ``limit``, and the norm they had.

    When that norm is not finite, every gradient is replaced by 0.1 times its parameter, as the released program does:
    weights shrink a little and training goes on. With ``rows_only`` a sparse gradient is so replaced in its own rows
    alone, and that of ``tables`` in rows where it is not 0: names of parameters whose gradients are sparse, but for
    those on a GPU (``table_rows``). Sparse gradients come back coalesced; parameters without gradient (fixed ones) are
    left out.
    """
    found = {name: p.grad for name, p in parameters.items() if p.grad is not None}
    gradients = {name: g.coalesce() if g.is_sparse else g for name, g in found.items()}
    values = {name: g.values() if g.is_sparse else g for name, g in gradients.items()}
    norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(list(values.values())))).item()
    if not norm < float("inf"):
        return {n: _shrinking(parameters[n], g, rows_only, n in tables) for n, g in gradients.items()}, norm
    if norm > limit:
        torch._foreach_mul_(list(values.values()), limit / norm)
    return gradients, norm


def _shrinking(parameter: Tensor, gradient: Tensor, rows_only: bool, table: bool) -> Tensor:
    """0.1 times the parameter, of the gradient's rows alone if they are asked for."""
    if rows_only and gradient.is_sparse:
        gradient.values().copy_(0.1 * parameter[gradient.indices()[0]])
        return gradient
    return 0.1 * parameter * (_rows_with_gradient(gradient) if rows_only and table else 1)


def _rows_with_gradient(gradient: Tensor) -> Tensor:
    """bool ``[V, 1, ...]``, of a dense gradient ``[V, ...]``."""
    return (gradient != 0).view(len(gradient), -1).any(1).view(-1, *[1] * (gradient.dim() - 1))
