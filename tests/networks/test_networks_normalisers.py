"""Normalisers, chosen logits, remembered values, exponentials in one pass, each against the plain way to get them."""

import numpy as np
import pytest
import torch

from neural_smt.networks import device, normalisers
from neural_smt.networks.normalisers import Normalisers, fingerprints
from neural_smt.networks.softmax import choose_logits, exponentiate, log_normalisers, sum_exponentials


def random_softmax(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shapes = ((70, 9), (301, 9), (301,))
    inner, weight, bias = (torch.randn(shape, generator=generator) for shape in shapes)
    return inner, weight, bias


@pytest.mark.parametrize("kind", ["packed", "plain", "double", "bfloat16"])
@pytest.mark.parametrize("shift", [0.0, 300.0, -300.0])
def test_normalisers_are_log_sums_of_exponentials(kind: str, shift: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also far outside the range of float32's exponentials, and in several pieces."""
    inner, weight, bias = random_softmax()
    bias += shift
    monkeypatch.setitem(normalisers.LOGITS, "cpu", 301 * 8)
    monkeypatch.setattr(device, "onednn_chosen", lambda: kind != "plain")
    if kind == "double":
        inner, weight, bias = inner.double(), weight.double(), bias.double()
    if kind == "bfloat16":
        weight = weight.bfloat16()
    found = Normalisers(weight, bias)
    assert (found.products is None) == (kind != "packed")
    expected = torch.addmm(bias.double(), inner.double(), weight.double().t()).logsumexp(1)
    tolerance = {"double": 1e-12, "bfloat16": 0.05}.get(kind, 3e-5)
    with torch.no_grad():
        torch.testing.assert_close(found(inner).double(), expected, rtol=1e-7, atol=tolerance)
        torch.testing.assert_close(found(inner[:0]).double(), expected[:0])


def test_a_packed_layer_is_the_layer() -> None:
    inner, weight, bias = random_softmax(1)
    expected = inner @ weight.t() + bias
    with torch.no_grad():
        torch.testing.assert_close(device.pack(weight, bias, 70)(inner), expected)
        torch.testing.assert_close(device.pack(weight, bias, 5, True)(inner[:3]), expected[:3].relu())
        torch.testing.assert_close(device.pack(weight, None, 70)(inner), expected - bias)
    assert device.pack(weight.double(), None, 70) is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_chosen_logits_are_those_of_the_product(dtype: torch.dtype) -> None:
    inner, weight, bias = random_softmax(2)
    weight = weight.to(dtype)
    random = np.random.default_rng(0)
    numbers, classes = (torch.from_numpy(random.integers(0, most, 500)) for most in (70, 301))
    expected = (inner.double() @ weight.double().t() + bias)[numbers, classes]
    found = choose_logits(inner, weight, bias, numbers, classes)
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=1e-5)


def test_fingerprints_differ_by_every_column_and_their_order() -> None:
    rows = np.array([[1, 2, 3], [3, 2, 1], [1, 2, 4], [0, 2, 3], [1, 2, 3], [-1, -1, -1]], dtype=np.int32)
    keys = fingerprints(rows)
    assert keys[0] == keys[4]
    assert len(set(keys.tolist())) == 5
    assert (keys != 0).all()
    many = np.stack(np.unravel_index(np.arange(60**3), (60, 60, 60)), 1).astype(np.int32)
    assert len(np.unique(fingerprints(many))) == len(many)


def test_one_exponential_at_a_time() -> None:
    values = np.concatenate((np.linspace(-86.9, 87.9, 20_001), [0.0, 1.0, -1.0, 1e-8])).astype(np.float32)
    sums = torch.empty(len(values))
    sum_exponentials(torch.from_numpy(values[:, None]), torch.zeros(1), sums)
    np.testing.assert_allclose(sums, np.exp(values.astype(np.float64)), rtol=2.5e-7)
    assert sums[-4:].tolist() == pytest.approx([1.0, np.e, 1 / np.e, 1.0], rel=2e-7)


@pytest.mark.parametrize("columns", [1, 7, 16, 133, 15_003])
def test_sums_of_rows(columns: int) -> None:
    random = np.random.default_rng(columns)
    logits = random.normal(0, 5, (9, columns)).astype(np.float32)
    bias = random.normal(0, 1, columns).astype(np.float32)
    sums = torch.empty(9)
    sum_exponentials(torch.from_numpy(logits), torch.from_numpy(bias), sums)
    np.testing.assert_allclose(sums, np.exp(logits.astype(np.float64) + bias).sum(1), rtol=1e-6)
    values, shifts = torch.empty(9, columns), torch.from_numpy(logits.max(1))
    exponentiate(torch.from_numpy(logits), shifts, values, sums)
    expected = np.exp((logits - logits.max(1, keepdims=True)).astype(np.float64))
    np.testing.assert_allclose(values, expected, rtol=1e-6, atol=1e-37)
    np.testing.assert_allclose(sums, expected.sum(1), rtol=1e-6)


def test_what_lies_outside_the_range_counts_as_its_limit() -> None:
    logits = torch.tensor([[1000.0, 0.0], [-1000.0, -1000.0], [float("nan"), 0.0], [float("inf"), float("-inf")]])
    sums = torch.empty(4)
    sum_exponentials(logits, torch.zeros(2), sums)
    assert sums.log().tolist() == pytest.approx([88.0, -87.0 + np.log(2), 88.0, 88.0], abs=1e-5)


def test_normalisers_outside_the_range_are_computed_the_careful_way() -> None:
    weight, bias = torch.tensor([[1.0], [-1.0], [0.5]]), torch.tensor([0.0, 1.0, 2.0])
    inner = torch.tensor([[0.0], [70.0], [1000.0], [-500.0]])
    expected = (inner.double() @ weight.double().T + bias.double()).logsumexp(1)
    normalisers = log_normalisers(inner, weight, bias, torch.empty(3, 3))
    np.testing.assert_allclose(normalisers, expected, rtol=1e-6)
    broken = log_normalisers(torch.tensor([[float("nan")]]), weight, bias, torch.empty(3, 3))
    assert broken.isnan().all()
