"""Where and how networks compute: devices, precision, packed weights.

Matrix products: by default PyTorch calls MKL for float32 products on a CPU. On processors that are not Intel's it takes
twice as long as oneDNN. On Intel's it is the faster one where batches have sides of their own, for each of which oneDNN
compiles a product; but what it makes of a row depends on the rows beside it. So networks are trained by MKL there
(``repeatable``), and everything else is multiplied by oneDNN, weights that stay as they are packed for it once. Intel's
processors since 2023 multiply bfloat16 in tiles of 16 rows, two to four times as fast as float32: there networks are
trained by oneDNN after all, which rounds the factors of a product by itself and leaves its sums in float32.
"""

import dataclasses
import functools
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from neural_smt.errors import UserError

CPU = torch.device("cpu")


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


def precision_context(device: torch.device, precision: str) -> AbstractContextManager[Any]:
    """Autocast to bfloat16 for ``"bf16"``, or for ``"auto"`` on CUDA; nothing for ``"fp32"``.

    Weights, states, log-probabilities and sums stay in float32; only matrix products are rounded.
    """
    if precision not in ("auto", "fp32", "bf16"):
        raise UserError(f"precision is {precision!r}; set it to auto, fp32 or bf16")
    if precision == "bf16" or (precision == "auto" and device.type == "cuda"):
        return torch.autocast(device.type, dtype=torch.bfloat16)
    return nullcontext()


@contextmanager
def repeatable(device: torch.device, in_tiles: bool = False) -> Iterator[None]:
    """What is trained here is the same in every run, on CPUs with any number of threads that stays the same.

    Threads would otherwise add up the gradients of rows that were gathered more than once in the order they come. On a
    GPU PyTorch warns of a sum that it cannot repeat. in_tiles: whether a CPU that can do so rounds factors of products,
    on the way back too.
    """
    if device.type != "cpu":
        # read when the first matrix is multiplied: products whose sums do not depend on what runs beside them
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    # not use_deterministic_algorithms, which imports a compiler for a second
    memory: Any = torch.utils.deterministic
    before, filled = torch.get_deterministic_debug_mode(), memory.fill_uninitialized_memory
    torch.set_deterministic_debug_mode("error" if device.type == "cpu" else "warn")
    memory.fill_uninitialized_memory = False
    onednn: Any = torch.backends.mkldnn
    usual = onednn.matmul.fp32_precision
    onednn.matmul.fp32_precision = "bf16" if in_tiles else usual
    _now.training = True
    try:
        yield
    finally:
        _now.training = False
        onednn.matmul.fp32_precision = usual
        torch.set_deterministic_debug_mode(before)
        memory.fill_uninitialized_memory = filled


@functools.cache
def _processor() -> frozenset[str]:
    """What Linux tells of the processor, nothing elsewhere: its maker, and what it can do."""
    try:
        return frozenset(Path("/proc/cpuinfo").read_text().split())
    except OSError:
        return frozenset()


def by_intel() -> bool:
    """Whether the processor is Intel's, as far as Linux tells."""
    return "GenuineIntel" in _processor()


def multiplies_in_tiles() -> bool:
    """Whether the processor multiplies bfloat16 in tiles (AMX), and PyTorch can be told to."""
    return "amx_bf16" in _processor() and onednn_offered()


@functools.cache
def onednn_offered() -> bool:
    """Whether PyTorch was built with oneDNN."""
    # These functions are what PyTorch's compiler calls; they are not among its documented ones.
    return torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")


_now = SimpleNamespace(training=False)


def trained_by_onednn() -> bool:
    """Whether oneDNN multiplies float32 in training too, which compiles a product for each shape."""
    return onednn_offered() and not (by_intel() and torch.backends.mkl.is_available())


def onednn_chosen() -> bool:
    """Whether oneDNN multiplies."""
    return trained_by_onednn() if _now.training else onednn_offered()


