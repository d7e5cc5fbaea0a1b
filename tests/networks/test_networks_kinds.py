"""Networks of all kinds against their equations word by word; batches, initial weights, rounding, devices."""

import numpy as np
import pytest
import torch
from network_cases import CASES, CPU, Case, dense, differentiate
from references import in_numpy, in_torch

from neural_smt.networks.attention import scorer
from neural_smt.networks.encoder_decoder import EncoderDecoder

EVERY = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
SOME = [CASES[name] for name in ("code", "paper", "tanh paper", "attention", "own words", "words in common", "cslm")]
ALSO = [CASES[name] for name in ("no word in scorer", "previous readout", "recurrent", "inputs", "learned")]
LARGE = CASES["code"]._replace(sizes=CASES["code"].sizes | {"target_words": 400})
# more than a vector of the processor's holds, and no multiple of one
WIDE = CASES["attention"]._replace(sizes=CASES["attention"].sizes | {"attention": 33})


@EVERY
def test_a_batch_equals_the_literal_equations(case: Case) -> None:
    network, examples = case.random(), case.examples(12, 0)
    expected = [case.score(in_numpy(network), example, np) for example in examples]
    np.testing.assert_allclose(network(case.pack(examples, CPU)).detach(), expected, rtol=1e-12)


@EVERY
def test_gradients_are_those_of_the_equations(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scorer, "TILE", 100)  # a few rows at a time
    network, examples = case.random(), case.examples(5, 1)
    weights = np.random.default_rng(5).normal(size=5)
    reference = in_torch(network)
    for weight, example in zip(weights, examples, strict=True):
        (weight * case.score(reference, example, torch)).backward()
    (network(case.pack(examples, CPU)) * torch.from_numpy(weights)).sum().backward()
    for name, parameter in network.named_parameters():
        np.testing.assert_allclose(dense(parameter.grad), reference[name].grad, rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("case", [*SOME, CASES["inputs"], CASES["learned"]])
def test_a_score_does_not_depend_on_the_batch(case: Case) -> None:
    network, examples = case.random().float(), case.examples(40, 0)
    together = network(case.pack(examples, CPU)).detach()
    alone = [network(case.pack([example], CPU)).item() for example in examples]
    np.testing.assert_allclose(together, alone, atol=1e-5)
    np.testing.assert_allclose(network(case.pack(examples[::-1], CPU)).detach().flip(0), together, atol=1e-5)


@pytest.mark.parametrize("case", [*CASES.values(), LARGE, WIDE], ids=[*CASES, "many words", "wide scorer"])
def test_single_precision_equals_double(case: Case) -> None:
    """Kernels in float32 against what is computed in float64, whose scores are those of the equations."""
    batch, weights = case.pack(case.examples(9, 2), CPU), torch.linspace(-1, 2, 9)
    results = (differentiate(network, batch, weights) for network in (case.random().float(), case.random()))
    for single, double in zip(*results, strict=True):
        assert (single.dtype, double.dtype) == (torch.float32, torch.float64)
        torch.testing.assert_close(single.double(), double, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("case", SOME)
def test_initial_weights(case: Case) -> None:
    larger = {"hidden": 40, "embedding": 50} if "hidden" in case.sizes else {"projection": 30, "layers": (50, 40)}
    network, again, other = (case.make(seed, **larger) for seed in (4, 4, 5))
    for name, parameter in network.named_parameters():
        values = parameter.detach().double()
        if name.endswith(("bias", "energy")):
            assert (values == 0).all(), name
        elif name.endswith(("gates_weight", "candidate_weight")):
            for square in values.split(40):
                np.testing.assert_allclose(square @ square.T, np.eye(40), atol=1e-5)
        elif "layers" in larger and values.numel() > 400:
            assert 0.0095 < values.abs().max() <= 0.01, name
            assert values.std().item() == pytest.approx(0.02 / 12**0.5, rel=0.05), name
        elif values.numel() > 500:
            deviation = 0.001 if name.startswith("scorer") else 0.01
            assert values.std().item() == pytest.approx(deviation, rel=0.1), name
        assert torch.equal(parameter, again.get_parameter(name))
        assert torch.equal(parameter, other.get_parameter(name)) == (name.endswith(("bias", "energy")))


@pytest.mark.parametrize("case", SOME)
def test_bfloat16_is_near(case: Case) -> None:
    network = case.random().float()
    batch = case.pack(case.examples(20, 0), CPU)
    exact = network(batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rounded = network(batch)
    rounded.sum().backward()
    assert rounded.dtype == torch.float32
    near = 0.0 if isinstance(network, EncoderDecoder) else 0.05
    np.testing.assert_allclose(rounded.detach(), exact.detach(), rtol=0.03, atol=near)
    assert all(parameter.grad.dtype == torch.float32 for parameter in network.parameters())


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("case", SOME + ALSO)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_cuda_equals_cpu(case: Case, dtype: torch.dtype) -> None:
    """In float64 by what PyTorch has, in float32 by kernels of our own."""
    network, examples, devices = case.random().to(dtype), case.examples(20, 0), (CPU, torch.device("cuda"))
    results = [differentiate(network.to(device), case.pack(examples, device)) for device in devices]
    exact, near, least = (1e-9, 1e-7, 1e-10) if dtype == torch.float64 else (1e-5, 1e-4, 1e-6)
    np.testing.assert_allclose(results[1][0], results[0][0], rtol=exact)
    for own, other in zip(*results, strict=True):
        size = 1 if dtype == torch.float64 else max(abs(own).max(), 1)
        np.testing.assert_allclose(other, own, rtol=near, atol=least * size)
