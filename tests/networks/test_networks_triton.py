"""The kernels for GPUs: compiled for one without there being one. (What they compute, ``tests/device`` tests.)"""

import subprocess
from collections.abc import Collection
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import torch

triton = pytest.importorskip("triton", reason="no Triton, which comes with PyTorch for CUDA")

from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402

from neural_smt.networks.triton_kernels import attention, gated, launching, optimisers, output, recurrent  # noqa: E402

KERNELS = {
    name: kernel
    for module in (attention, gated, optimisers, output, recurrent)
    for name, kernel in vars(module).items()
    if getattr(kernel, "do_not_specialize", None)
}

NARROW = {"terms", "products", "next_factor", "d_terms", "offsets", "factors", "d_queries", "d_logits"}
"""Arrays that are rounded."""

NUMBERS = {*launching.COUNTS, "length", "units", "bptt", "count"}

OTHERS = {"targets": "*i64", "owners": "*i64", "padding": "*i1", "starts": "*i64"} | dict.fromkeys(
    ("cutoff", "rho", "epsilon", "beta1", "beta2", "rate", "decay", "correction"), "fp32"
)

CONSTANTS = {"hidden": 1000, "together": 1, "padded": 128, "longest": 64, "width": 2000, "whole": True}


def signature(kernel: Any, missing: set[str], block: int) -> tuple[dict[str, str], dict[str, Any]]:
    """Types and constants of a kernel's arguments at the papers' sizes; block: of a kernel that looks at words."""
    types, constants = {}, {}
    for name in kernel.arg_names:
        if name in missing:
            types[name], constants[name] = "constexpr", None
        elif name in NUMBERS:
            types[name] = "i32"
        elif name in CONSTANTS or name.endswith("width"):
            types[name], constants[name] = "constexpr", CONSTANTS.get(name, 3000)
        elif name == "block":
            sizes = {"hidden": gated.BLOCK, "keys": block, "logits": output.LOGITS, "parameter": optimisers.NUMBERS}
            (constants[name],) = (sizes[array] for array in sizes if array in kernel.arg_names)
            types[name] = "constexpr"
        elif name in OTHERS:
            types[name] = OTHERS[name]
        else:
            types[name] = "*bf16" if name in NARROW else "*fp32"
    return types, constants


def compiled(name: str, missing: Collection[str] = (), rows: int = 80, hidden: int = 100) -> Any:
    """A kernel for an H100, of so many rows, or hidden units of a recurrence."""
    kernel = KERNELS[name]
    whole, looks = "padded" in kernel.arg_names, "longest" in kernel.arg_names
    block, warps = attention.shape_of_programs(rows, CONSTANTS["longest"])
    types, constants = signature(kernel, set() if whole else set(missing) & set(kernel.arg_names), block)
    if whole:
        padded = triton.next_power_of_2(hidden)
        constants |= {"hidden": hidden, "padded": padded, "together": recurrent.SENTENCES}
    options = {"num_warps": recurrent.WARPS if whole else warps if looks else 4}
    return triton.compile(ASTSource(kernel, types, constants), target=GPUTarget("cuda", 90, 32), options=options)


OPTIONAL = {"states", "next_factor", "others", "offsets", "owners", "asked", "factors", "first", "second", "chances"}


@pytest.mark.parametrize("missing", [set(), OPTIONAL], ids=["all", "least"])
@pytest.mark.parametrize(
    ("name", "rows"),
    [(name, 80) for name in KERNELS] + [(name, 1280) for name in KERNELS if "longest" in KERNELS[name].arg_names],
)
def test_a_kernel_compiles_for_a_gpu_and_spills_nothing(
    name: str, rows: int, missing: set[str], tmp_path: Path
) -> None:
    """A thread with more numbers than registers is twenty times slower."""
    made = compiled(name, missing, rows)
    assert made.asm["cubin"] and made.metadata.shared < 200_000
    code = tmp_path / "kernel.ptx"
    code.write_text(made.asm["ptx"])
    command = [triton.knobs.nvidia.ptxas.path, "-v", "--gpu-name=sm_90a", code, "-o", tmp_path / "kernel"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    assert "0 bytes spill stores, 0 bytes spill loads" in told


@pytest.mark.parametrize(
    ("hidden", "shared", "kept"), [(100, 232_448, True), (100, 101_376, False), (64, 101_376, True)]
)
def test_a_recurrence_is_a_kernel_where_its_weights_find_room(
    hidden: int, shared: int, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an H100 and a smaller GPU have; the shared memory is that which the compiled kernel asks for."""
    driver = Mock()
    driver.active.utils.get_device_properties.return_value = {"max_shared_mem": shared}
    monkeypatch.setattr(triton.runtime, "driver", driver)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    assert recurrent.keeps.__wrapped__(hidden) == kept
    made = compiled("_recur", hidden=hidden)
    assert (made.metadata.shared <= shared) == kept