def _by_onednn(factor: Tensor) -> bool:
    return factor.dtype == torch.float32 and factor.device.type == "cpu" and factor.shape[-1] > 0 and onednn_chosen()


MULTIPLE, LARGE = 64, 1 << 19
"""Long sides of matrices of fewer numbers than ``LARGE`` are filled up to this multiple. oneDNN compiles a product for
each shape, a quarter of a millisecond that few updates would share if every batch had sides of its own.
"""


def _filled(matrix: Tensor) -> Tensor:
    """The matrix with rows of zeros, up to a length that others have too."""
    missing = -len(matrix) % MULTIPLE
    if missing and len(matrix) > 2 * MULTIPLE and matrix.numel() < LARGE:
        return nn.functional.pad(matrix, (0, 0, 0, missing))
    return matrix


def _onednn(factor: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``factor @ weight.T + bias``."""
    if not (weight.is_contiguous() or weight.t().is_contiguous()):
        # a part of a larger matrix would be multiplied a thousand times as slowly
        weight = weight.contiguous()
    result = torch.ops.mkldnn._linear_pointwise(_filled(factor), weight, bias, "none", [], "")
    return result if len(result) == len(factor) else result[: len(factor)]


def _multiply(left: Tensor, right: Tensor) -> Tensor:
    if not _by_onednn(left):
        return left @ right
    if left.stride(0) >= left.stride(1):
        return _onednn(left, right.t())
    if not (right.is_contiguous() or right.t().is_contiguous()):
        # turning a part of a larger matrix takes six times as long as copying it
        right = right.contiguous()
    # turning a large left factor takes long, a right one no time
    if left.numel() < LARGE and right.numel() < LARGE:
        left, right = _filled(left.t()).t(), _filled(right)
    return _onednn(right.t(), left).t()


def product(left: Tensor, right: Tensor, dtype: torch.dtype, wide: torch.dtype | None = None) -> Tensor:
    """``left @ right`` of matrices, or of stacks of them on a GPU, both rounded to ``dtype``, in the type ``wide``
    (that of ``left`` if None); without gradient.

    Factors alone are rounded: sums stay in float32. (Rounded to bfloat16, logits would make probabilities add up to
    between 0.98 and 1.02.)
    """
    wide = wide or left.dtype
    if left.dtype == wide == dtype:
        return _multiply(left, right)
    factors = left.to(dtype), right.to(dtype)
    if left.is_cuda:
        return (torch.mm if left.dim() == 2 else torch.bmm)(*factors, out_dtype=wide)
    with torch.autocast(left.device.type, enabled=False):
        return factors[0].to(wide) @ factors[1].to(wide)


def affine(
    offset: Tensor, factor: Tensor, weight: Tensor, out: Tensor | None = None, dtype: torch.dtype | None = None
) -> Tensor:
    """``offset + factor @ weight.T`` in the type of ``factor``; without gradient. Factors of the product are rounded to
    ``dtype``, or like ``weight`` or ``offset`` if one of them is.
    """
    dtype = dtype or (weight.dtype if weight.dtype.itemsize < offset.dtype.itemsize else offset.dtype)
    if factor.is_cuda and out is None and dtype != offset.dtype:
        return torch.addmm(offset, factor.to(dtype), weight.t().to(dtype), out_dtype=offset.dtype)
    if dtype == factor.dtype and not _by_onednn(factor):
        return torch.addmm(offset, factor, weight.t(), out=out)
    if dtype == factor.dtype and offset.dim() == 1 and out is None:
        return _onednn(factor, weight, offset)
    return torch.add(offset, product(factor, weight.t(), dtype), out=out)


def missing(tensor: Tensor, length: int) -> int:
    """To a multiple of 8 on a GPU, whose fast products want rows of a multiple of 16 bytes."""
    return -length % 8 if tensor.is_cuda else 0


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor | None, dtype: torch.dtype) -> Tensor:
        ctx.save_for_backward(inputs, weight)
        ctx.dtype = dtype
        if bias is None:
            return product(inputs, weight.t(), dtype, weight.dtype)
        return affine(bias, inputs, weight, dtype=dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_output: Tensor) -> tuple[Tensor | None, ...]:
        inputs, weight = ctx.saved_tensors
        asked, d_bias = ctx.needs_input_grad, d_output.sum(0) if ctx.needs_input_grad[2] else None
        if further := missing(d_output, len(weight)):
            d_output = nn.functional.pad(d_output, (0, further))
        d_weight = product(d_output.t(), inputs, ctx.dtype)[: len(weight)] if asked[1] else None
        if further:
            weight = nn.functional.pad(weight, (0, 0, 0, further))
        d_inputs = product(d_output, weight, ctx.dtype, inputs.dtype) if asked[0] else None
        return d_inputs, d_weight, d_bias, None


def rounded(inputs: Tensor) -> Tensor:
    """As autocast rounds what a layer is given, once for several layers."""
    kind = inputs.device.type
    return inputs.to(torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else inputs


def exact_linear(inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``inputs @ weight.T + bias``, differentiable, in the type of ``weight``: autocast rounds the factors alone."""
    kind = inputs.device.type
    dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else inputs.dtype
    with torch.autocast(kind, enabled=False):
        return _Linear.apply(inputs, weight, bias, dtype)


def linear(inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``inputs @ weight.T + bias``, differentiable: ``[N, I]``, ``[O, I]``, ``[O]`` -> ``[N, O]``; rounded as autocast
    says.
    """
    if not _by_onednn(inputs) or torch.is_autocast_enabled("cpu"):
        return nn.functional.linear(inputs, weight, bias)
    return _Linear.apply(inputs, weight, bias, inputs.dtype)


class Linear(nn.Linear):
    """A layer of ``linear``."""

    def forward(self, input: Tensor) -> Tensor:
        """``[N, I]`` -> ``[N, O]``."""
        return linear(input, self.weight, self.bias)


class ExactLinear(nn.Linear):
    """A layer of ``exact_linear``."""

    def forward(self, input: Tensor) -> Tensor:
        """``[N, I]`` -> ``[N, O]``."""
        return exact_linear(input, self.weight, self.bias)


def table_rows(table: Tensor, rows: Tensor) -> Tensor:
    """Rows of a table ``[V, ...]``, int64 of any shape, whose gradient is sparse on a CPU.

    On a GPU it is dense: going through the whole table takes less time there than summing what a row got in several
    places, for which the processor waits.
    """
    if table.dim() == 1:
        return torch.gather(table, 0, rows, sparse_grad=not table.is_cuda)
    return nn.functional.embedding(rows, table, sparse=not table.is_cuda)


R = TypeVar("R")


class Staged(NamedTuple):
    """A batch that was packed on the CPU, ready to travel: all its tensors of the CPU in one copy.

    batch: dataclasses and tuples in one another; what they hold besides such tensors stays as it is. tensors: the
    widest first, so that every one begins at a multiple of its own width; numbers: uint8, all of them one after the
    other, in memory that a device can read by itself.
    """

    batch: Any
    tensors: list[Tensor]
    numbers: Tensor

    @classmethod
    def of(cls, batch: Any) -> "Staged":
        """Of a batch."""
        found: dict[int, Tensor] = {}
        _mapped(batch, lambda tensor: found.setdefault(id(tensor), tensor))
        tensors = [tensor for tensor in found.values() if tensor.device.type == "cpu"]
        tensors.sort(key=lambda tensor: -tensor.element_size())
        sizes = [tensor.nbytes for tensor in tensors]
        numbers = pinned(sum(sizes))
        for tensor, part in zip(tensors, numbers.split(sizes), strict=True):
            part.view(tensor.dtype).view(tensor.shape).copy_(tensor)
        return cls(batch, tensors, numbers)

    def arrived(self, numbers: Tensor) -> Any:
        """The batch on a device that holds these numbers."""
        parts = zip(self.tensors, numbers.split([tensor.nbytes for tensor in self.tensors]), strict=True)
        moved = {id(tensor): part.view(tensor.dtype).view(tensor.shape) for tensor, part in parts}
        return _mapped(self.batch, lambda tensor: moved.get(id(tensor), tensor))

    def on(self, device: torch.device) -> Any:
        """The batch on a device."""
        return self.arrived(self.numbers.to(device, non_blocking=True)) if self.tensors else self.batch

    def shape(self) -> Any:
        """Hashable; batches of one shape differ in nothing but the numbers of tensors of the CPU (and of arrays of
        NumPy, which no device computes with).
        """
        places = {id(tensor): place for place, tensor in enumerate(self.tensors)}
        return _shape(self.batch, places), tuple((tensor.dtype, tensor.shape) for tensor in self.tensors)


def pinned(size: int) -> Tensor:
    """uint8 ``[size]``, memory of the CPU that a device can read while others work."""
    return torch.empty(size, dtype=torch.uint8, pin_memory=True)


def _shape(value: Any, places: dict[int, int]) -> Any:
    if isinstance(value, Tensor):
        return places.get(id(value), ("elsewhere", id(value)))
    if dataclasses.is_dataclass(value):
        return tuple(_shape(getattr(value, field.name), places) for field in dataclasses.fields(value))
    if isinstance(value, np.ndarray):
        return value.shape
    return tuple(_shape(part, places) for part in value) if isinstance(value, tuple | list) else value


def uploaded(batch: R, device: torch.device) -> R:
    """A batch that was packed on the CPU, on a device: its tensors travel in one copy (``Staged``)."""
    return batch if device.type == "cpu" else Staged.of(batch).on(device)


def downloaded(*tensors: Tensor) -> list[np.ndarray]:
    """Tensors of a device as arrays, which come in one copy."""
    if not tensors[0].is_cuda:
        return [tensor.numpy() for tensor in tensors]
    parts = [tensor.contiguous().view(-1).view(torch.uint8) for tensor in tensors]
    found = torch.cat(parts).cpu().split([len(part) for part in parts])
    # copied, as a part may begin where its type does not
    return [
        part.clone().view(tensor.dtype).view(tensor.shape).numpy() for part, tensor in zip(found, tensors, strict=True)
    ]


def _mapped(value: Any, function: Callable[[Tensor], Tensor]) -> Any:
    """The same with a function of every tensor."""
    if isinstance(value, Tensor):
        return function(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return dataclasses.replace(value, **{name: _mapped(getattr(value, name), function) for name in names})
    if isinstance(value, tuple):
        parts = [_mapped(part, function) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


class PackedLayer:
    """weight x + bias, rectified if asked for, without gradient: ``[N, inputs]`` -> ``[N, outputs]``.

    weight: ``[outputs, inputs]``; bias: ``[outputs]`` or none; rows: how many x are usual. ``None`` instead of a layer
    (``pack``) where PyTorch cannot pack: on a GPU, in other types than float32, or where it was built without oneDNN.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None, rows: int, rectified: bool = False):
        self.packed = torch.ops.mkldnn._reorder_linear_weight(weight.detach().contiguous(), rows)
        self.bias = None if bias is None else bias.detach()
        self.activation = "relu" if rectified else "none"

    def __call__(self, inputs: Tensor) -> Tensor:
        return torch.ops.mkldnn._linear_pointwise(inputs, self.packed, self.bias, self.activation, [], "")


def pack(weight: Tensor, bias: Tensor | None, rows: int, rectified: bool = False) -> PackedLayer | None:
    """The packed layer, or None where there is none (see ``PackedLayer``)."""
    return PackedLayer(weight, bias, rows, rectified) if _by_onednn(weight) else None
