"""The kernels for GPUs: compiled for one without there being one. (What they compute, ``tests/device`` tests.)"""

from typing import Any

import pytest

triton = pytest.importorskip("triton", reason="no Triton, which comes with PyTorch for CUDA")

from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402

from neural_smt.networks.triton_kernels import attention, gated, launching, output, recurrent  # noqa: E402

KERNELS = {
    name: kernel
    for module in (attention, gated, output, recurrent)
    for name, kernel in vars(module).items()
    if getattr(kernel, "do_not_specialize", None)
}

NARROW = {"terms", "products", "next_factor", "d_terms", "offsets", "factors", "d_queries", "d_logits"}
"""Arrays that are rounded."""

NUMBERS = {*launching.COUNTS, "length", "units", "bptt"}

OTHERS = {"targets": "*i64", "owners": "*i64", "padding": "*i1", "starts": "*i64", "cutoff": "fp32"}

CONSTANTS = {"hidden": 1000, "together": 1, "padded": 128, "longest": 64, "width": 2000}


def signature(kernel: Any, missing: set[str]) -> tuple[dict[str, str], dict[str, Any]]:
    """Types and constants of a kernel's arguments at the papers' sizes."""
    types, constants = {}, {}
    for name in kernel.arg_names:
        if name in missing:
            types[name], constants[name] = "constexpr", None
        elif name in NUMBERS:
            types[name] = "i32"
        elif name in CONSTANTS or name.endswith("width"):
            types[name], constants[name] = "constexpr", CONSTANTS.get(name, 3000)
        elif name == "block":
            sizes = {"hidden": gated.BLOCK, "keys": attention.UNITS, "logits": output.LOGITS}
            (block,) = (sizes[array] for array in sizes if array in kernel.arg_names)
            types[name], constants[name] = "constexpr", block
        elif name in OTHERS:
            types[name] = OTHERS[name]
        else:
            types[name] = "*bf16" if name in NARROW else "*fp32"
    return types, constants


OPTIONAL = {"states", "next_factor", "others", "offsets", "owners", "asked", "factors", "first", "second", "chances"}


@pytest.mark.parametrize("missing", [set(), OPTIONAL], ids=["all", "least"])
@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_compiles_for_a_gpu(name: str, missing: set[str]) -> None:
    kernel = KERNELS[name]
    whole = "padded" in kernel.arg_names
    types, constants = signature(kernel, set() if whole else missing & set(kernel.arg_names))
    if whole:
        constants |= {"hidden": 100, "together": recurrent.SENTENCES}
    made = triton.compile(ASTSource(kernel, types, constants), target=GPUTarget("cuda", 90, 32))
    assert made.asm["cubin"] and made.metadata.shared < 200_000
