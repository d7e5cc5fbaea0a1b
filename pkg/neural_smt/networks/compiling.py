"""Steps of recurrent loops that PyTorch compiles where that is asked for (``training: {compile: true}``).

Between its matrix products a step is elementwise work of a dozen kernels, which compiled are a few: on a GPU starting
them takes longer than their work. On a processor it gains nothing, and compiling takes some seconds a network.
"""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import torch

from neural_smt.errors import UserError

P, R = ParamSpec("P"), TypeVar("R")

_asked = False
"""For all threads alike, as gradients are computed in threads of PyTorch's own."""


def compile_steps(asked: bool) -> None:
    """Say whether this process compiles ``compilable`` steps from now on; results then differ by roundings."""
    global _asked
    _asked = asked


def compilable(step: Callable[P, R]) -> Callable[P, R]:
    """A step without gradient of its own whose arguments that it writes into share no memory with others."""
    compiled = functools.cache(lambda: torch.compile(step, dynamic=True))

    @functools.wraps(step)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        if not _asked:
            return step(*args, **kwargs)
        try:
            return compiled()(*args, **kwargs)
        except (torch._dynamo.exc.BackendCompilerFailed, torch._dynamo.exc.TorchRuntimeError) as error:
            reason = str(error).strip().splitlines()[0]
            message = f"training: compile is on, but PyTorch cannot compile here ({reason}); set it to false"
            raise UserError(message) from None

    return run
