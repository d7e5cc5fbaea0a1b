"""Networks with random weights, and their gradients beside finite differences."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest
import torch
from torch import Tensor, nn


def enlarge(network: nn.Module, deviation: float) -> None:
    """Add to every parameter, biases too, so much that each matters; float64."""
    random = np.random.default_rng(3)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += torch.from_numpy(random.normal(0.0, deviation, parameter.shape))


def dense(gradient: Tensor) -> Tensor:
    """A gradient without gaps."""
    return gradient.to_dense() if gradient.is_sparse else gradient


def assert_gradients_are_slopes(
    network: nn.Module, gradients: Mapping[str, Tensor], loss: Callable[[], Tensor]
) -> None:
    """The gradients (float64, by parameter) are those of ``loss``, along a random direction each."""
    random, step = np.random.default_rng(2), 1e-6
    for name, parameter in network.named_parameters():
        gradient, direction = dense(gradients[name]), torch.from_numpy(random.normal(size=parameter.shape))
        values = []
        for sign in (1, -1):
            with torch.no_grad():
                parameter += sign * step * direction
                values.append(loss().item())
                parameter -= sign * step * direction
        slope = (values[0] - values[1]) / (2 * step)
        assert (gradient * direction).sum().item() == pytest.approx(slope, rel=1e-6, abs=1e-7), name
