"""Optimisers against PyTorch's, row by row and as a whole; clipping."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from neural_smt.experiment.settings import Settings
from neural_smt.training import optimisers
from neural_smt.training.gradient_descent import GradientDescent
from neural_smt.training.optimisers import AdaDelta, Adam, clipped_gradients, optimiser_of

CONSTANTS = {"epsilon": 1e-6, "rho": 0.95}


def gradient_of_rows(rows: list[int], values: torch.Tensor, count: int) -> torch.Tensor:
    """The sparse gradient of ``count`` rows, of which these have ``values``."""
    return torch.sparse_coo_tensor(torch.tensor([rows]), values, (count, values.shape[1]), check_invariants=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_dense_steps_are_those_of_torch(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    shapes: dict[str, tuple[int, ...]] = {"w": (11, 6), "b": (11,), "s": ()}
    first = {name: torch.randn(shape, dtype=dtype) for name, shape in shapes.items()}
    steps = [{name: torch.randn_like(tensor) for name, tensor in first.items()} for _ in range(50)]
    theirs, ours = ({name: nn.Parameter(tensor.clone()) for name, tensor in first.items()} for _ in range(2))
    reference = torch.optim.Adadelta(theirs.values(), lr=1.0, rho=0.95, eps=1e-6)
    for step in steps:
        for name, gradient in step.items():
            theirs[name].grad = gradient
        reference.step()
    optimiser = AdaDelta(ours, **CONSTANTS)
    for step in steps:
        optimiser.step(step)
    for name, found in ours.items():
        torch.testing.assert_close(found, theirs[name], rtol=1e-5, atol=1e-7)


NEAR = {torch.float64: {"rtol": 1e-12, "atol": 1e-15}, torch.float32: {"rtol": 1e-5, "atol": 1e-6}}
"""Of PyTorch's operations, and of kernels."""


@pytest.mark.parametrize("dtype", NEAR)
@pytest.mark.parametrize(("shape", "whole_at"), [((20, 4), 30), ((20, 4), 0), ((20,), None)])
def test_sparse_steps_equal_dense_ones(shape: tuple[int, ...], whole_at: int | None, dtype: torch.dtype) -> None:
    """Rows that are rarely seen, a dense gradient in between (as after a non-finite norm), at first, or none: then rows
    that are never seen keep their bits, and those of their averages.
    """
    torch.manual_seed(1)
    sparse = nn.Parameter(torch.randn(shape, dtype=dtype))
    first = sparse.detach().clone()
    dense = nn.Parameter(first.clone())
    by_rows, whole = AdaDelta({"w": sparse}, **CONSTANTS), AdaDelta({"w": dense}, **CONSTANTS)
    for update in range(60):
        gradient = torch.zeros(shape, dtype=dtype)
        gradient[torch.randperm(15)[:3]] = torch.randn(3, *shape[1:], dtype=dtype)
        by_rows.step({"w": gradient if update == whole_at else gradient.to_sparse(1).coalesce()})
        whole.step({"w": gradient})
    torch.testing.assert_close(sparse, dense, **NEAR[dtype])
    if whole_at is None:
        assert torch.equal(sparse[15:], first[15:])
        assert not by_rows.averages[0]["w"][15:].any()
        assert not by_rows.seen["w"][15:].any()


@pytest.mark.parametrize("dtype", NEAR)
def test_steps_of_adam_are_those_of_torch_for_rows_that_are_seen(dtype: torch.dtype) -> None:
    """Dense ones all the time; rows that others are seen in between shrink their averages and take no step."""
    torch.manual_seed(3)
    first = torch.randn(9, 2, dtype=dtype)
    theirs, dense, rows = (nn.Parameter(first.clone()) for _ in range(3))
    reference = torch.optim.Adam([theirs], lr=0.01)
    network = nn.Module()
    network.w, network.tables = dense, ()
    whole = optimiser_of(network, Settings({"optimiser": "adam", "rate": 0.01, "clip": 1e9}))
    by_rows = Adam({"w": rows}, 1e-8, rate=0.01)
    for update in range(40):
        theirs.grad = torch.randn(9, 2, dtype=dtype)
        if update % 3 == 1:
            theirs.grad[4:] = 0
        reference.step()
        whole.step({"w": theirs.grad})
        before = rows.detach().clone()
        by_rows.step({"w": theirs.grad[: 4 if update % 3 == 1 else 9].to_sparse(1).coalesce()})
        assert torch.equal(rows[4:], before[4:]) == (update % 3 == 1)
    torch.testing.assert_close(dense, theirs, **NEAR[dtype])
    torch.testing.assert_close(rows[:4], theirs[:4], **NEAR[dtype])
    for found, expected in zip(by_rows.averages, whole.averages, strict=True):
        torch.testing.assert_close(found["w"], expected["w"], **NEAR[dtype])


