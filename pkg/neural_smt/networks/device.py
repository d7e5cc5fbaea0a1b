"""Where a network runs and in which precision."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch

from neural_smt.errors import UserError


def select_device(name: str) -> torch.device:
    """The device of ``"auto"`` (CUDA when there is one), ``"cpu"`` or ``"cuda"``.

    Raises ``UserError`` when CUDA is asked for and missing: a run meant for a GPU must not crawl on in silence.
    """
    if name not in ("auto", "cpu", "cuda"):
        raise UserError(f"device is {name!r}; set it to auto, cpu or cuda")
    available = torch.cuda.is_available()
    if name == "cuda" and not available:
        raise UserError(
            "device is cuda, but PyTorch finds no CUDA device; set it to auto or cpu, or run where a GPU is"
        )
    return torch.device("cuda" if available and name != "cpu" else "cpu")


def describe_device(device: torch.device) -> str:
    """A line for the log: the GPU's name, or the number of CPU threads."""
    if device.type == "cuda":
        return f"cuda ({torch.cuda.get_device_name(device)})"
    return f"cpu ({torch.get_num_threads()} threads)"


def precision_context(device: torch.device, precision: str) -> AbstractContextManager:
    """Autocast to bfloat16 for ``"bf16"``, or for ``"auto"`` on CUDA; nothing for ``"fp32"``.

    Weights, states, log-probabilities and sums stay in float32; only matrix products are rounded.
    """
    if precision not in ("auto", "fp32", "bf16"):
        raise UserError(f"precision is {precision!r}; set it to auto, fp32 or bf16")
    if precision == "bf16" or (precision == "auto" and device.type == "cuda"):
        return torch.autocast(device.type, dtype=torch.bfloat16)
    return nullcontext()


@contextmanager
def repeatable(device: torch.device) -> Iterator[None]:
    """What is trained on CPUs is the same in every run, with any number of threads that stays the same.

    Threads would otherwise add up the gradients of rows that were gathered more than once in the order they come.
    """
    if device.type != "cpu":
        yield
        return
    # not use_deterministic_algorithms, which imports a compiler for a second
    before, filled = torch.get_deterministic_debug_mode(), torch.utils.deterministic.fill_uninitialized_memory
    torch.set_deterministic_debug_mode("error")
    torch.utils.deterministic.fill_uninitialized_memory = False
    try:
        yield
    finally:
        torch.set_deterministic_debug_mode(before)
        torch.utils.deterministic.fill_uninitialized_memory = filled
