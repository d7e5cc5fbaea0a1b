"""A CUDA device that is simulated where there is none, as a plugin of pytest for the tests that are marked ``gpu``.

Tensors say that they are on ``cuda:0`` and hold their numbers on the CPU. They may not be mixed with tensors of the
CPU, and what they would cost is counted where the project asks for it: kernels that are launched, copies to the device,
and calls that wait for it. A graph does nothing when it is captured, and the same whenever it is replayed. Not
simulated: what kernels of CUDA can do, their rounding, NCCL, streams, memory.
"""

import ctypes
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.util import find_spec
from types import CodeType
from typing import Any
from unittest.mock import patch

# before Triton is imported
os.environ["TRITON_INTERPRET"] = "1"
# before PyTorch asks whether there is a device
ctypes.CDLL(os.environ["SIMULATED_CUDA"], mode=ctypes.RTLD_GLOBAL)

import pytest  # noqa: E402
import torch  # noqa: E402
from torch import Tensor, distributed  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes  # noqa: E402

DEVICE = torch.device("cuda:0")

PACKAGE = f"{os.sep}neural_smt{os.sep}"

NO_LAUNCH = {
    *("_unsafe_view", "_reshape_alias", "lift_fresh", "set_", "resize_", "is_same_size"),
    *("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"),
    *("_nnz", "_indices", "_values", "indices", "values", "sparse_dim", "dense_dim", "is_coalesced", "_coalesced_"),
    *("_sparse_coo_tensor_with_dims_and_tensors", "_sparse_coo_tensor_unsafe", "_validate_sparse_coo_tensor_args"),
}
"""Operations that launch nothing, besides views."""

WAITS = {
    *("_local_scalar_dense", "is_nonzero", "equal", "nonzero", "masked_select"),
    *("_unique2", "unique_dim", "unique_consecutive", "_coalesce", "coalesce"),
}
"""Operations whose result, or its size, the host waits for."""

INDEXED = {"index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index"}
"""Operations that take indices of the CPU and upload them."""

UNALIGNED_FLOPS = 1e6
"""Products of fewer operations may have any strides."""

FACTORS = {"mm": (0, 1), "bmm": (0, 1), "addmm": (1, 2), "baddbmm": (1, 2)}
"""Where matrix products have their factors."""


class Mixed(RuntimeError):
    """A tensor of the CPU met one of the device."""


@cache
def place_of(code: CodeType) -> str:
    """A function of the project: its module, and its name there; nothing for one from elsewhere."""
    _, found, module = code.co_filename.rpartition(PACKAGE)
    return f"{module.removesuffix('.py').replace(os.sep, '.')}.{code.co_qualname}" if found else ""


def place() -> str:
    """The function of the project that is being run."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        if found := place_of(frame.f_code):
            return found
        frame = frame.f_back
    return "elsewhere"


@dataclass
class Counted:
    """What was asked of the device, by ``place``; unaligned: products of more than ``UNALIGNED_FLOPS`` with rows that
    do not begin at multiples of 16 bytes.
    """

    launches: Counter[str] = field(default_factory=Counter)
    uploads: Counter[str] = field(default_factory=Counter)
    waits: Counter[str] = field(default_factory=Counter)
    unaligned: Counter[str] = field(default_factory=Counter)


counted = Counted()


class DeviceTensor(Tensor):
    """A tensor of the device; held: the same on the CPU."""

    held: Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @staticmethod
    def __new__(cls, held: Tensor) -> "DeviceTensor":
        layout: dict[str, Any] = {"layout": held.layout}
        if held.layout == torch.strided:
            layout |= {"strides": held.stride(), "storage_offset": held.storage_offset()}
        made = Tensor._make_wrapper_subclass(cls, held.size(), dtype=held.dtype, device=DEVICE, **layout)
        made.held = held
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return run(func, args, kwargs or {})

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        return f"DeviceTensor({self.held!r})"

    def tolist(self) -> Any:
        counted.waits[place()] += 1
        return self.held.tolist()

    def numpy(self, *_: Any, **__: Any) -> Any:
        raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy it first.")

    __array__ = numpy


def held(value: Any) -> Any:
    return value.held if isinstance(value, DeviceTensor) else value


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """A value, or lists and tuples of them to any depth, with a function of each."""
    if isinstance(value, tuple | list):
        return type(value)([mapped(function, part) for part in value])
    return function(value)


def tensors_in(values: Iterable[Any]) -> Iterator[Tensor]:
    """All tensors in lists and tuples of any depth."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, tuple | list):
            yield from tensors_in(value)


