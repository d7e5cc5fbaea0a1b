"""Normalisers, chosen logits and remembered values, each against the plain way to get them."""

import numpy as np
import pytest
import torch

from neural_smt.networks import device, normalisers
from neural_smt.networks.normalisers import FingerprintCache, Normalisers, fingerprints
from neural_smt.networks.softmax import choose_logits


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
    if kind == "plain":
        monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
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
    torch.testing.assert_close(
        choose_logits(inner, weight, bias, numbers, classes).double(), expected, rtol=0, atol=1e-5
    )


def test_fingerprints_differ_by_every_column_and_their_order() -> None:
    rows = np.array([[1, 2, 3], [3, 2, 1], [1, 2, 4], [0, 2, 3], [1, 2, 3], [-1, -1, -1]], dtype=np.int32)
    keys = fingerprints(rows)
    assert keys[0] == keys[4]
    assert len(set(keys.tolist())) == 5
    assert (keys != 0).all()
    many = np.stack(np.unravel_index(np.arange(60**3), (60, 60, 60)), 1).astype(np.int32)
    assert len(np.unique(fingerprints(many))) == len(many)


@pytest.mark.parametrize("capacity", [0, 1, 4, 100, 10_000])
def test_what_is_remembered_is_what_was_put_in_last(capacity: int) -> None:
    cache, values = FingerprintCache(capacity), {}
    random = np.random.default_rng(1)
    found = 0
    for _ in range(50):
        rows = np.unique(random.integers(0, 9, (60, 3)).astype(np.int32), axis=0)
        keys, scores = fingerprints(rows), np.full(len(rows), np.nan)
        missing = cache.look_up(keys, scores)
        known = np.setdiff1d(np.arange(len(rows)), missing)
        found += len(known)
        assert scores[known].tolist() == [values[key] for key in keys[known].tolist()]
        if capacity == 10_000:
            assert not set(keys[missing].tolist()) & values.keys()
        scores = random.normal(size=len(rows))
        cache.insert(keys, scores, np.arange(len(rows)))
        values |= dict(zip(keys.tolist(), scores.tolist(), strict=True))
    assert (found > 0) == (capacity > 0)
