"""One measurement on a GPU, in one process or several: time, memory, and the share of it that matrix products need."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from statistics import median
from unittest.mock import patch

import neural_smt  # noqa: F401  (before PyTorch: it sets up OpenMP)

import torch  # isort: skip
from lib.products import Bare, Product, timed  # isort: skip
from lib.workloads import Workload  # isort: skip

from neural_smt.io.files import write_json
from neural_smt.networks import recurrence
from neural_smt.networks.device import select_device
from neural_smt.planning.forecasts import costs
from neural_smt.training.launch import in_processes
from neural_smt.training.processes import Processes

LEAST = 3
"""Rounds that are timed, at least; their median counts."""

workload = cache(Workload)
"""Of a table and a name, made once in a process."""


def captured(work: Callable[[], object]) -> Callable[[], object]:
    """The same work as a CUDA graph: what it asked for is launched at once, without Python."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        work()
    return graph.replay


def seconds_of_products(products: Sequence[Product]) -> float:
    """The time of these products alone, in bfloat16."""
    bare = Bare([[product._replace(dtype=torch.bfloat16) for product in products]])
    # the library makes itself ready before anything is captured
    bare.one_after_another()
    replay = captured(bare.one_after_another)
    replay()
    return median(timed(replay) for _ in range(LEAST))


@in_processes
def measure(
    *,
    table: Path,
    name: str,
    factor: int,
    precision: str,
    kernels: bool,
    graphs: bool,
    seconds: float,
    device: str,
    output: Path,
    processes: int = 1,
) -> None:
    """Measure an entry of a table, for about so many seconds, and write figures as JSON.

    factor: of the minibatch, which all processes share; kernels: whether by those for Triton; graphs: whether updates
    are captured. Written are milliseconds of a minibatch, examples and target tokens per second, the share of the time
    that the products alone would take in bfloat16, gigabytes at most (of the first process); and, where rates of plans
    follow from it, the entry of their table, with seconds, MACs and time steps of a round as they count them.
    """
    torch.cuda.reset_peak_memory_stats()
    here, group = workload(table, name), Processes.current()
    with nullcontext() if kernels else patch.object(recurrence, "_kernels", lambda: None):
        work = here.work(factor, precision, select_device(device), graphs)
        parts = work.recorded()  # which compiles the kernels
        for _ in range(2 * graphs):
            work.run()  # every shape is met, and captured
        first = timed(work.run)
        # as many rounds in all processes
        rounds = max(LEAST, round(seconds * group.size / group.total(first)[0]))
        whole = median([first, *(timed(work.run) for _ in range(rounds - 1))])
        gigabytes = torch.cuda.max_memory_allocated() / 1e9
        products = sum(seconds_of_products(part) for part in parts if part)
    found = {
        "milliseconds": 1e3 * whole / work.minibatches,
        "examples_per_second": work.text.lines / whole,
        "tokens_per_second": work.tokens / whole,
        "share": products / whole,
        "gigabytes": gigabytes,
    }
    planned = {}
    if here.rule and (precision, kernels, graphs, group.size) == (here.precision, True, here.task == "train", 1):
        quantities = here.quantities(factor, work)
        macs, steps = map(quantities.value, costs()[quantities.entry].gpu)
        planned = {"rule": quantities.entry, "seconds": whole, "macs": macs, "steps": steps}
    if group.first:
        write_json(output, found | planned)
