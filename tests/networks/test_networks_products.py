"""Matrix products by oneDNN: those of PyTorch, whatever the layout of the factors, and their gradients."""

import pytest
import torch
from torch import Tensor

from neural_smt.networks.device import MULTIPLE, affine, linear, product


def laid_out(layout: str, rows: int, columns: int) -> Tensor:
    """A matrix: rows one after the other, columns one after the other, or part of a larger matrix of either kind."""
    if layout == "rows":
        return torch.randn(rows, columns)
    if layout == "columns":
        return torch.randn(columns, rows).t()
    larger = torch.randn(rows + 3, columns + 5) if layout == "part" else torch.randn(columns + 5, rows + 3).t()
    return larger[2:-1, 4:-1]


LAYOUTS = "rows", "columns", "part", "turned part"


@pytest.mark.parametrize("left", LAYOUTS)
@pytest.mark.parametrize("right", LAYOUTS)
@pytest.mark.parametrize("shape", [(7, 5, 3), (2 * MULTIPLE + 7, 9, 1), (5, 2 * MULTIPLE + 1, 4), (0, 5, 3), (3, 0, 2)])
def test_products_do_not_depend_on_layouts(left: str, right: str, shape: tuple[int, int, int]) -> None:
    rows, inner, columns = shape
    factors = laid_out(left, rows, inner), laid_out(right, inner, columns)
    exact = factors[0].double() @ factors[1].double()
    torch.testing.assert_close(product(*factors, torch.float32).double(), exact, rtol=1e-5, atol=1e-5)
    for offset in (torch.randn(columns), torch.randn(rows, columns)):
        expected = exact + offset
        weight = factors[1].t()
        torch.testing.assert_close(affine(offset, factors[0], weight).double(), expected, rtol=1e-5, atol=1e-5)
        into = torch.empty(rows, columns)
        assert affine(offset, factors[0], weight, out=into) is into
        torch.testing.assert_close(into.double(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rows", [1, 33, 2 * MULTIPLE + 1])
@pytest.mark.parametrize("biased", [True, False])
def test_a_linear_layer_and_its_gradients(rows: int, biased: bool) -> None:
    inputs, weight, bias = torch.randn(rows, 6), torch.randn(4, 6), torch.randn(4) if biased else None
    share = torch.randn(rows, 4)
    results = []
    for function in (linear, torch.nn.functional.linear):
        leaves = [None if part is None else part.clone().requires_grad_() for part in (inputs, weight, bias)]
        value = function(*leaves)
        (value * share).sum().backward()
        results.append([value, *(leaf.grad for leaf in leaves if leaf is not None)])
    for found, expected in zip(*results, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_a_layer_whose_inputs_need_no_gradient() -> None:
    weight = torch.randn(4, 6, requires_grad=True)
    linear(torch.randn(3, 6), weight).sum().backward()
    assert weight.grad is not None
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert linear(torch.randn(3, 6), weight).dtype == torch.bfloat16