def test_state_can_be_saved_and_loaded() -> None:
    torch.manual_seed(2)
    first = {"e": nn.Parameter(torch.randn(6, 2)), "w": nn.Parameter(torch.randn(3))}
    optimiser = AdaDelta(first, **CONSTANTS)

    def gradients() -> dict[str, torch.Tensor]:
        return {"e": gradient_of_rows([1, 4], torch.randn(2, 2), 6).coalesce(), "w": torch.randn(3)}

    for _ in range(3):
        optimiser.step(gradients())
    second = {name: nn.Parameter(parameter.detach().clone()) for name, parameter in first.items()}
    resumed = AdaDelta(second, **CONSTANTS)
    resumed.load({name: tensor.clone() for name, tensor in optimiser.tensors().items()}, optimiser.updates)
    for _ in range(3):
        step = gradients()
        optimiser.step(step)
        resumed.step(step)
    assert all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize(("limit", "scale"), [(1.0, 0.2), (5.0, 1.0), (10.0, 1.0)])
def test_clipping_scales_dense_and_sparse_gradients_together(limit: float, scale: float) -> None:
    embedding, weight = nn.Parameter(torch.zeros(5, 1)), nn.Parameter(torch.zeros(1))
    # Word 2 is seen twice: its gradients add up before the norm is taken.
    embedding.grad = gradient_of_rows([2, 2], torch.tensor([[1.0], [2.0]]), 5)
    weight.grad = torch.tensor([4.0])
    gradients, norm = clipped_gradients({"e": embedding, "w": weight}, limit)
    assert norm == pytest.approx(5.0)
    assert gradients["e"].to_dense()[2].item() == pytest.approx(3 * scale)
    assert gradients["w"].item() == pytest.approx(4 * scale)


@pytest.mark.parametrize("rows_only", [False, True])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_gradient_that_is_not_finite_shrinks_the_weights_or_its_rows(value: float, rows_only: bool) -> None:
    embedding, weight = nn.Parameter(torch.ones(3, 2)), nn.Parameter(torch.tensor([3.0]))
    embedding.grad = gradient_of_rows([1], torch.tensor([[value, 1.0]]), 3)
    weight.grad = torch.tensor([1.0])
    gradients, norm = clipped_gradients({"e": embedding, "w": weight}, 1.0, rows_only=rows_only)
    assert not math.isfinite(norm)
    assert gradients["w"].item() == pytest.approx(0.3)
    found = gradients["e"]
    if rows_only:
        assert found.indices().tolist() == [[1]]
        found = found.values()
    torch.testing.assert_close(found.detach(), torch.full((1 if rows_only else 3, 2), 0.1))


def test_fixed_parameters_take_no_part() -> None:
    fixed, weight = nn.Parameter(torch.ones(2)), nn.Parameter(torch.tensor([3.0]))
    weight.grad = torch.tensor([0.5])
    gradients, norm = clipped_gradients({"fixed": fixed, "w": weight}, 1.0)
    assert list(gradients) == ["w"]
    assert norm == pytest.approx(0.5)


OPTIMISERS: dict[str, Callable[[Any], Any]] = {
    "adadelta": lambda weights: AdaDelta(weights, **CONSTANTS),
    "adam": lambda weights: Adam(weights, 1e-8, rate=0.01),
    "adagrad": lambda weights: GradientDescent(weights, 0.1, 0.01, adaptive=True),
    "adagrad_of_rows": lambda weights: GradientDescent(weights, 0.1, 0.01, adaptive=True, tables=["w"]),
}


NO_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


@pytest.mark.parametrize("place", ["cpu", pytest.param("cuda", marks=[pytest.mark.gpu, NO_GPU])])
@pytest.mark.parametrize("made", OPTIMISERS.values(), ids=OPTIMISERS)
def test_a_kernel_takes_the_steps_of_pytorch(
    made: Callable[[Any], Any], place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a parameter whose numbers do not fill a program, with rows that have no gradient."""
    monkeypatch.setattr(optimisers, "LARGE", 1000)
    torch.manual_seed(0)
    first = torch.randn(300, 17)
    # a kernel computes with float32 alone
    ours, theirs = ({"w": nn.Parameter(first.to(place, dtype))} for dtype in (torch.float32, torch.float64))
    if optimisers.kernels_for(ours["w"].data, ours["w"].data) is None:
        pytest.skip("no Triton, which comes with PyTorch for CUDA")
    pairs = [(weights, made(weights)) for weights in (ours, theirs)]
    for _ in range(5):
        gradient = torch.randn(300, 17) * (torch.rand(300, 1) > 0.3)
        for weights, optimiser in pairs:
            weights["w"].grad = gradient.to(weights["w"])
            optimiser.update()
    ours, theirs = (optimiser.tensors() | weights for weights, optimiser in pairs)
    for name, numbers in theirs.items():
        torch.testing.assert_close(ours[name].double(), numbers, rtol=1e-5, atol=1e-6)
