"""The RNNLM toolkit's schedule of the learning rate."""

import math
from typing import Protocol


class Rated(Protocol):
    """An optimiser with a learning rate."""

    rate: float


class Halving:
    """The rate stays until an epoch gains little in validation entropy, then halves for every epoch; the second epoch
    that gains little is the last.

    Little: an entropy times ``improvement`` is not below the one before (1.003 in the toolkit: a gain below 0.3 %). As
    there, the entropy before is that of the epoch before, good or bad.
    """

    def __init__(self, optimiser: Rated, rate: float, improvement: float = 1.003):
        self.optimiser = optimiser
        self.rate = rate
        self.improvement = improvement

    def follow(self, perplexities: list[float]) -> bool:
        """Set the optimiser's rate to that of the next epoch; false when there should be none."""
        entropies = [math.log(perplexity) for perplexity in perplexities]
        rate, little = self.rate, 0
        for before, entropy in zip([math.inf, *entropies], entropies, strict=False):
            little += entropy * self.improvement >= before
            if little:
                rate /= 2
            if little == 2:
                return False
        self.optimiser.rate = rate
        return True
