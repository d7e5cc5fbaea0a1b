"""The matrix products that some work executes, recorded as it runs, and how long they take by themselves."""

import math
import time
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from neural_smt.networks.device import PackedLayer
from neural_smt.networks.distinct import Level
from neural_smt.rescoring.scorer import PairScorer, one_thread_each


class Product(NamedTuple):
    """``[rows, inner] @ [inner, columns]``; whether each factor is a transposed view, the type of both, who multiplies:
    PyTorch's mm, oneDNN, or oneDNN with the right one ``packed`` (``PackedLayer``); and of a stack its length.
    """

    rows: int
    inner: int
    columns: int
    transposed: tuple[bool, bool]
    dtype: torch.dtype
    device: torch.device
    by: Literal["mm", "onednn", "packed"] = "mm"
    stack: tuple[int, ...] = ()

    @property
    def operations(self) -> int:
        """Floating-point operations, a multiplication and an addition each counted."""
        return 2 * self.rows * self.inner * self.columns * math.prod(self.stack)


class Recorder(TorchDispatchMode):
    """Notes every matrix product of the thread that enters it, those of the backward pass included, in ``products``;
    of stacks those that are no products of a matrix and a vector.
    """

    def __init__(self) -> None:
        super().__init__()
        self.products: list[Product] = []

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        aten = torch.ops.aten
        if function.overloadpacket in (aten.mm, aten.addmm, aten.addmm_, aten.bmm, aten.baddbmm):
            # on CUDA the type of the result may follow
            left, right = [arg for arg in args if isinstance(arg, Tensor)][-2:]
            *stack, rows, inner = left.shape
            columns = right.shape[-1]
            if not stack or min(rows, columns) > 1:
                transposed = left.stride(-2) < left.stride(-1), right.stride(-2) < right.stride(-1)
                shape = rows, inner, columns
                self.products.append(Product(*shape, transposed, left.dtype, left.device, stack=tuple(stack)))
        elif function.overloadpacket is torch.ops.mkldnn._linear_pointwise:
            left, weight = args[:2]
            turned = False if weight.is_mkldnn else left.stride(0) < left.stride(1)
            transposed = turned, weight.is_mkldnn or weight.is_contiguous()
            by: Literal["onednn", "packed"] = "packed" if weight.is_mkldnn else "onednn"
            self.products.append(Product(*left.shape, weight.shape[0], transposed, left.dtype, left.device, by))
        return function(*args, **(kwargs or {}))


class RecordingScorer(PairScorer):
    """A scorer that keeps the matrix products of every chunk in ``chunks``."""

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self.chunks: list[list[Product]] = []

    def score_tries(self, sources: list[Level], pairs: list[Level]) -> np.ndarray:
        """As ``PairScorer`` does."""
        with Recorder() as recorder:
            scores = super().score_tries(sources, pairs)
        self.chunks.append(recorder.products)
        return scores


class Bare:
    """Executes products on matrices made before, by the same library: nothing is read but them, nothing added, and no
    memory asked for (but that of oneDNN's results).

    parts: products that one thread executes in order; threads: the most that will share the parts.
    """

    def __init__(self, parts: Sequence[Sequence[Product]], threads: int = 1):
        self.parts = parts
        self.operations = sum(product.operations for part in parts for product in part)
        self.matrices: dict[tuple, Tensor] = {}
        self.layers: dict[tuple, PackedLayer] = {}
        for product in {product for part in parts for product in part}:
            rows, inner, columns, transposed, dtype, device, by, stack = product
            if by == "packed":
                layer = PackedLayer(torch.randn(columns, inner), None, rows)
                self.layers.setdefault((inner, columns), layer)
            for shape, turned in (((rows, inner), transposed[0]), ((inner, columns), transposed[1])):
                if (*stack, *shape, turned, dtype) not in self.matrices:
                    matrix = torch.randn(*stack, *(shape[::-1] if turned else shape), device=device, dtype=dtype)
                    self.matrices[*stack, *shape, turned, dtype] = matrix.mT if turned else matrix
        results = [math.prod(one.stack) * one.rows * one.columns for part in parts for one in part]
        self.rooms: SimpleQueue[Tensor] = SimpleQueue()
        for _ in range(threads):
            self.rooms.put(torch.empty(max(results), device=parts[0][0].device))

    def one_after_another(self) -> None:
        """All parts in this thread, with as many of PyTorch's threads as are set."""
        for part in self.parts:
            self._execute(part)

    def side_by_side(self, workers: int) -> None:
        """All parts, shared by ``workers`` threads as they become free."""
        with one_thread_each(workers) as pool:
            list(pool.map(self._execute, self.parts))

    def _execute(self, part: Sequence[Product]) -> None:
        room = self.rooms.get()
        for rows, inner, columns, transposed, dtype, _, by, stack in part:
            left = self.matrices[*stack, rows, inner, transposed[0], dtype]
            right = self.matrices[*stack, inner, columns, transposed[1], dtype]
            if by == "packed":
                self.layers[inner, columns](left)
            elif by == "onednn":
                torch.ops.mkldnn._linear_pointwise(left, right.t(), None, "none", [], "")
            else:
                shape = *stack, rows, columns
                multiply = torch.bmm if stack else torch.mm
                multiply(left, right, out=room.view(dtype)[: math.prod(shape)].view(shape))
        self.rooms.put(room)


def timed(work: Callable[[], object]) -> float:
    """Seconds of a call, until a GPU has done what it asks for."""
    began = time.perf_counter()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - began


def in_turn(first: Callable[[], object], second: Callable[[], object], seconds: float) -> tuple[float, float]:
    """Mean seconds of both, called in turn for so long, at least three times, after a first call of each.

    Whatever else the machine does slows both.
    """
    timed(first), timed(second)
    began, times = time.perf_counter(), []
    while len(times) < 3 or time.perf_counter() - began < seconds:
        times.append((timed(first), timed(second)))
    means = np.mean(times, axis=0)
    return float(means[0]), float(means[1])