def run(func: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Compute an operation on the CPU, count it, and let its results be where they belong."""
    name, where = func._schema.name.partition("::")[2], place()
    tensors = list(tensors_in((*args, *kwargs.values())))
    ours = {id(tensor.held): tensor for tensor in tensors if isinstance(tensor, DeviceTensor)}
    named = None if kwargs.get("device") is None else torch.device(kwargs["device"]).type
    there = bool(ours) if named is None else named == "cuda"
    if func.namespace == "aten":
        _count(func, name, where, args, kwargs, tensors, there)
    given = {key: mapped(held, value) for key, value in kwargs.items()} | ({} if named is None else {"device": "cpu"})
    if given.get("pin_memory"):
        given["pin_memory"] = False
    if func in (torch.ops.aten.mm.dtype, torch.ops.aten.bmm.dtype, torch.ops.aten.addmm.dtype):
        # what CUDA alone has
        compute = partial(_wide_product, *mapped(held, args))
    else:
        compute = partial(func, *mapped(held, args), **given)
    result = compute() if capture is None else capture.record(func, compute)

    def back(value: Any) -> Any:
        if not isinstance(value, Tensor) or isinstance(value, DeviceTensor):
            return value
        # what is written in place, or into out, comes back as what was given
        if id(value) in ours:
            return ours[id(value)]
        return DeviceTensor(value) if there else value

    return mapped(back, result)


def _wide_product(*arguments: Any) -> Tensor:
    """``mm``, ``bmm`` or ``addmm`` with a type of the result."""
    *offset, left, right, wide = arguments
    return sum(offset, left.to(wide) @ right.to(wide))


class Capture:
    """What is asked of the device while a graph is captured.

    It is done, as shapes follow from it; but what it overwrites comes back at the end, and what it made is no number
    until the graph is replayed.
    """

    def __init__(self) -> None:
        self.steps: list[Callable[[], object]] = []
        self.made: dict[int, Tensor] = {}
        self.before: dict[int, tuple[Tensor, Tensor]] = {}

    def record(self, func: Any, compute: partial) -> Any:
        """Do something, and be ready to do it again."""
        asked = func._schema.arguments
        written = [value for value, one in zip(compute.args, asked, strict=False) if _is_written(one)]
        written += [compute.keywords[one.name] for one in asked if one.name in compute.keywords and _is_written(one)]
        for tensor in tensors_in(written):
            if _memory(tensor) not in self.made:
                self.before.setdefault(id(tensor), (tensor, tensor.clone()))
        read = set(map(_memory, tensors_in((*compute.args, *compute.keywords.values()))))
        result = compute()
        found = list(tensors_in([result]))
        self.made |= {_memory(tensor): tensor for tensor in found if _memory(tensor) not in read}
        if not func.is_view and func._schema.name.partition("::")[2] not in NO_LAUNCH:
            self.steps.append(lambda: _overwrite(found, list(tensors_in([compute()]))))
        return result

    def end(self) -> None:
        """Undo everything."""
        for tensor, kept in self.before.values():
            tensor.copy_(kept)
        for tensor in self.made.values():
            if tensor.is_floating_point():
                tensor.fill_(torch.nan)


def _is_written(argument: Any) -> bool:
    return argument.alias_info is not None and argument.alias_info.is_write


def _memory(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _overwrite(kept: list[Tensor], made: list[Tensor]) -> None:
    for one, other in zip(kept, made, strict=True):
        if one is not other:
            one.copy_(other)


capture: Capture | None = None


class Graph:
    """In the place of ``torch.cuda.CUDAGraph``."""

    def __init__(self) -> None:
        self.steps: list[Callable[[], object]] = []

    def replay(self) -> None:
        """Do again what it was captured with."""
        counted.launches[place()] += 1
        with _disable_current_modes():
            for step in self.steps:
                step()


@contextmanager
def capturing(graph: Graph, pool: Any = None, capture_error_mode: str = "global") -> Iterator[None]:
    """In the place of ``torch.cuda.graph``."""
    global capture
    capture, launches, others = Capture(), counted.launches.copy(), counted.uploads + counted.waits
    try:
        yield
    finally:
        graph.steps, ended, capture = capture.steps, capture, None
        counted.launches = launches
        with _disable_current_modes():
            ended.end()
    if refused := counted.uploads + counted.waits - others:
        raise RuntimeError(f"CUDA error: operation not permitted when stream is capturing, at {', '.join(refused)}")


def _count(
    func: Any, name: str, where: str, args: tuple, kwargs: dict[str, Any], tensors: list[Tensor], there: bool
) -> None:
    ours = [isinstance(tensor, DeviceTensor) for tensor in tensors]
    if name in ("_to_copy", "copy_", "_copy_from"):
        target, source = (there, ours[0]) if name == "_to_copy" else (ours[0], ours[1])
        counted.uploads[where] += target and not source
        counted.waits[where] += source and not target
    elif any(ours):
        others = [tensor for tensor in tensors if not isinstance(tensor, DeviceTensor) and tensor.dim() > 0]
        if name in INDEXED:
            indices = [index for index in args[1] if isinstance(index, Tensor)]
            counted.waits[where] += any(index.dtype in (torch.bool, torch.uint8) for index in indices)
            counted.uploads[where] += sum(not isinstance(index, DeviceTensor) for index in indices)
            others = [tensor for tensor in others if all(tensor is not index for index in indices)]
        if others:
            raise Mixed(f"{name} takes tensors of the CPU and of the device at {where}")
        sizes_unknown = name == "repeat_interleave" and len(tensors) == 1 and kwargs.get("output_size") is None
        counted.waits[where] += name in WAITS or sizes_unknown
    if there and not func.is_view and name not in NO_LAUNCH:
        counted.launches[where] += 1
        if name in FACTORS:
            left, right = (args[number] for number in FACTORS[name])
            counted.unaligned[where] += _unaligned(left, right)


def _unaligned(left: Tensor, right: Tensor) -> bool:
    if 2.0 * left.numel() * right.shape[-1] < UNALIGNED_FLOPS:
        return False
    return any(max(part.stride()[-2:]) * part.element_size() % 16 for part in (left, right))


def launch(kernel: Any, grid: tuple[int, ...], *arguments: Any, **constants: Any) -> None:
    """Have Triton's interpreter do what a kernel would, and count it."""
    wrong = [tensor for tensor in tensors_in(arguments) if not isinstance(tensor, DeviceTensor)]
    if wrong:
        raise Mixed(f"a kernel takes a tensor of the CPU at {place()}")
    counted.launches[place()] += 1
    start = partial(kernel[grid], *mapped(held, arguments), **constants)
    start()
    if capture is not None:
        capture.steps.append(start)


class _Everywhere(TorchDispatchMode):
    """Tensors that are made on the device too."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return run(func, args, kwargs or {})


class _SameThread:
    """Modes belong to a thread: a pool that works in the one that asks."""

    @staticmethod
    def map(function: Callable, *values: Any) -> Iterator:
        return map(function, *values)


OF_A_DEVICE: dict[str, Any] = {
    "is_available": lambda: True,
    "is_initialized": lambda: True,
    "is_bf16_supported": lambda *_, **__: True,
    "device_count": lambda: 2,
    "set_device": lambda *_: None,
    "current_device": lambda: 0,
    "get_device_name": lambda *_: "simulated",
    "get_device_capability": lambda *_: (9, 0),
    "synchronize": lambda *_: None,
    "empty_cache": lambda: None,
    "reset_peak_memory_stats": lambda *_: None,
    "max_memory_allocated": lambda *_: 1,
    "CUDAGraph": Graph,
    "graph": capturing,
    "graph_pool_handle": lambda: None,
    "_lazy_init": lambda: None,
}


@contextmanager
def simulated() -> Iterator[Counted]:
    """A block in which there is a device; what it was asked for."""
    global counted
    counted = Counted()
    with ExitStack() as stack:
        stack.enter_context(patch.multiple(torch.cuda, **OF_A_DEVICE))
        if find_spec("triton"):
            stack.enter_context(patch("neural_smt.networks.triton_kernels.launching.launch", launch))
        join = distributed.init_process_group
        stack.enter_context(
            patch.object(distributed, "init_process_group", lambda how: join(how.replace("nccl", "gloo")))
        )
        # threads that pack minibatches have no device
        stack.enter_context(patch("neural_smt.networks.device.pinned", partial(torch.empty, dtype=torch.uint8)))
        stack.enter_context(torch.autograd.set_multithreading_enabled(False))
        stack.enter_context(_Everywhere())
        torch.__future__.set_overwrite_module_params_on_conversion(True)
        torch._C._set_only_lift_cpu_tensors(True)
        stack.callback(torch._C._set_only_lift_cpu_tensors, False)
        yield counted


def pytest_configure(config: pytest.Config) -> None:
    """Tests that are marked ``gpu`` find a device when they are read."""
    torch.cuda.is_available = OF_A_DEVICE["is_available"]
    torch.cuda.device_count = OF_A_DEVICE["device_count"]


@pytest.fixture(autouse=True)
def simulation(request: pytest.FixtureRequest) -> Iterator[Counted | None]:
    """The device of a test that is marked ``gpu``."""
    if request.node.get_closest_marker("gpu") is None:
        yield None
        return
    in_turn = contextmanager(lambda workers: iter([_SameThread]))
    with patch("neural_smt.rescoring.scorer.one_thread_each", in_turn), simulated() as found:
        yield found
