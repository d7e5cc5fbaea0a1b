"""The running mean of a network's weights, which predicts better than they do where steps stay large."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

EVERY = 10
"""Updates from one taking of the mean to the next."""

DECAY = 9
"""Makes the mean one of about the last tenth of training, however long that is."""


class WeightMean:
    """Polynomial-decay averaging (Shamir and Zhang 2013, section 4): m <- m + (w - m) (D + 1) / (D + t).

    t counts the takings, one in ``EVERY`` updates, and D is ``DECAY``: recent weights count more, and the first ones
    nothing after a while. Steps of AdaDelta, or of Adam at one rate, do not shrink, so that weights wander about what
    they have learnt; their mean lies in the middle. The weights themselves do not depend on it.

    parameters: of the network, by name; wanted: whether there is a mean at all; tensors: that of each parameter,
    nothing before the first taking.
    """

    def __init__(self, parameters: dict[str, nn.Parameter], wanted: bool = True):
        self.parameters, self.wanted = parameters, wanted
        self.tensors: dict[str, Tensor] = {}

    @torch.no_grad()
    def follow(self, updates: int) -> None:
        """Take the weights after so many updates into the mean, if their time has come."""
        taking, rest = divmod(updates, EVERY)
        if rest or not self.wanted:
            return
        if not self.tensors:
            self.tensors = {name: torch.zeros_like(parameter) for name, parameter in self.parameters.items()}
        means = [self.tensors[name] for name in self.parameters]
        torch._foreach_lerp_(means, list(self.parameters.values()), (DECAY + 1) / (DECAY + taking))

    @torch.no_grad()
    def put(self) -> None:
        """Let the network have the mean for its weights, if there is one."""
        for name, mean in self.tensors.items():
            self.parameters[name].copy_(mean)

    @contextmanager
    def shown(self) -> Iterator[None]:
        """The network has the mean for its weights meanwhile, if there is one, in the same memory."""
        weights = {name: self.parameters[name].detach().clone() for name in self.tensors}
        self.put()
        try:
            yield
        finally:
            with torch.no_grad():
                for name, weight in weights.items():
                    self.parameters[name].copy_(weight)
