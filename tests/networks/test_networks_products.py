"""Matrix products by oneDNN: those of PyTorch, whatever the layout of the factors, and their gradients; what rounding
their factors does to probabilities."""

import numpy as np
import pytest
import torch
from torch import Tensor

from neural_smt.networks.device import MULTIPLE, affine, linear, product, uploaded
from neural_smt.networks.recurrent.class_softmax import SoftmaxTargets, pairwise_log_probabilities
from neural_smt.networks.recurrent.configuration import RecurrentConfig, WordClasses
from neural_smt.networks.softmax import word_log_probabilities


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


MARKS = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")]
DEVICES = "cpu", pytest.param("cuda", marks=MARKS)
HALF = torch.bfloat16


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("words", [60, 61])
def test_rounded_factors_leave_probabilities_that_add_up_to_one(device: str, words: int) -> None:
    """Of logits as large as those of a trained network; gradients too are those of the rounded factors."""
    factors = [torch.randn(1, 24) * 3, torch.randn(words, 24) * 2, torch.randn(words)]
    results = []
    for place, dtype in ((device, HALF), ("cpu", torch.float32)):
        parts = factors if dtype == HALF else [part.to(HALF).float() for part in factors[:2]] + factors[2:]
        leaves = [part.to(place).detach().requires_grad_() for part in parts]
        everything = torch.arange(words, device=place)
        with torch.autocast(place, dtype=HALF, enabled=dtype == HALF):
            scores = word_log_probabilities(leaves[0].expand(words, -1), *leaves[1:], everything, dtype)
        scores[:7].sum().backward()
        results.append([scores.detach().cpu(), *(leaf.grad.cpu() for leaf in leaves)])
    (found, *gradients), (exact, *expected) = results
    assert found.double().exp().sum().item() == pytest.approx(1, abs=1e-5)
    torch.testing.assert_close(found, exact, rtol=1e-5, atol=1e-5)
    for own, other in zip(gradients, expected, strict=True):
        torch.testing.assert_close(own, other, rtol=0.02, atol=0.05)


@pytest.mark.parametrize("device", DEVICES)
def test_rounded_classes_leave_probabilities_that_add_up_to_one(device: str) -> None:
    offsets = np.array([0, 4, 5, 19])
    classes = WordClasses(np.array([0, *range(2, 20)], dtype=np.int32), offsets)
    config = RecurrentConfig(20, 3, 8, 0, 0, 0, 128, 2)
    known = (torch.randn(1, 8) * 3).expand(19, -1)
    outputs = [torch.randn(3, 8) * 3, torch.randn(19, 8) * 3, torch.randn(128), torch.from_numpy(offsets)]
    targets = SoftmaxTargets.of(config, classes, np.stack([classes.units, np.full(19, 2)], axis=1).astype(np.int32))
    with torch.autocast(device, dtype=HALF):
        parts = [part.to(device) for part in (known, *outputs)]
        scores = pairwise_log_probabilities(*parts, uploaded(targets, torch.device(device)))
    assert scores.dtype == torch.float32
    assert scores.double().exp().sum().item() == pytest.approx(1, abs=1e-5)
