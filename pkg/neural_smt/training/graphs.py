"""CUDA graphs: what updates on minibatches of one shape ask of a GPU, captured once and launched at once from then on.

Networks are small for a GPU, so that launching their kernels one by one takes most of an update. A graph repeats what
it was captured with to the letter: only the numbers of the minibatch, of the weights and of what else lies where it lay
may differ, so that there is one for every shape of minibatch (which are filled up to have few, ``networks.packing``).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from neural_smt.networks.device import Staged

MOST = 256
"""Graphs that are kept; minibatches of other shapes are computed as they come."""


@dataclass(frozen=True)
class Graph:
    """captured: what is launched; numbers: uint8, where it finds those of the minibatch; learnt: the parameters that it
    finds gradients of.
    """

    captured: Any
    numbers: Tensor
    learnt: list[str]


class Graphs:
    """Leaves gradients of minibatches with the parameters, as ``differentiate`` does.

    differentiate: called with the inputs of a minibatch on the device and the divisor of its cost; whatever it computes
    besides it adds to tensors that are there. A shape is captured when it comes for the second time, as kernels are
    compiled and libraries loaded the first time.
    """

    def __init__(self, differentiate: Callable[[Any, int], None], parameters: dict[str, nn.Parameter]):
        self.differentiate, self.parameters = differentiate, parameters
        self.found: dict[Any, Graph | None] = {}
        # Graphs run one after the other, and nothing that one of them makes is read after the next one: all may use
        # the same memory. Gradients are copied out of it, to one place for all.
        self.memory = torch.cuda.graph_pool_handle()
        self.gradients = {name: torch.empty_like(parameter) for name, parameter in parameters.items()}
        self.device = next(iter(parameters.values())).device

    def __call__(self, batch: Staged, divisor: int) -> None:
        """Of a minibatch on its way; gradients are overwritten by the next call."""
        learnt = [name for name, parameter in self.parameters.items() if parameter.requires_grad]
        key = batch.shape(), divisor, *learnt
        if key not in self.found:
            if len(self.found) < MOST:
                self.found[key] = None
            self.differentiate(batch.on(self.device), divisor)
            return
        graph = self.found[key] or self._capture(batch, divisor, learnt)
        self.found[key] = graph
        graph.numbers.copy_(batch.numbers, non_blocking=True)
        graph.captured.replay()
        for name in graph.learnt:
            self.parameters[name].grad = self.gradients[name]

    def _capture(self, batch: Staged, divisor: int, learnt: list[str]) -> Graph:
        numbers = batch.numbers.to(self.device)
        inputs, captured = batch.arrived(numbers), torch.cuda.CUDAGraph()
        # threads that pack minibatches meanwhile take no part
        with torch.cuda.graph(captured, pool=self.memory, capture_error_mode="thread_local"):
            self.differentiate(inputs, divisor)
            gradients = {name: grad for name in learnt if (grad := self.parameters[name].grad) is not None}
            torch._foreach_copy_([self.gradients[name] for name in gradients], list(gradients.values()))
        return Graph(captured, numbers, list(gradients))
